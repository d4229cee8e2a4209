"""A tolerance table as text for a screen, as sentences about its boundaries, and as rows of decided questions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from neverlost.checker.engine.outcome import EngineError, Verdict, worst
from neverlost.checker.questions.atlas.lookup import read_by_questions
from neverlost.checker.questions.question_id import question_id
from neverlost.checker.questions.tolerance.cell_words import (
    ACKED,
    BROKEN,
    GO_ON,
    HOLDS,
    KEPT,
    LOST,
    OK,
    RECORDS,
    SAFE,
    STOPS,
    UNDECIDED,
    WRITES,
    answer_in,
    cell_answer,
)
from neverlost.checker.questions.tolerance.fault_budget import FaultBudget
from neverlost.checker.questions.tolerance.tolerance import ATLAS, LEFT_OUT, CellVerdict, Tolerance
from neverlost.model.any_number import AnyNumber
from neverlost.model.faults import FAULTS, LEADER_MOVE, OUT
from neverlost.model.kernel import Configuration
from neverlost.model.kraft.mechanisms import Mechanism, parsed
from neverlost.model.limits import AT_ONCE
from neverlost.reports.documents.topic_groups import brief_settings
from neverlost.reports.wording.merged_rows import pluralize
from neverlost.reports.wording.sentences import SECOND, Sentence, fault_words, say, say_never, sorted_faults
from neverlost.reports.wording.table_words import QUORUM
from neverlost.specs.configuration.canonical import sizes_of
from neverlost.specs.configuration.choose import VERSION, Chosen
from neverlost.specs.configuration.keys import shown
from neverlost.specs.defects import DEFECTS, Defect
from neverlost.specs.inputs import remedies

OF_TABLES = (*RECORDS, *WRITES)
"""What one table shows together; any other property has a table of its own."""


OFFLINE, REFUSES, LAST, BEHIND = ("offline", "refuses writes", "hangs by its last replica", "has a replica outside the ISR")
ABOVE = "has a min ISR above its replicas"
"""`OFFLINE` to `BEHIND` (the worst first), and `ABOVE`: how a described partition stands that is not as it should be."""


def list_aspects(found: Tolerance) -> list[Tolerance]:
    """Return the tables that are shown of one: of lost records and of writes together, and of any other property by itself."""
    names = [each.property.name for each in next(iter(found.entries.values()))]
    main = [each for each in names if each in OF_TABLES]
    return [restrict(found, each) for each in (main, *([name] for name in names if name not in OF_TABLES)) if each]


def restrict(found: Tolerance, names: Collection[str]) -> Tolerance:
    """Return the table with the verdicts on these properties alone."""
    rows = {spot: tuple(each for each in row if each.property.name in names) for spot, row in found.entries.items()}
    return replace(found, entries=rows)


def get_main(found: Tolerance) -> Tolerance | None:
    """Return the table of lost records and writes; None where neither was asked about."""
    first = list_aspects(found)[0]
    return first if names_of(first) <= {*OF_TABLES} else None


def names_of(found: Tolerance) -> set[str]:
    """Return the properties that a table decides."""
    return {each.property.name for each in next(iter(found.entries.values()))}


def title(found: Tolerance) -> str:
    """Return a table's property and what it says; an empty text for the table of lost records and writes."""
    (first, *_) = next(iter(found.entries.values()))
    return "" if first.property.name in OF_TABLES else f"{first.property.name}: {first.property.says}"


def count_losses(found: Tolerance) -> int:
    """Count the cells of the table of lost records and writes in which a record can be lost, or which are not decided; without
    that table, those in which the first property is violated or undecided."""
    return sum(cell_answer(one, spot)[0] not in SAFE for one in list_aspects(found)[:1] for spot in one.entries)


def is_decided(found: Tolerance) -> bool:
    """Return True if every cell of a table is decided."""
    return all(cell_answer(one, spot)[0] != UNDECIDED for one in list_aspects(found) for spot in one.entries)


def table_lines(found: Tolerance) -> list[str]:
    """Return the table as lines: a row for each number of brokers that lose data, a column for each number of others out."""
    replicas = most_impaired(found)
    columns = [f"{out}" for out in range(replicas + 1)]
    rows = [[f"{losing}", *row_words(found, losing)] for losing in range(replicas + 1)]
    lines = [["", *columns], *rows]
    widths = [max(len(line[place]) for line in lines if place < len(line)) for place in range(replicas + 2)]
    head = f"brokers that lose data at once (down) x other brokers {_out(found)} (across)"
    body = ["  ".join(text.ljust(width) for text, width in zip(line, widths, strict=False)).rstrip() for line in lines]
    return [head, *body]


