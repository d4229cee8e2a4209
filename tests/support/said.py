"""What the program's sentences say, read from the English by hand, and searches that decide exactly that.

Nothing here is taken from the product's templates: every pattern was written by a reader of the screen.  A line that no
pattern knows is an error, so that a sentence without a meaning cannot be printed unseen.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any

import neverlost
from neverlost.reports import program
from neverlost.specs.properties import properties

KRAFT = (
    "acked-never-lost",
    "committed-never-lost",
    "stays-writable",
    "log-matching",
    "no-global-loss",
    "isr-at-least-minimum",
    "candidate-completeness",
    "leader-completeness",
    "read-stability",
    "logs-identical",
    "acked-on-min-isr",
)
MAJORITY = ("acked-never-lost", "committed-never-lost", "quorum-stays-writable", "quorum-stays-readable")

Cell = tuple[int, int]
Settings = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Drawn:
    """A question: a command, settings, properties, and what else every cell of a table allows."""

    command: str
    settings: Settings
    names: tuple[str, ...]
    also: Settings = ()

    @property
    def is_quorum(self) -> bool:
        return ("model", "majority") in self.settings

    @property
    def arguments(self) -> list[str]:
        parts = [part for key, value in self.settings for part in ("--set", f"{key}={value}")]
        parts += [part for name in self.names for part in ("--property", name)]
        return [self.command, *parts, *(part for key, value in self.also for part in ("--also", f"{key}={value}"))]


def draw(random: Random) -> Drawn:
    """Draw a question that is small enough to be asked many times."""
    factor = random.choice((1, 2, 2, 2))
    if random.random() < 0.15:
        given: dict[str, Any] = {"model": "majority", "replication.factor": random.choice((2, 3)), "bounds.records": 1}
        names: tuple[str, ...] = tuple(random.sample(MAJORITY, random.choice((1, 2))))
    else:
        given = {"kafka.version": random.choice(("3.9", "3.9", "2.8")), "replication.factor": factor, "bounds.records": 1}
        given |= {"min.insync.replicas": random.randint(1, factor), "acks": random.choice(("all", "all", "all", "1", "0"))}
        given |= {"unclean.leader.election.enable": random.choice(("false", "false", "true"))}
        given |= {"defects": random.choice(("fixed", "shipped"))}
        given |= {"flush.messages": "1"} if random.random() < 0.25 else {}
        names = tuple(random.sample(KRAFT, random.choice((1, 1, 2, 3))))
    command, also = random.choice(("tolerance", "tolerance", "check", "check")), ()
    is_quorum = "model" in given
    if command == "check" and random.random() < 0.7:
        kinds = (
            ("kill", "lossy_crash", "disk_loss") if is_quorum else ("kill", "lossy_crash", "isr_shrink", "fence", "clean_stop")
        )
        kinds = (*kinds, *(("unclean_election",) if not is_quorum else ()))
        given |= {f"faults.{kind}": random.choice((1, 1, 2)) for kind in random.sample(kinds, random.choice((1, 1, 2)))}
        if "flush.messages" in given:
            given.pop("faults.lossy_crash", None)
    elif command == "tolerance" and not is_quorum and "flush.messages" not in given and random.random() < 0.3:
        also = ((random.choice(("kill", "leader_move", "unclean_election")), random.choice((1, "any"))),)
    if command == "check" and not any(key.startswith("faults.") for key in given):
        given.pop("flush.messages", None)
    return Drawn(command, tuple(given.items()), names, also)


def run(arguments: Sequence[str]) -> tuple[int, list[str]]:
    """Run a command in this process; return its exit status and the lines of its screen."""
    out = io.StringIO()
    program.register(arguments)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        status = program.app(args=list(arguments), standalone_mode=False)
    return int(status or 0), out.getvalue().splitlines()


@cache
def search(settings: Settings, name: str) -> Any:
    """Return a fresh search of one question."""
    return neverlost.check(dict(settings), properties=[name], workers=1, keep_going=True)


def holds(settings: Settings, name: str) -> bool:
    return bool(search(settings, name).verdict == "holds")


class Reader:
    """Reads the lines of one screen, and checks each against searches of what it says."""

    def __init__(self, drawn: Drawn) -> None:
        self.drawn, self.table, self.about, self.broken = drawn, "", dict(drawn.settings), ""
        self.checked = 0

    def cell(self, cell: Cell, more: Mapping[str, Any] | None = None) -> Settings:
        """Return the settings that a cell of a table stands for."""
        losing, out = cell
        if self.drawn.is_quorum:
            found: dict[str, Any] = {"faults.crash": "any"} if out else {}
            found |= {"faults.at_once": losing + out}
        else:
            found = {"faults.out": f"any:{out}"} if out else {}
        found |= {"faults.data_loss": f"any:{losing}"} if losing else {}
        found |= {f"faults.{key}": value for key, value in self.drawn.also} | dict(more or {})
        if not losing and not out and self.drawn.is_quorum:
            found.pop("faults.at_once", None)
        return tuple((self.about | (found or {"faults.kill": 0})).items())

    @property
    def cells(self) -> list[Cell]:
        most = int(self.about["replication.factor"])
        return [(losing, out) for losing in range(most + 1) for out in range(most + 1 - losing)]

    def asked(self, *names: str) -> list[str]:
        return [name for name in self.drawn.names if name in names]

    def require(self, is_so: bool, line: str) -> None:
        assert is_so, f"{' '.join(self.drawn.arguments)}\n{line}"
        self.checked += 1

    def read(self, lines: Sequence[str]) -> None:
        """Read the whole screen.  Errors: `AssertionError` for a line that is false, or that says nothing known."""
        for line in lines:
            if not self.read_line(line.rstrip()):
                raise AssertionError(f"{' '.join(self.drawn.arguments)}: no meaning is known of {line!r}")

    def read_line(self, line: str) -> bool:
        if found := re.match(r"violates ([a-z-]+)", line):
            self.broken = found[1]
        readers = (self.heading, self.row, self.sentence, self.verdict, self.affected)
        return not line or is_no_verdict(line) or any(each(line) for each in readers)

    def heading(self, line: str) -> bool:
        """Which table follows: its variant, and the property of any but that of records and writes."""
        if found := re.fullmatch(r"this configuration: .*?(as designed|as shipped)?", line):
            self.table = ""
            if found[1]:
                self.about["defects"] = {"as designed": "fixed", "as shipped": "shipped"}[found[1]]
            return ("a majority quorum, not Kafka" in line) == self.drawn.is_quorum
        name = line.partition(": ")[0]
        if name in self.drawn.names and line == f"{name}: {properties()[name].says}":
            self.table = name
            return True
        return False

    def row(self, line: str) -> bool:
        """A row of the table: a word for each cell."""
        if line.startswith(("brokers that lose data at once", "   0")):
            return True
        found = re.fullmatch(r"(\d)  (\S.*)", line)
        if found is None:
            return False
        for out, word in enumerate(re.split(r"  +", found[2])):
            if word != "-":
                self.require(self.word_of((int(found[1]), out)) == word, line)
        return True

    def word_of(self, cell: Cell, more: Mapping[str, Any] | None = None) -> str:
        """Return what a cell of the present table should say, by fresh searches."""
        settings = self.cell(cell, more)
        if self.table:
            return "holds" if holds(settings, self.table) else "VIOLATED"
        records = self.asked("acked-never-lost", "committed-never-lost")
        writes = self.asked("stays-writable", "quorum-stays-writable")
        if not all(holds(settings, name) for name in records):
            return "LOST"
        if not all(holds(settings, name) for name in writes):
            return "writes stop"
        return ("ok" if records else "writes go on") if writes else "not lost"

    def sentence(self, line: str) -> bool:
        """A sentence about boundaries, which says whether Kafka is meant as designed or as shipped."""
        if line in ("As designed:", "As shipped:"):
            self.require(self.about["defects"] == {"As designed:": "fixed", "As shipped:": "shipped"}[line], line)
            return True
        line = line.strip()
        out = r"(?:slow, cut off or stopped|slow or stopped)"
        beside = r"(?:, beside (?:any number of|at most \d+) [a-z ]+?)?"
        at_most = r"(?:no broker loses data|at most (\d+) brokers? at a time loses? data)"
        kept = r"(No (?:acknowledged|committed) record is lost|Writes do not stop|[a-z-]+ holds)"
        if found := re.fullmatch(rf"{kept} while {at_most}, however often and however many others are {out}{beside}\.", line):
            most = int(found[2] or 0)
            for each in (cell for cell in self.cells if cell[0] <= most):
                self.require(self.keeps(found[1], each), line)
            return True
        kept = r"(Nothing (?:acknowledged|committed) is lost|Writes do not stop|[a-z-]+ holds)"
        if found := re.fullmatch(rf"{kept} with (.+?){beside}(?:, or fewer)?\.", line):
            losing, most = read_cell(found[2])
            for each in range(most + 1):
                self.require(self.keeps(found[1], (losing, each)), line)
            return True
        enough = r"(?:lose a (committed )?record|(stop) the writes|violate ([a-z-]+))"
        if found := re.fullmatch(rf"Brokers that are {out}(?:{beside},)? are enough to {enough}: no disk has to fail\.", line):
            names = (
                self.asked("stays-writable", "quorum-stays-writable")
                if found[2]
                else [found[3]]
                if found[3]
                else self.asked("committed-never-lost", *(() if found[1] else ("acked-never-lost",)))
            )
            most = int(self.about["replication.factor"])
            self.require(any(not holds(self.cell((0, each)), name) for name in names for each in range(1, most + 1)), line)
            return True
        if found := re.fullmatch(
            rf"(A (?:committed )?record can be lost|Writes stop|[a-z-]+ can be violated) with (.+?){beside}"
            r"(, and nothing (acknowledged|committed) is lost)?\.",
            line,
        ):
            self.require(not self.goes_on(found[1], read_cell(found[2])), line)
            if found[3]:
                self.require(
                    holds(self.cell(read_cell(found[2])), f"{found[4].replace('acknowledged', 'acked')}-never-lost"), line
                )
            return True
        if found := re.fullmatch(r"VACUOUS with (.+): this says nothing about (.+): allowed, but never happened\.", line):
            spots = self.cells if found[1] == "any fault" else [read_cell(each) for each in found[1].split("; with ")]
            for spot in spots:
                fired = search(self.cell(spot), self.drawn.names[0]).fired
                self.require(not any(happened(kind, fired) for kind in read_kinds(found[2])), line)
            return True
        if found := re.fullmatch(r"(?:All replicas lose power together \(.+\)): (.+)\.", line):
            says = {
                "LOST": "an acknowledged record can be lost",
                "writes stop": "writes stop, and nothing acknowledged is lost",
            }
            word = self.word_of((int(self.about["replication.factor"]), 0))
            self.require(says.get(word, "nothing acknowledged is lost") == found[1], line)
            return True
        return self.changed(line)

    def changed(self, line: str) -> bool:
        """What another fault changes."""
        parts = [("any kill", {"faults.kill": "any"}), ("leaders also move", {"faults.leader_move": "any"})]
        found = re.fullmatch(r"(?:[a-z-]+: )?If (broker processes are also killed|leaders also move)[^:]*: (.+)\.", line)
        if found is None or line.count("If ") > 1:
            return found is not None
        more = parts["leaders" in found[1]][1]
        if found[2] == "the same":
            for each in self.cells:
                self.require(self.word_of(each) == self.word_of(each, more), line)
            return True
        for part in found[2].split("; "):
            word, _, where = part.partition(" with ")
            for each in where.split(", or "):
                self.require(self.word_of(read_cell(each), more) == word != self.word_of(read_cell(each)), line)
        return True

    def affected(self, line: str) -> bool:
        """Which records can be lost so: each part is true of the records that the counterexample loses."""
        found = re.fullmatch(
            r"That can be (?:any (?:acknowledged )?record that|every acknowledged record, because) (.+)\.", line
        )
        if found is None:
            return False
        shown = search(tuple(self.about.items()), self.broken).trace.counterexample
        logs = [[lane.records for lane in each.scene.lanes] for each in shown.timeline.frames]
        faults = [shown.system.steps[number].action.fault for number in shown.trace.steps]

        def is_so(part: str, lost: int) -> bool:
            if part == "has not reached the leader yet":
                return not any(lost in log for each in logs for log in each)
            names, what = re.fullmatch(r"brokers? (\S+) (.+)", part).groups()  # type: ignore[union-attr]
            brokers = [int(each) - 1 for each in names.split(",")]
            if what == "has not fetched":
                return all(lost not in each[broker] for each in logs for broker in brokers) and any(
                    lost in log for each in logs for log in each
                )
            kinds = {"comes back with an empty directory": ("disk_loss",)} | dict.fromkeys(
                ("has appended since its last flush", "have appended since their last flush"), ("lossy_crash", "rack_loss")
            )
            return all(
                any(
                    fault in kinds[what] and lost in before[broker] and lost not in after[broker]
                    for fault, before, after in zip(faults, logs, logs[1:], strict=False)
                )
                for broker in brokers
            )

        self.require(
            bool(shown.timeline.lost)
            and all(is_so(part, lost) for part in found[1].split(" and ") for lost in shown.timeline.lost),
            line,
        )
        return True

    def keeps(self, said: str, cell: Cell) -> bool:
        """Whether what is said to hold does in a cell."""
        if said.endswith(" holds"):
            return holds(self.cell(cell), said.removesuffix(" holds"))
        kinds = {"acknowledged": "acked-never-lost", "committed": "committed-never-lost"}
        names = [kinds[word] for word in said.split() if word in kinds]
        names = names or self.asked("stays-writable", "quorum-stays-writable")
        return all(holds(self.cell(cell), name) for name in names)

    def goes_on(self, said: str, cell: Cell) -> bool:
        """Whether nothing of what is said to be broken is."""
        if said.endswith(" can be violated"):
            return holds(self.cell(cell), said.removesuffix(" can be violated"))
        names = self.asked("stays-writable", "quorum-stays-writable")
        if "record" in said:
            names = self.asked("committed-never-lost", *(() if "committed" in said else ("acked-never-lost",)))
        return all(holds(self.cell(cell), name) for name in names)

    def citation(self, line: str) -> None:
        """The sentence to cite of one verdict.  Errors: `AssertionError` where it is false or says nothing known."""
        found = re.match(
            r"([a-z-]+) (holds in every reachable state|is undecided|is violated in (\d+) steps? with (.+?) \()", line
        )
        assert found is not None, line
        again = search(tuple(self.about.items()), found[1])
        if found[3]:
            counts = {} if found[4] == "no fault" else dict(read_events(found[4]))
            is_so = again.verdict == "violated" and len(again.trace.steps) == int(found[3])
            within = all(self.about.get(f"faults.{kind}", 0) >= many for kind, many in counts.items())
            self.require(is_so and within, line)
        elif "holds" in found[2]:
            self.require(again.verdict == "holds", line)
        else:
            self.require(any(not holds(tuple(self.about.items()), name) for name in self.drawn.names), line)

    def verdict(self, line: str) -> bool:
        """A verdict of a search, with its faults and steps."""
        settings = tuple(self.about.items())
        if found := re.fullmatch(r"HOLDS +([a-z-]+): (.+)", line):
            self.require(found[2] == properties()[found[1]].says and holds(settings, found[1]), line)
            return True
        if found := re.fullmatch(r"VIOLATED +([a-z-]+): (.+?) (without any fault|after (.+)) \((\d+) steps?\)", line):
            self.require(found[2] in (FAILURES.get(found[1]), "is broken" if found[1] not in FAILURES else None), line)
            counts = {f"faults.{kind}": count for kind, count in read_events(found[4])}
            spent = {key: value for key, value in self.about.items() if not key.startswith("faults.")} | (
                counts or {"faults.kill": 0}
            )
            again = search(tuple(spent.items()), found[1])
            self.require(again.verdict == "violated" and len(again.trace.steps) <= int(found[5]), line)
            return True
        if found := re.fullmatch(r"INCONCLUSIVE ([a-z-]+): it is not decided whether (.+)", line):
            others = [name for name in self.drawn.names if name != found[1]]  # the search ended at the first violation
            is_cut = any(not holds(settings, name) for name in others)
            self.require(found[2] == properties()[found[1]].says and is_cut, line)
            return True
        if found := re.fullmatch(r"VACUOUS: (\S+): it compares two (\w+)s, and there is one\.?", line):
            self.require(found[1] in self.drawn.names and is_single(found[2], self.about, found[1]), line)
            return True
        if found := re.fullmatch(r"VACUOUS: this says nothing about (.+): allowed, but never happened", line):
            for kind in read_kinds(found[1]):
                self.require(not any(happened(kind, search(settings, name).fired) for name in self.drawn.names), line)
            return True
        return False


COMPARED = {
    "record": {"log-matching", "logs-identical", "isr-matches-leader", "read-stability"},
    "offset": {"no-duplicates"},
    "replica": {"log-matching", "logs-identical", "isr-matches-leader", "isr-superset", "elected-has-longest-log"},
}
"""What is compared, written by hand: a log has an offset for each record, and one for each that the producer sends again."""


def is_single(thing: str, settings: Mapping[str, Any], name: str) -> bool:
    """Whether a property compares two of a thing of which these settings have one."""
    many = {"record": settings["bounds.records"], "replica": settings["replication.factor"]}
    many["offset"] = int(settings["bounds.records"]) + int(settings.get("faults.producer_retry", 0))
    return name in COMPARED[thing] and int(many[thing]) == 1


FAILURES = {
    "acked-never-lost": "loses acknowledged records",
    "committed-never-lost": "loses committed records",
    "stays-writable": "stops accepting writes",
    "quorum-stays-writable": "stops accepting writes",
    "quorum-stays-readable": "stops answering reads",
    "log-matching": "lets logs differ below the high watermark",
    "no-global-loss": "loses acknowledged records on every disk",
    "acked-on-min-isr": "has acknowledged records on too few disks",
    "read-stability": "shows readers another record at the same offset",
}

EVENTS = {
    "kill": ("kill", "broker_crash"),
    "lossy crash": ("lossy_crash", "lossy"),
    "lossy crashe": ("lossy_crash", "lossy"),
    "lost disk": ("disk_loss", "lose_disk"),
    "slow follower": ("isr_shrink", "shrink"),
    "fenced broker": ("fence", "fence"),
    "clean stop": ("clean_stop", "clean"),
    "unclean election": ("unclean_election", "uncleanly"),
    "leader move": ("leader_move", "move_leader"),
    "stop": ("crash", ""),
}
"""Events as they are written, without the plural's s and their object, with the key's name and a part of the actions' names."""


