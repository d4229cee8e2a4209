"""`prove` decides properties with Z3, by bounded search or by induction."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from os import PathLike
from typing import Any, Unpack

from neverlost.checker.engine.host.processes import INTERRUPTED
from neverlost.checker.engine.host.whole_files import writable_directory
from neverlost.checker.engine.outcome import Outcome
from neverlost.checker.engine.proof import bounded_search
from neverlost.checker.engine.proof import induction as by_induction
from neverlost.checker.engine.proof.any_replicas import LedEncoding
from neverlost.checker.engine.proof.bounded_search import BoundedResult
from neverlost.checker.engine.proof.every_size import ParametricEncoding, refuse
from neverlost.checker.engine.proof.induction import Proof, make_untried
from neverlost.checker.engine.proof.obligations import Reading
from neverlost.checker.engine.proof.progress import Reporter
from neverlost.checker.engine.proof.unbounded import UnboundedEncoding
from neverlost.checker.questions.necessity.necessity import clauses_of
from neverlost.checker.questions.necessity.necessity import without as switched_off
from neverlost.model.kernel import ModelError
from neverlost.model.kraft.sizes import KraftSizes
from neverlost.model.kraft.state import others
from neverlost.model.system import System
from neverlost.reports.bundle import proof_check, question, seal
from neverlost.reports.bundle.question import BundleQuestion
from neverlost.reports.counterexample.saved import Counterexample
from neverlost.reports.questions.prove import document as describe_proofs
from neverlost.reports.request.keywords import Limited, Settings
from neverlost.reports.request.run_options import RunOptions, list_names
from neverlost.reports.results.results import Result, States, verdicts
from neverlost.specs.any_log import open_logs
from neverlost.specs.any_replicas import DIFFERS, SETS, open_replicas
from neverlost.specs.configuration.choose import Given, choose_one, read_given
from neverlost.specs.configuration.keys import is_without_faults
from neverlost.specs.errors import InputError, unknown
from neverlost.specs.every_size.any_log_lemmas import IN_CONDITIONS
from neverlost.specs.lemma import Lemma
from neverlost.specs.lemmas import find_lemmas
from neverlost.specs.properties import choose_properties, require_fields
from neverlost.specs.property import RECOVERY, Property
from neverlost.specs.setting import assumed

WithoutBounds = Callable[[System, Sequence[Lemma], Property], Reading] | None
"""How a proof reads the system otherwise than within its bounds."""

METHODS = ("bmc", "induction")


@dataclass(frozen=True, repr=False)
class ProofResult(Result):
    """The result of `prove`; `bounded` is that of a bounded search, `inductions` one for each property, proved or not."""

    method: str = "bmc"
    depth: int | None = None
    solver: str = ""
    seed: int = 0
    without: Sequence[str] = ()
    proofs: Sequence[Mapping[str, Any]] = field(default=(), repr=False)
    bounded: BoundedResult | None = field(default=None, repr=False)
    inductions: tuple[Proof, ...] = field(default=(), repr=False)

    @property
    def outcomes(self) -> list[Outcome]:
        """A list with the outcome of the bounded search alone, or with that of each property's proof by induction."""
        return [self.bounded.outcome] if self.bounded is not None else [each.outcome for each in self.inductions]


SECONDS_WITHOUT_FAULTS = 30.0
"""How long a proof or bounded search of all properties goes on, unless a limit is given, where nothing may fail."""


SHORTEST = 1.0
"""How long the last properties have at least.  Units: seconds."""


def prove(
    settings: Settings = None,
    *,
    config: str | PathLike[str] | None = None,
    method: str = "bmc",
    depth: int = 12,
    properties: Iterable[str] | None = None,
    unbounded: bool = False,
    every_rf: bool = False,
    without: Sequence[str] = (),
    out: str | PathLike[str] | None = None,
    redact: bool = False,
    progress: Reporter | None = None,
    **search: Unpack[Limited],
) -> ProofResult:
    """Decide properties with Z3: `bmc` looks for counterexamples of up to `depth` steps, `induction` proves.

    `unbounded` proves for any number of epochs and records, `every_rf` for every replication factor, in logs of any length
    (of `kraft-elr`, within the bounds); `without` are guard clauses (`action: clause`) to switch off; `progress` is called
    while a proof by induction goes on.

    Errors: `InputError` for bad input, and for options that contradict each other.
    """
    request = RunOptions(**search)
    require_sense(method, depth, unbounded, every_rf, out is not None)
    if out is not None:
        writable_directory(out)
    properties = list_names(properties)
    arguments = {"settings": settings, "config": config}
    asked, given = question.read_question("prove", arguments, _given, lambda _: (), redact)
    asked = asked.with_arguments(
        method=method,
        depth=depth if method == "bmc" else None,
        properties=properties,
        unbounded=unbounded or None,
        every_rf=every_rf or None,
        without=without,
    ).with_effort(request)
    chosen = choose_one(given)
    system = weaken(chosen.system, without)
    goals, found = _asked(system, properties), None
    if method == "induction":
        reading: WithoutBounds = read_every_size if every_rf else UnboundedEncoding if unbounded else None
        proofs = prove_each(system, goals, reading, request, out is not None, progress)
        document = describe_proofs.induction_document(proofs)
    else:
        seconds, proofs = request.time_limit, []
        if seconds is None and all(map(is_without_faults, system.configurations)):
            seconds = SECONDS_WITHOUT_FAULTS
        limits = (seconds, request.workers or 2, request.memory_bytes)
        found = bounded_search.check(system, goals, depth, *limits, find_lemmas(system))
        document = describe_proofs.bounded_document(found)
    return _result(document | {"assumed": assumed([chosen.settings])}, found, proofs, asked, out)