def most_impaired(found: Tolerance) -> int:
    """Return the number of the last row and column: how many replicas can be impaired besides those first outside the ISR."""
    return max(spot.losing for spot in found.entries)


def row_words(found: Tolerance, losing: int) -> list[str]:
    """Return a row of the table as words; a dash if there are not so many replicas."""
    replicas = most_impaired(found)
    spots = [FaultBudget(losing, out) for out in range(replicas + 1)]
    return [cell_answer(found, each)[0] if losing + each.out <= replicas else "-" for each in spots]


def sentences(found: Tolerance) -> list[str]:
    """Return the boundaries of the tables as sentences that a design review can cite; each names its property and faults."""
    lines = [str(each) for one in list_aspects(found) for each in _say_boundaries(one)]
    if any(each.verdict is Verdict.INCONCLUSIVE and each.source == ATLAS for row in found.entries.values() for each in row):
        lines.append("What is not decided has too many states for the atlas; --again searches for it, as long as that takes.")
    return lines + _say_unstruck(found)


def _say_boundaries(found: Tolerance) -> list[Sentence]:
    """Return the sentences about one table: what holds whatever else happens, the most that holds, the least that does not."""
    names, replicas = names_of(found), most_impaired(found)
    told = sorted(names & {*RECORDS}) or sorted(names)
    decided = {spot: _verdict_on(found, spot, told) for spot in found.entries}
    words = _words(told)
    safe = [spot for spot in sorted(decided) if decided[spot] is Verdict.HOLDS]
    rows = {losing: [spot for spot in sorted(decided) if spot.losing == losing] for losing in range(replicas + 1)}
    most = next((losing - 1 for losing, row in rows.items() if not {*row} <= {*safe}), replicas)
    said: list[Sentence] = []
    if most >= 0 and not _left_unstruck(found, covered := [spot for spot in safe if spot.losing <= most]):
        data = {"data": _at_most(most), "out": _out(found) + _beside(found)}
        said.append(say("safe whatever else", told, Verdict.HOLDS, decided, covered, **words, **data))
    without_disk = [spot for spot in rows[0] if decided[spot] is Verdict.VIOLATED]
    if without_disk and without_disk[0].out:
        out = _out(found) + (f"{_beside(found)}," if found.more else "")
        said.append(say("without a disk", told, Verdict.VIOLATED, decided, without_disk[:1], **words, out=out))
    for losing in range(most + 1, replicas + 1):
        row = [spot for spot in safe if spot.losing == losing]
        is_run = [spot.out for spot in row] == list(range(len(row)))
        if len(row) > (losing == 0) and is_run and not _left_unstruck(found, row):
            fewer = ", or fewer" if row[-1].out > 1 else ""
            said.append(say("safe up to", told, Verdict.HOLDS, decided, row, **words, spot=_cell(found, row[-1]), fewer=fewer))
    for spot in minimal(decided, {Verdict.VIOLATED}):
        said.append(say("broken", told, Verdict.VIOLATED, decided, [spot], **words, spot=_cell(found, spot), fewer=""))
    if told != sorted(names):
        said += _say_stops(found, sorted(names - {*told}), decided)
    every = {spot: answer_in(found.entries, spot)[0] for spot in found.entries}
    for spot in minimal(every, {UNDECIDED}):
        open_ones = {each: Verdict.INCONCLUSIVE for each, word in every.items() if word == UNDECIDED}
        of = "" if names <= {*OF_TABLES} else f" of {', '.join(sorted(names))}"
        said.append(say("open", names, Verdict.INCONCLUSIVE, open_ones, [spot], of=of, spot=_cell(found, spot)))
    return said