def read_event(text: str) -> tuple[str, str]:
    return EVENTS[re.sub(r"s?( of (a broker|brokers))?$", "", text)]


def read_events(text: str | None) -> Iterator[tuple[str, int]]:
    """Yield the faults of `1 kill of a broker and 2 lossy crashes`, each with how many."""
    for part in re.split(r", | and ", text or ""):
        if part:
            many, _, what = part.partition(" ")
            yield read_event(what)[0], int(many)


def read_kinds(text: str) -> list[str]:
    return [read_event(part)[0] for part in text.split(" and ")]


def happened(kind: str, fired: Mapping[str, int]) -> bool:
    """Whether a step of a kind of fault was taken in a search: by the model's own declaration of its actions."""
    names = {each.name for model in neverlost_models() for each in model.actions if each.fault == kind}
    return any(fired.get(name) for name in names)


def neverlost_models() -> Iterator[Any]:
    from neverlost.model.protocols import models

    yield from models().values()


def read_cell(text: str) -> Cell:
    """Read which cell of a table is meant: so many lose data, so many others are out."""
    if text in ("no fault", "no other fault", "no broker out and none that loses data"):
        return 0, 0
    if found := re.fullmatch(r"(\d+) brokers? out and none that loses data", text):
        return 0, int(found[1])
    found = re.fullmatch(r"(?:1 broker that loses data|(\d+) brokers that lose data together)(?: and (\d+) others? out)?", text)
    assert found is not None, f"no cell is known as {text!r}"
    return int(found[1] or 1), int(found[2] or 0)


QUIET = re.compile(
    r"(settings|assumed|warning|left out): .*|Valid for .*|Leaders move only when .*|"
    r"In sync is not on disk: .*|Every record is flushed: .*|"
    r"A member that loses data forgets .*|Looked up in the shipped results; .*|Decided by search\.|"
    r"\d+ of \d+ verdicts looked up .*|Released .*|(Set|Upgrade|First) .*|  .*|"
    r"[\d,]+ distinct states, .*|.* of \d+ actions never .*|"
    r"not seen yet: .*|violates [a-z-]+.*|(Kafka [\d.]+ \(\S+\)|kraft|majority): .*|nothing may fail here .*"
)


def is_no_verdict(line: str) -> bool:
    """Whether a line says nothing about what holds: where settings come from, counts, the steps of a counterexample, advice
    (which has its own tests)."""
    return QUIET.fullmatch(line) is not None and not re.match(r"   0 ", line)
