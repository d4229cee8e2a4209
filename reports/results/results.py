"""The results of the functions of `neverlost`: the fields of the result document as attributes, traces, tables, HTML."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from html import escape
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

from neverlost.specs.errors import InputError

if TYPE_CHECKING:
    from neverlost.checker.engine.outcome import Outcome
    from neverlost.reports.counterexample.saved import Counterexample
    from neverlost.specs.configuration.choose import Chosen

Document = Mapping[str, Any]
REPR_VERDICTS = 4
"""How many verdicts the text of a result lists."""


@dataclass(frozen=True, repr=False)
class Trace:
    """A counterexample as states, actions and sentences."""

    counterexample: Counterexample = field(repr=False)

    @property
    def model(self) -> str:
        return self.counterexample.system.model.name

    @property
    def broken(self) -> str:
        """The name of the property that the last state breaks."""
        return self.counterexample.broken.name

    @cached_property
    def states(self) -> tuple[Mapping[str, Any], ...]:
        """Each state as values by field name, the initial state first."""
        system = self.counterexample.system
        return tuple(system.nested(each) for each in self.counterexample.trace.states)

    @cached_property
    def steps(self) -> tuple[str, ...]:
        """The actions with their arguments, brokers called as in `says`; `steps[i]` leads to `states[i + 1]`."""
        from neverlost.model.sentences import name_step

        system, names = self.counterexample.system, self.counterexample.names
        return tuple(name_step(system, system.steps[number], names) for number in self.counterexample.trace.steps)

    @property
    def says(self) -> tuple[str, ...]:
        """A sentence for each state: `initial state`, then what each step did that led to the next one."""
        return tuple(self.itf["#meta"]["neverlost"]["says"])

    @property
    def itf(self) -> Document:
        """The trace in the Informal Trace Format, which `replay` reads."""
        return self.counterexample.itf

    def table(self) -> Any:
        """Return a row per state, as an Arrow table."""
        from neverlost.reports.results.table import make_table

        rows = zip(("", *self.steps), self.says, self.states, strict=True)
        return make_table([{"step": step, "says": says, **state} for step, says, state in rows])

    def to_pandas(self) -> Any:
        """Return the table as a `pandas.DataFrame`.  Errors: `ImportError` where pandas is not installed."""
        return self.table().to_pandas()

    def __repr__(self) -> str:
        return f"<Trace: {self.broken} of {self.model} is violated after {len(self.steps)} steps>"

    def _repr_html_(self) -> str:
        listed = "".join(f"<li>{escape(each)}</li>" for each in self.says[1:])
        return self.counterexample.pictures().get("svg") or f"<ol>{listed}</ol>"


@dataclass(frozen=True)
class States:
    """How much was covered; `depth` counts levels with the initial one; `left` counts states that were not expanded."""

    generated: int
    distinct: int
    depth: int
    left: int
    orbit_states: int | None = None


@dataclass(frozen=True)
class PropertyVerdict:
    """The verdict on a property; for a violated one the `steps` of the shortest counterexample, and its faults by kind."""

    name: str
    verdict: str
    steps: int | None = None
    faults: Mapping[str, int] = field(default_factory=dict)
    trace: Trace | None = field(default=None, repr=False)
    file: str | None = None
    how: str | None = None


@dataclass(frozen=True, repr=False)
class Answer:
    """The base of all results: the document of `--json`, what the answer assumes by key, and a table of its verdicts."""

    document: Document = field(repr=False)
    assumed: Mapping[str, str] = field(default_factory=dict, kw_only=True)

    @classmethod
    def of(cls, document: Document, **more: Any) -> Self:
        """Return a result: `more` gives its fields, and the others are the document's fields of the same names, if there."""
        names = {each.name for each in fields(cls)} - {"document"} - more.keys()
        return cls(document=document, **{name: document[name] for name in names & document.keys()}, **more)

    @property
    def trace(self) -> Trace | None:
        """None; a kind of result that has counterexamples gives the shortest."""
        return None

    def rows(self) -> Sequence[Mapping[str, Any]]:
        return [dict(self.document)]

    @property
    def holds(self) -> bool:
        """True if everything that was asked holds; a search that was cut short does not say so."""
        return bool(getattr(self, "verdict", None) == "holds")

    def table(self) -> Any:
        """Return the rows as an Arrow table; numbers by kind, such as those of faults, are a column for each kind."""
        from neverlost.reports.results.table import make_table

        return make_table(self.rows())

    def to_pandas(self) -> Any:
        """Return the rows as a `pandas.DataFrame`.  Errors: `ImportError` where pandas is not installed."""
        return self.table().to_pandas()

    def __repr__(self) -> str:
        said = [each for sentences in dict(self.document.get("says") or {}).values() for each in sentences]
        more = f" And {len(said) - 1} more sentences in .document['says']." if len(said) > 1 else ""
        about = said[0] + more if said else f"{len(self.rows())} rows, which .to_pandas() has"
        verdict = "" if said else getattr(self, "verdict", None)  # a table says where it holds and where it does not
        return f"<{type(self).__name__}{f' {verdict}'.upper() if verdict else ''}: {about}>"

    def _repr_html_(self) -> str:
        rows = self.rows()
        names = list(dict.fromkeys(name for row in rows for name in row))
        head = "".join(f"<th>{escape(name)}</th>" for name in names)
        body = "".join("<tr>" + "".join(f"<td>{escape(_text(row.get(name)))}</td>" for name in names) + "</tr>" for row in rows)
        shown = self.trace
        picture = "" if shown is None else shown._repr_html_()
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{picture}"


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {count}" for name, count in value.items())
    return "" if value is None else str(value)