def _say_stops(found: Tolerance, names: Sequence[str], kept: Mapping[FaultBudget, Verdict]) -> list[Sentence]:
    """Return where writes stop first, and that nothing is lost there.  Errors: `EngineError` if something is."""
    says = {spot: answer_in(found.entries, spot)[0] for spot in found.entries}
    stops = [spot for spot in minimal(says, {*says.values()} - {OK, GO_ON}) if says[spot] == STOPS]
    decided = {spot: _verdict_on(found, spot, names) for spot in stops}
    kind = "acknowledged" if ACKED in names_of(found) else "committed"
    words = {**_words(names), "kept": f", and nothing {kind} is lost"}
    if any(kept[spot] is not Verdict.HOLDS for spot in stops):
        raise EngineError("writes that stop are said to lose nothing where a record is lost")
    return [say("writes stop", names, Verdict.VIOLATED, decided, [spot], spot=_cell(found, spot), **words) for spot in stops]


def _verdict_on(found: Tolerance, spot: FaultBudget, names: Collection[str]) -> Verdict:
    """Return the verdict on some properties together: violated also where fewer faults violate them."""
    within = [row for at, row in restrict(found, names).entries.items() if at.is_within(spot)]
    if any(each.verdict is Verdict.VIOLATED for row in within for each in row):
        return Verdict.VIOLATED
    return worst(each.verdict for each in found.entries[spot] if each.property.name in names)


def _words(names: Collection[str]) -> dict[str, str]:
    """Return in words how these properties hold and are broken, by the names that the templates of sentences use."""
    if {*names} & {*RECORDS}:
        kind = "acknowledged" if ACKED in names else "committed"
        broken = "A record can be lost" if ACKED in names else "A committed record can be lost"
        lose = "lose a record" if ACKED in names else "lose a committed record"
        kept = {"keeps": f"No {kind} record is lost", "keeps_all": f"Nothing {kind} is lost"}
        return kept | {"breaks": broken, "break_it": lose}
    if {*names} & {*WRITES}:
        go_on = dict.fromkeys(("keeps", "keeps_all"), "Writes do not stop")
        return go_on | {"breaks": "Writes stop", "break_it": "stop the writes"}
    (name,) = names
    kept = dict.fromkeys(("keeps", "keeps_all"), f"{name} holds")
    return kept | {"breaks": f"{name} can be violated", "break_it": f"violate {name}"}


def _beside(found: Tolerance) -> str:
    """Return which other faults every cell of a table allows, in words; empty if none."""
    counts = sorted_faults({name: limit for name, limit in found.more.items() if limit})
    words = [("any " if isinstance(limit, AnyNumber) else "at most ") + fault_words(((name, limit),)) for name, limit in counts]
    return f", beside {' and '.join(words)}" if words else ""


def _cell(found: Tolerance, spot: FaultBudget) -> str:
    """Return what a cell allows, with the other faults that every cell does."""
    beside = _beside(found)
    return (in_words(spot) if spot != FaultBudget(0, 0) or not beside else "no broker out and none that loses data") + beside


def _left_unstruck(found: Tolerance, spots: Sequence[FaultBudget]) -> set[str]:
    """Return the faults that struck in none of these cells: a sentence about the cells would say nothing about them."""
    never = [{name for each in found.entries[spot] for name in each.unstruck} for spot in spots]
    return set.intersection(*never) if never else set()


def _say_unstruck(found: Tolerance) -> list[str]:
    """Return in which cells an allowed fault never struck, and which properties compare two of what there is one of."""
    cells: dict[tuple[str, ...], list[FaultBudget]] = {}
    single: dict[str, list[str]] = {}
    for spot, row in sorted(found.entries.items()):
        names = [name for each in row for name in each.unstruck if not name.startswith(SECOND)]
        if never := tuple(dict.fromkeys(names)):
            cells.setdefault(never, []).append(spot)
        for each in row:
            if second := [name for name in each.unstruck if name.startswith(SECOND)]:
                single[each.property.name] = second
    where = [
        "; with ".join(map(in_words, spots)) if len(spots) < len(found.entries) else "any fault" for spots in cells.values()
    ]
    lines = [f"VACUOUS with {spots}: {say_never(never)}." for spots, never in zip(where, cells, strict=True)]
    return lines + [f"VACUOUS: {name}: {say_never(never)}." for name, never in single.items()]


def minimal(says: Mapping[FaultBudget, Any], wanted: Collection[Any]) -> list[FaultBudget]:
    """Return the minimal cells with a wanted verdict: no cell with fewer faults has a wanted verdict."""
    found = [spot for spot in sorted(says) if says[spot] in wanted]
    return [spot for spot in found if not any(other != spot and other.is_within(spot) for other in found)]