def _given(settings: Settings = None, config: str | None = None) -> Given:
    return read_given(config, settings)


def _asked(system: System, names: Iterable[str] | None) -> list[Property]:
    asked = choose_properties(system.model, names)
    require_fields(system, asked)
    for each in asked:
        if each.kind == RECOVERY:
            raise InputError(f"property {each.name!r} is about what can still happen, which no proof here decides; use check")
    return asked


def _result(
    document: dict[str, Any],
    bounded: BoundedResult | None,
    proofs: Sequence[Proof],
    asked: BundleQuestion,
    out: str | PathLike[str] | None,
) -> ProofResult:
    outcomes = [bounded.outcome] if bounded is not None else [each.outcome for each in proofs]
    known = {
        each.property.name: Counterexample(outcome.system, each.property, each.trace)
        for outcome in outcomes
        for each in outcome.findings
        if each.trace is not None
    }
    if out is not None:
        document, traces = proof_check.name_traces({**document, **asked.answered}, known)
        system = outcomes[0].system
        configurations = [(system.model, each) for each in system.configurations]
        seal.write_bundle(out, asked, document, configurations, traces, proof_check.obligation_files(proofs))
    return ProofResult.of(
        document,
        states=States(**document["states"]),
        properties=verdicts(document["properties"], known),
        counterexamples=known,
        bounded=bounded,
        inductions=tuple(proofs),
    )


def require_sense(method: str, depth: int, unbounded: bool, every_rf: bool, is_kept: bool) -> None:
    """Raise `InputError` for a wrong method or depth, for options that contradict each other, and for `every_rf` if the proof
    has to be kept in a bundle or if the solver cvc5 is not installed."""
    if method not in METHODS:
        raise unknown("method", method, METHODS, "--method")
    if not 0 <= depth <= 1000:
        raise InputError(f"bad value '{depth}' for --depth: use a number of steps from 0 to 1000")
    if method == "bmc" and unbounded:
        raise InputError("--unbounded needs --method induction")
    if every_rf and method != "induction":
        raise InputError("--every-rf needs --method induction")
    if every_rf and is_kept:
        raise InputError("a proof for every replication factor has no bundle: drop --out, or prove one factor")
    if every_rf and find_spec("cvc5") is None:
        raise InputError("--every-rf needs the solver cvc5: pip install 'neverlost[proof]'")


def weaken(system: System, clauses: Sequence[str]) -> System:
    """Return the system with some guard clauses switched off, each written `action: clause`.  Errors: `InputError` for a
    clause that the model does not have."""
    known = {f"{action}: {clause}": (action, clause) for action, clause in clauses_of(system)}
    for each in clauses:
        name = ": ".join(part.strip() for part in each.split(":", 1))
        if name not in known:
            raise unknown("guard clause", name, known, "--without")
        system = switched_off(system, *known[name])
    return system


def read_every_size(system: System, lemmas: Sequence[Lemma], goal: Property) -> ParametricEncoding:
    """Return the obligations for every number of replicas: in logs of any length or, with ELR, within the bounds.
    Errors: `InputError` for a model that cannot be read so."""
    if isinstance(system.sizes, KraftSizes):
        try:
            instead = SETS if system.sizes.elr else IN_CONDITIONS
            return LedEncoding(open_replicas(system), lemmas, goal, others, DIFFERS, instead)
        except ModelError as problem:
            raise refuse(system, problem) from None
    opened, asked = open_logs(system, goal)
    return ParametricEncoding(opened, lemmas, asked)


def prove_each(
    system: System,
    goals: Sequence[Property],
    without_bounds: WithoutBounds,
    request: RunOptions,
    with_texts: bool,
    progress: Reporter | None,
) -> list[Proof]:
    """Prove each property by induction and return a proof for each; after an interrupt the others are undecided."""
    found: list[Proof] = []
    is_calm, began = request.time_limit is None and is_without_faults(system.configurations[0]), time.monotonic()
    limits = by_induction.ProofBudget(
        request.time_limit, workers=request.workers or 2, memory_bytes=request.memory_bytes, progress=progress
    )
    for goal in goals:
        if found and found[-1].is_interrupted:
            found.append(make_untried(system, goal, INTERRUPTED))
            continue
        if is_calm:
            limits = replace(limits, seconds=max(SECONDS_WITHOUT_FAULTS - (time.monotonic() - began), SHORTEST))
        lemmas = find_lemmas(system, goal.name) or _state_as_lemma(goal)
        given = without_bounds(system, lemmas, goal) if without_bounds else None
        found.append(by_induction.prove(system, goal, lemmas, limits, with_texts=with_texts, given=given))
    return found


def _state_as_lemma(goal: Property) -> tuple[Lemma]:
    """Return a property as the one lemma, by itself, of a configuration without written ones."""
    alone = f"{goal.says} (by itself: no written lemmas cover this configuration)"
    return (Lemma("the-property", alone, "it is what is to be proved", lambda k, s: [goal.condition(k, s)]),)