@dataclass(frozen=True, repr=False)
class Result(Answer):
    """The verdict on one configuration; with several, `cells` has a result for each and `verdict` is the worst of them."""

    verdict: str | None = None
    id: str | None = None
    model: str | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    bounds: Mapping[str, Any] = field(default_factory=dict)
    engine: str | None = None
    spark: Document | None = None
    """What Spark's jobs decided, where it was asked for."""
    identity: str = "exact"
    symmetry: bool = False
    reason: str | None = None
    properties: tuple[PropertyVerdict, ...] = ()
    states: States | None = None
    levels: Mapping[str, Sequence[int]] = field(default_factory=dict, repr=False)
    fired: Mapping[str, int] = field(default_factory=dict, repr=False)
    never: Mapping[str, Sequence[str] | None] = field(default_factory=dict, repr=False)
    seconds: float = 0.0
    peak_memory_bytes: int = 0
    version: str | None = None
    model_digest: str | None = None
    topics: tuple[str, ...] = ()
    settings: Mapping[str, Document] = field(default_factory=dict, repr=False)
    """Every key of `config` and `bounds` with its value, where it stands and how it came to be."""
    notices: Sequence[Document] = field(default=(), repr=False)
    """What was noticed about the input: warnings, assumptions, what is not modelled, what was ignored."""
    remedy: Document | None = None
    """What to change so that everything holds, decided; None where nothing is violated or no advice was asked for."""
    places: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Where the user's files speak of each topic."""
    kafka_version: str | None = None
    cells: tuple[Result, ...] = ()
    outcome: Outcome | None = field(default=None, repr=False)
    """What the engine found."""
    chosen: Chosen | None = field(default=None, repr=False)
    counterexamples: Mapping[str, Counterexample] = field(default_factory=dict, repr=False)
    """Of each violated property, by its name."""

    @property
    def trace(self) -> Trace | None:
        """The shortest counterexample; None without one."""
        found = [each.trace for one in (self, *self.cells) for each in one.properties if each.trace is not None]
        return min(found, key=lambda each: len(each.steps), default=None)

    def __repr__(self) -> str:
        verdicts = [f"{each.name} {each.verdict}" for one in self.configurations for each in one.properties]
        counted = [
            *verdicts[:REPR_VERDICTS],
            *([f"{len(verdicts) - REPR_VERDICTS} more"] if len(verdicts) > REPR_VERDICTS else []),
        ]
        about = [self.model or f"{len(self.cells)} configurations", *([f"not decided: {self.reason}"] if self.reason else [])]
        return f"<{type(self).__name__} {str(self.verdict).upper()}: {', '.join(counted)} ({', '.join(about)})>"

    @property
    def configurations(self) -> tuple[Result, ...]:
        """The cells, or this result alone."""
        return self.cells or (self,)

    def write_graph(
        self,
        path: str | PathLike[str],
        properties: Iterable[str] | None = None,
        notify: Callable[[str], None] = lambda text: None,
    ) -> list[str]:
        """Write the state graph of one configuration: the `.graphml` or `.dot` file that is named, or both into a directory.

        States that break one of the properties (all guarantees, unless they are named) are marked.  Returns a sentence about
        the graph, and one for each file.

        Errors: `InputError` for several configurations, a search that was cut short, and a graph that is too large.
        """
        from neverlost.reports.page.state_graph import marked_properties, write_graph

        if self.chosen is None or self.states is None or self.reason:
            raise InputError("a state graph is of one configuration whose states are all known")
        marked = marked_properties(self.chosen, properties)
        return write_graph(self.chosen.system, marked, self.states.distinct, self.symmetry, path, notify)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row per configuration and property."""
        return [
            {
                "id": one.id,
                "model": one.model,
                "topics": ", ".join(one.topics),
                **one.config,
                **one.bounds,
                "property": each.name,
                "verdict": each.verdict,
                "steps": each.steps,
                "faults": dict(each.faults),
                "distinct": one.states.distinct if one.states else None,
            }
            for one in self.configurations
            for each in one.properties
        ]

    def cite(self) -> str:
        """Return each verdict as a sentence to cite: property, configuration, bounds, counts, version and id."""
        from neverlost.reports.page.render import cite

        cells = [each.document for each in self.configurations]
        return "\n".join(cite(cell, entry, self.document) for cell in cells for entry in cell["properties"])


def verdicts(listed: Sequence[Document], counterexamples: Mapping[str, Counterexample]) -> tuple[PropertyVerdict, ...]:
    """Convert the `properties` of a document to typed values."""
    return tuple(
        PropertyVerdict(
            name=each["name"],
            verdict=each["verdict"],
            steps=each.get("steps"),
            faults=each.get("faults", {}),
            trace=Trace(counterexamples[each["name"]]) if each["name"] in counterexamples else None,
            file=each.get("trace"),
            how=each.get("how"),
        )
        for each in listed
    )