def _out(found: Tolerance) -> str:
    """Return what the columns count, in words; a quorum does not drop members."""
    return "slow, cut off or stopped" if OUT.key in found.model.keys else "slow or stopped"


def _at_most(most: int) -> str:
    """Return that at most so many brokers lose data, in words."""
    if not most:
        return "no broker loses data"
    return f"at most {pluralize(most, 'broker')} at a time lose{'s' if most == 1 else ''} data"


def in_words(spot: FaultBudget, nothing: str = "no fault") -> str:
    """Return what a cell of the table allows, such as `1 broker that loses data and 2 others out`."""
    lost = {0: "", 1: "1 broker that loses data"}.get(spot.losing, f"{spot.losing} brokers that lose data together")
    if not spot.losing:
        return f"{pluralize(spot.out, 'broker')} out and none that loses data" if spot.out else nothing
    return f"{lost} and {pluralize(spot.out, 'other')} out" if spot.out else lost


def rows(found: Tolerance) -> list[dict[str, Any]]:
    return [_row(found, spot, each) for spot, entries in found.entries.items() for each in entries]


def _row(found: Tolerance, spot: FaultBudget, entry: CellVerdict) -> dict[str, Any]:
    configuration = found.asked(spot)
    return {
        "faults": fault_limits(configuration),
        "at_once": configuration.get(AT_ONCE) or None,
        "losing": spot.losing,
        "out": spot.out,
        "property": entry.property.name,
        "verdict": str(entry.verdict),
        "steps": entry.steps,
        "records": configuration["bounds.records"],
        "defects": str(configuration.get("defects", "shipped")),
        "id": question_id(found.model, configuration, [entry.property.name]),
        "source": entry.source,
        "trace": None,
    } | ({"never": list(entry.unstruck)} if entry.unstruck else {})


def fault_limits(configuration: Configuration) -> dict[str, Any]:
    """Return the limits of the faults that may happen, by name without `faults.`."""
    limits = {name: value for name, value in configuration.items() if name.startswith("faults.") and name != AT_ONCE and value}
    return {name.removeprefix("faults."): shown(value) for name, value in limits.items()}


def heading(configuration: Mapping[str, Any], release: str | None, subjects: Sequence[str]) -> str:
    """Return the topics, the settings that matter most, and the variant (as designed, as shipped), in a line."""
    of_version = f", {variant(configuration)}" if "defects" in configuration else ""
    return setting(configuration, release, subjects) + of_version


def setting(configuration: Mapping[str, Any], release: str | None, subjects: Sequence[str]) -> str:
    """Return the topics with the settings that matter most, in a line."""
    named = ", ".join(subjects) if subjects else "this configuration"
    parts = [] if "min.insync.replicas" in configuration else [QUORUM]
    parts.append(brief_settings({"config": configuration, "kafka.version": release}))
    return f"{named}: {', '.join(parts)}"


def variant(configuration: Mapping[str, Any]) -> str:
    """Return `as designed` if the version's known defects are mended, else `as shipped`."""
    return "as designed" if configuration.get("defects") == "fixed" else "as shipped"


def is_same(one: Tolerance, other: Tolerance) -> bool:
    """Return True if two tables say the same in every cell."""
    pairs = zip(list_aspects(one), list_aspects(other), strict=True)
    return all(cell_answer(mine, spot) == cell_answer(its, spot) for mine, its in pairs for spot in mine.entries)


def defects_that_matter(found: Tolerance, chosen: Chosen) -> list[Defect]:
    """Return the known defects of a table's configuration that some action or the layout of its states depends on, but for what
    came with a later version than its own."""
    ends = [found.asked(each) for each in (min(found.entries), max(found.entries))]
    read = frozenset().union(*(read_by_questions(found.model, each) for each in ends))
    model = found.model

    def matters(mechanism: Mechanism) -> bool:
        is_read = mechanism.flag in read and not mechanism.is_structural
        return is_read or any(sizes_of(model, each) != sizes_of(model, {**each, mechanism.key: True}) for each in ends)

    stated = chosen.settings.get(VERSION)
    version = parsed(stated.value) if stated else None
    there = (each for each in DEFECTS if version is None or each.first <= version)
    present = (each for each in there if found.configuration.get(each.mechanism.key) is False)
    return [each for each in present if matters(each.mechanism)]


def changes(name: str, found: Tolerance, other: Tolerance) -> str:
    """Return in a line which cells change, and to what, if another fault may happen any number of times; or that none does."""
    pairs = zip(list_aspects(found), list_aspects(other), strict=True)
    return " ".join(_name_table(one) + _change(name, one, its) for one, its in pairs)


def _name_table(found: Tolerance) -> str:
    """Return the property of a table, to begin a line with; empty for the table of lost records and writes."""
    return f"{title(found).partition(':')[0]}: " if title(found) else ""


def _change(name: str, found: Tolerance, other: Tolerance) -> str:
    differing = [spot for spot in sorted(found.entries) if cell_answer(found, spot)[0] != cell_answer(other, spot)[0]]
    if not differing:
        return f"{ALSO[name]}: the same."
    says = {spot: cell_answer(other, spot)[0] for spot in differing}
    parts = [(each, minimal(says, {each})) for each in (LOST, BROKEN, STOPS, UNDECIDED, OK, KEPT, GO_ON, HOLDS)]
    told = (f"{each} with {', or '.join(in_words(spot, 'no other fault') for spot in spots)}" for each, spots in parts if spots)
    return f"{ALSO[name]}: {'; '.join(told)}."


ALSO = {each.name: f"If there are also {each.many}" for each in FAULTS} | {
    "kill": "If broker processes are also killed (kill -9, OOM)",
    "leader_move": "If leaders also move without a failure (preferred elections)",
}
"""How a table with another fault is announced."""


@dataclass(frozen=True)
class Advice:
    """An advised change of settings: what it sets (and what is set now), what it gains, and what it costs."""

    says: str
    gains: str
    costs: tuple[str, ...]

    def lines(self) -> list[str]:
        gains = [f"Gains: {self.gains}."] if self.gains else []
        return [f"{self.says}.", *gains, *([f"Costs: {'; '.join(self.costs)}."] if self.costs else [])]


def advice(wanted: Mapping[str, str], found: Tolerance, after: Tolerance) -> Advice:
    """Return what an advised change sets, the losses that it prevents, and its price.  The losses are the cells that lose a
    record in `found` and are safe in `after`; if there are none, those not decided in `found` and safe in `after`."""
    now = found.configuration
    safe = {spot: cell_answer(found, spot)[0] for spot in sorted(found.entries) if is_safe(after, spot)}
    gained = [spot for spot in safe if safe[spot] == LOST] or [spot for spot in safe if safe[spot] == UNDECIDED]
    least = [spot for spot in gained if not any(other != spot and other.is_within(spot) for other in gained)]
    before, then = first_stop(found), first_stop(after)
    open_now = ", which is not decided now" if gained and safe[gained[0]] == UNDECIDED else ""
    by_design = "by design " if now.get("defects") == "fixed" else ""
    costs = [each for each in remedies.drawbacks(wanted, int(now["replication.factor"])) if "writes stop" not in each]
    if then is not None and (before is None or then < before):
        instead = "" if before is None else f" instead of {before}"
        costs.insert(0, f"writes stop with {pluralize(then, 'broker')} out{instead}")
    return Advice(
        remedies.request(wanted, now),
        f"{by_design}no record is lost with {', or with '.join(map(in_words, least))}{open_now}" if least else "",
        tuple(costs),
    )


def first_stop(found: Tolerance) -> int | None:
    """Return with how many brokers out, and none that loses data, writes stop first; None where they do not, or it is open."""
    says = [cell_answer(found, spot)[0] for spot in sorted(found.entries) if spot.losing == 0]
    return next((out for out, each in enumerate(says) if each == STOPS), None) if UNDECIDED not in says else None


def danger(entries: Mapping[FaultBudget, Sequence[CellVerdict]]) -> tuple[int, int]:
    """Return the fewest brokers with which a record is lost (or nothing is decided), and how many of them lose data; more than
    there are if none is lost."""
    open_ones = [spot for spot in entries if answer_in(entries, spot)[0] not in SAFE]
    return min(((spot.losing + spot.out, spot.losing) for spot in open_ones), default=(len(entries) + 1, 0))


def smallest(found: Tolerance, beside: Mapping[str, Tolerance]) -> list[dict[str, Any]]:
    """Return the smallest sets of faults that lose a record: numbers at once, and at most one other kind any number of times.
    No set is contained in another. Where a smaller set is not decided, `is_smallest` is false."""
    main = get_main(found)
    tables = {name: restrict(each, names_of(main)) for name, each in {"": found, **beside}.items()} if main else {}
    says = {(other, spot): cell_answer(one, spot) for other, one in tables.items() for spot in one.entries}

    def below(other: str, spot: FaultBudget) -> list[str]:
        return [
            say
            for (one, at), (say, _) in says.items()
            if (one, at) != (other, spot) and one in ("", other) and at.is_within(spot)
        ]

    return [
        {"data_loss": spot.losing, "out": spot.out, **({other: "any"} if other else {}), "steps": steps}
        | {"is_smallest": UNDECIDED not in below(other, spot)}
        for (other, spot), (say, steps) in says.items()
        if say == LOST and LOST not in below(other, spot)
    ]


def stops_earlier(one: Tolerance, other: Tolerance) -> bool:
    """Return True if one table's writes stop with no broker out, or with one, where the other's do not."""
    both = [spot for spot in (FaultBudget(0, 0), FaultBudget(0, 1)) if spot in one.entries and spot in other.entries]
    return any(cell_answer(one, spot)[0] == STOPS != cell_answer(other, spot)[0] for spot in both)


def is_safe(found: Tolerance, spot: FaultBudget) -> bool:
    """Return True if a cell is in the table, is decided, and no record is lost in it."""
    return spot in found.entries and cell_answer(found, spot)[0] in SAFE


POWER = {
    LOST: "an acknowledged record can be lost",
    STOPS: "writes stop, and nothing acknowledged is lost",
    OK: "nothing acknowledged is lost",
    KEPT: "nothing acknowledged is lost",
    UNDECIDED: "not decided",
}
"""What happens when a power domain fails, by what the cell says."""


def power(found: Tolerance) -> str | None:
    """Return what happens when a whole power domain fails, as a sentence; None if every record is flushed, lost records were
    not asked about, or the table has no such cell."""
    configuration, main = found.configuration, get_main(found)
    if configuration.get("flush.messages") == "1" or main is None or not names_of(main) & {*RECORDS}:
        return None
    racks = configuration.get("broker.rack", ())
    most = max((racks.count(each) for each in racks), default=configuration["replication.factor"])
    if FaultBudget(most, 0) not in found.entries:
        return None
    says = POWER[cell_answer(main, FaultBudget(most, 0))[0]]
    if len(set(racks)) > 1:
        return f"A whole rack loses power (up to {pluralize(most, 'replica')} of {len(racks)}): {says}."
    return f"All replicas lose power together ({'they are in one rack' if racks else 'one rack or room'}): {says}."


def source(found: Tolerance) -> str:
    """Return in words whether the verdicts were looked up in the atlas or searched for, or that nothing is decided."""
    sources = [each.source for row in found.entries.values() for each in row if each.source != LEFT_OUT]
    looked_up, every = sources.count(ATLAS), len(sources)
    if not every:
        return "Nothing here is decided."
    if looked_up == every:
        return "Looked up in the shipped results; --again computes it."
    if not looked_up:
        return "Decided by search."
    return f"{looked_up} of {every} verdicts looked up in the shipped results, the others by search."


def assumptions(found: Tolerance) -> list[str]:
    """Return what a table takes for granted, as sentences."""
    configuration = found.configuration
    records = pluralize(configuration["bounds.records"], "record")
    outside = configuration.get("start.outside_isr", 0)
    start = "a partition that starts fully in sync"
    if configuration.get("start.replicas"):
        start = "a partition that starts as it stands, with what is stored on its ISR and ELR alone or elsewhere too"
    elif outside:
        start = (
            f"a partition with {pluralize(outside, 'replica')} outside the ISR at first, perhaps for ever, beside those counted"
        )
    quorum = ", a controller quorum that stays up" if "min.insync.replicas" in configuration else ""
    lines = [f"Valid for {records}, any number of faults, {start}{quorum}."]
    if quorum and configuration["replication.factor"] > 1 and LEADER_MOVE.key not in found.more:
        lines.append("Leaders move only when they are out or fail; --with leader_move says what preferred elections change.")
    if configuration.get("flush.messages") == "1":
        lines.append(
            "Every record is flushed: a broker that loses power keeps them, but stops, and counts as one that loses data."
        )
    elif not quorum:
        lines.append("A member that loses data forgets what it stored and how it voted.")
    elif names_of(found) & {*RECORDS}:
        lines.append("In sync is not on disk: Kafka acknowledges from the page cache. The last row is a power loss of all.")
    return lines
