"""What described topics survive, on one screen: a headline of counts, groups by danger with a remedy each, and the bugs of the
release.  Everything is read from the result document, so the terminal and the page say the same."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from neverlost.checker.engine.outcome import Verdict
from neverlost.checker.questions.tolerance.cell_words import LOST, SAFE, UNDECIDED, answer_in
from neverlost.checker.questions.tolerance.fault_budget import AXES, FaultBudget
from neverlost.checker.questions.tolerance.tolerance import CellVerdict
from neverlost.reports.documents.topic_groups import brief_settings
from neverlost.reports.questions.tolerance import document as describe
from neverlost.reports.wording import provenance
from neverlost.reports.wording.merged_rows import name_some, pluralize
from neverlost.specs.defects import DEFECTS, NOT_REPORTED, Defect
from neverlost.specs.inputs.remedies import topic_of
from neverlost.specs.patch_releases import has_mechanism
from neverlost.specs.properties import properties
from neverlost.specs.setting import NoticeKind, Origin

DESIGNED, SHIPPED = "as designed", "as shipped"

Entries = Mapping[FaultBudget, Sequence[CellVerdict]]
Document = Mapping[str, Any]

ONE_AND_ONE = FaultBudget(1, 1)
"""One broker that loses data while another is slow: what the headline calls safe or not."""

RISKS = {
    "lost": "lose records without any fault",
    "out": "lose records when one broker is slow, cut off or stopped",
    "disk": "lose records when one disk dies",
    "pair": "lose records when one broker loses data and another is slow",
    "open": "are not decided by the short searches of this screen (--at-least searches on)",
    "more": "are safe with one more broker lost",
    "safe": "are safe with one broker lost and one slow",
    "now": "have partitions that are offline, refuse writes or hang by their last replica now",
}
"""What the headline counts, the worst first; what loses records with fewer brokers does so with more, and counts there too."""

LOSSES = {"lost": FaultBudget(0, 0), "out": FaultBudget(0, 1), "disk": FaultBudget(1, 0), "pair": ONE_AND_ONE}
"""For each risk of a loss the brokers that it takes: so many that lose data and so many out, or fewer."""

OF_ONE = {"lose": "loses", "have": "has", "are": "is"}
"""The verbs that the texts of `RISKS` begin with, in the singular: for one topic."""


def _counted(count: int, risk: str) -> str:
    """Return how many topics are at a risk, in words."""
    verb, _, rest = RISKS[risk].partition(" ")
    return f"{count} {OF_ONE[verb] if count == 1 else verb} {rest}"


@dataclass(frozen=True)
class TopicGroup:
    """Topics with the same settings and the same answer: `says` is when they lose a record, `remedy` what to change."""

    topics: tuple[str, ...]
    settings: str
    says: str
    remedy: str = ""
    commands: tuple[Mapping[str, str], ...] = ()


@dataclass(frozen=True)
class DangerLevel:
    """The groups that need equally many brokers for a loss, 3 or more as one; or those of partitions in danger now."""

    title: str
    kind: str
    groups: tuple[TopicGroup, ...]


@dataclass(frozen=True)
class Bug:
    """A bug of the Kafka version, in sentences: since when, where it is reported, seen where, what avoids it."""

    name: str
    says: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Overview:
    """The answer about a described cluster: headline, groups by danger, bugs of the release, notices."""

    headline: tuple[str, ...]
    levels: tuple[DangerLevel, ...]
    bugs_title: str = ""
    bugs: tuple[Bug, ...] = ()
    with_bugs: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Answers:
    """What a table says, worked out once for all topics that share it."""

    entries: Entries

    @cached_property
    def says(self) -> Mapping[FaultBudget, str]:
        """What each cell of the table says, in a word."""
        return {spot: answer_in(self.entries, spot)[0] for spot in self.entries}

    @cached_property
    def is_open(self) -> bool:
        """True if some cell is not decided."""
        return UNDECIDED in self.says.values()

    @cached_property
    def least_lost(self) -> list[FaultBudget]:
        """The minimal cells in which a record is lost, those with the fewest brokers first."""
        return sorted(describe.minimal(self.says, {LOST}), key=lambda spot: (spot.losing + spot.out, spot.losing))

    @cached_property
    def danger(self) -> tuple[int, int]:
        """The fewest brokers with which a record is lost or nothing is decided, and how many of them lose data."""
        return describe.danger(self.entries)

    @cached_property
    def risk(self) -> str:
        """The key of `RISKS` under which the headline counts a topic with this table, if it stands as it should."""
        for name, spot in LOSSES.items():
            if self.says.get(spot) == LOST:
                return name
        if UNDECIDED in (says for spot, says in self.says.items() if spot.is_within(ONE_AND_ONE)):
            return "open"
        return "safe" if ONE_AND_ONE in self.says else "more"


@dataclass(frozen=True)
class _Part:
    """A topic, or some partitions of one, under the label that is worst for it; `differs` are the settings of that label by
    which its answer differs from those of the topic's other labels."""

    subject: str
    label: str
    designed: Answers
    shipped: Answers | None
    now: tuple[Mapping[str, Any], ...] = ()
    stands: bool = False
    """True if it begins with replicas that are outside the ISR or moved now."""
    differs: str = ""


def entries_of(
    rows: Iterable[Mapping[str, Any]], variant: str, names: Collection[str] = describe.OF_TABLES
) -> dict[FaultBudget, list[CellVerdict]]:
    """Return the table of a variant on some properties from the rows of a document, without the tables of other faults."""
    axes = {each.removeprefix("faults.") for each in AXES}
    mine = [each for each in rows if (each["defects"] == "fixed") == (variant == DESIGNED) and each["property"] in names]
    fewest: dict[FaultBudget, int] = {}  # a cell that loses power under flush.messages=1 has kills, which others have not
    found: dict[FaultBudget, list[CellVerdict]] = {}
    for each in sorted(mine, key=lambda each: len(each["faults"].keys() - axes)):
        spot, others = FaultBudget(each["losing"], each["out"]), len(each["faults"].keys() - axes)
        if fewest.setdefault(spot, others) == others:
            asked, verdict = properties()[each["property"]], Verdict(each["verdict"])
            entry = CellVerdict(asked, verdict, each["steps"], each["source"], unstruck=tuple(each.get("never", ())))
            found.setdefault(spot, []).append(entry)
    return {spot: found[spot] for spot in sorted(found)}


def overview(document: Document) -> Overview:
    """Return the one-screen answer of a document about described topics: headline, groups by danger, bugs and notices."""
    parts = _parts(document)
    shipped = {label: names for label, names in document["bugs"].items() if names}
    names = dict.fromkeys(name for each in shipped.values() for name in each)
    bugs = [each for each in DEFECTS if each.name in names]
    return Overview(
        headline=tuple(_headline(document, parts, bugs)),
        levels=tuple(_levels(document, parts)),
        bugs_title=f"Bugs of Kafka {_releases(document)} as released" if bugs else "",
        bugs=tuple(_bug(each, _releases(document)) for each in bugs),
        with_bugs=tuple(_with_bugs(parts)) if bugs else (),
        notices=tuple(_notices(document)),
    )


def _parts(document: Document) -> list[_Part]:
    """Return each topic or part of one; where several configurations are answered for it, with the worst of them."""
    found: dict[str, list[_Part]] = {}
    for label, rows in document["tolerance"].items():
        designed, shipped = (Answers(entries_of(rows, each)) for each in (DESIGNED, SHIPPED))
        answers = (designed, shipped if shipped.entries else None) if designed.entries else (shipped, None)
        stands = any(_configuration(document, label).get(key) for key in ("start.outside_isr", "start.replicas"))
        for subject in document["topics"][label]:
            own = (each for each in document["now"][label] if each["partition"].rpartition("-")[0] == topic_of(subject))
            mine = tuple(each for each in own if each["is"] != describe.BEHIND)
            found.setdefault(subject, []).append(_Part(subject, label, *answers, mine, stands))
    return [_worst(document, several) for several in found.values()]


def _worst(document: Document, several: Sequence[_Part]) -> _Part:
    """Return the worst answer for a topic, of equal ones that with something to do; set its `differs` if the answers differ."""
    found = min(
        several,
        key=lambda each: (list(RISKS).index(each.designed.risk), each.designed.danger, each.label not in document["advice"]),
    )
    answers = {(each.designed.risk, *each.designed.least_lost) for each in several}
    differs = found.label.removeprefix(", ".join(document["topics"][found.label])).strip()
    return replace(found, differs=differs if len(answers) > 1 else "")


def _headline(document: Document, parts: Sequence[_Part], bugs: Sequence[Defect]) -> Iterable[str]:
    counts, of_now = _count_risks(parts), {topic_of(each.subject) for each in parts if each.now}
    said = [*_say_losses(parts)]
    said += [_counted(count, name) for name, count in counts.items() if count and name not in LOSSES]
    said += [_counted(len(of_now), "now")] if of_now else []
    is_designed = any(_variant(document, each.label) == DESIGNED for each in parts)
    about = [pluralize(sum(counts.values()), "topic")]
    about += [_say_values(document, "kafka.version", "Kafka ", "no version given, so the worst answer of these counts")]
    about += [_say_values(document, "acks", "acks=", "as each topic's producers have it")]
    how = "as designed" if is_designed else "as released, with its bugs"
    yield f"{', '.join(filter(None, [*about, how]))}: {'; '.join(said)}."
    if any(each.shipped is not None for each in parts):
        yield _release_sentence(f"Kafka {_releases(document)}", parts, bugs)
    elif is_designed:
        yield "The bugs of the release are left out (defects=fixed)."


def _say_losses(parts: Sequence[_Part]) -> Iterable[str]:
    """Yield how many topics lose a record with so many brokers or fewer, and how many of them only as they stand now."""
    told = [set[str]()]
    for name, spot in LOSSES.items():
        lost = [each for each in parts if any(one.is_within(spot) for one in each.designed.least_lost)]
        topics, always = ({topic_of(each.subject) for each in lost if not (each.stands and is_set)} for is_set in (False, True))
        if topics not in told:
            before, left = len(topics & set().union(*told)), len(topics - always)
            told.append(topics)
            stands = "as they stand now" if left > 1 else "as it stands now"
            who = " and ".join(sorted(topics - always)) if left < 4 else left
            notes = [f"{before} of them counted before"] * (before > 0)
            notes += [f"{len(always)} always, {who} {stands}" if always else stands] * (left > 0)
            yield _counted(len(topics), name) + (f" ({'; '.join(notes)})" if notes else "")


def _count_risks(parts: Sequence[_Part]) -> dict[str, int]:
    """Return how many topics are at each risk; each counts once, by the worst of its parts."""
    order, worst = list(RISKS), dict[str, str]()
    for each in parts:
        topic = topic_of(each.subject)
        worst[topic] = min(worst.get(topic, order[-1]), each.designed.risk, key=order.index)
    return {name: [*worst.values()].count(name) for name in order}


def _release_sentence(release: str, parts: Sequence[_Part], bugs: Sequence[Defect]) -> str:
    """Return what the bugs of the release change; a table that is not decided is no change, and no safety either."""
    if not bugs:
        return f"{release} as released has no known bug that matters here."
    released = [replace(each, designed=each.shipped or each.designed) for each in parts]
    safe = _counted(_count_risks(released)["safe"], "safe")
    worse = {topic_of(each.subject) for each in parts if _is_worse(each)}
    unknown = {topic_of(each.subject) for each in parts if each.shipped is not None and each.shipped.is_open} - worse
    rest = len({topic_of(each.subject) for each in parts} - worse - unknown)
    fewer = f"{len(worse) or 'none'} can lose a record with fewer brokers than as designed"
    fewer += f", {rest} with as many" if worse and rest else ""
    fewer += f"; for {len(unknown)} that is not decided" if unknown else ""
    every = {each.name for each in (*bugs, *DEFECTS) if each in bugs or each.is_in(release.removeprefix("Kafka "))}
    apply = f" that apply here (it has {len(every)})" if len(every) > len(bugs) else ""
    return f"As released, with the {pluralize(len(bugs), 'known bug')} of {release}{apply}, which stand below: {safe}; {fewer}."


def _is_worse(part: _Part) -> bool:
    """Return True if the release loses a record where the design is known not to."""
    shipped = part.shipped.says if part.shipped is not None else {}
    return any(word == LOST and part.designed.says[spot] in SAFE for spot, word in shipped.items())


def _variant(document: Document, label: str) -> str:
    return DESIGNED if f"{label} {DESIGNED}" in document["settings"] else SHIPPED


def _of_all(document: Document, key: str) -> dict[str, str]:
    """Return the values of a key over all configurations, each with where it comes from in few words."""
    found = [each[key] for each in document["sources"].values() if key in each]
    return {each["value"]: HOW.get(Origin(each["how"]), each["where"]) for each in found}


def _releases(document: Document) -> str:
    return " or ".join(_of_all(document, "kafka.version")) or "of an unknown version"


HOW = {Origin.FLAG: "given", Origin.ASSUMED: "assumed", Origin.DEFAULT: "Kafka's default"}
"""Where a value comes from that no file shows."""


def _say_values(document: Document, key: str, name: str, several: str) -> str:
    """Return the value of a key after its name, and where it comes from; of several values, each with what they mean."""
    found = _of_all(document, key)
    said = f"{name}{' and '.join(sorted(found))} ({several})"
    return said if len(found) > 1 else next((f"{name}{value} ({how})" for value, how in found.items()), "")


def _levels(document: Document, parts: Sequence[_Part]) -> Iterable[DangerLevel]:
    now = [each for each in parts if each.now]
    if now:
        yield DangerLevel("Now", "violated", tuple(_groups_now(document, now)))
    levels: dict[tuple[int, bool], list[_Part]] = {}
    for each in parts:
        if not each.now:
            levels.setdefault(_level(each.designed), []).append(each)
    several: list[TopicGroup] = []
    for (fewest, is_open), members in sorted(levels.items()):
        groups = _groups(document, members)
        if 2 < fewest < NEVER and not is_open:
            several += groups
            continue
        kind = "inconclusive" if is_open or fewest == 2 else "violated" if fewest < 2 else "holds"
        yield DangerLevel(_title(fewest, is_open), kind, tuple(groups))
    if several:
        yield DangerLevel("Lost only with 3 brokers or more", "holds", tuple(several))


def _level(found: Answers) -> tuple[int, bool]:
    """Return the fewest brokers with which a record is lost or a cell is undecided, and whether the latter needs fewer."""
    fewest = min((spot.losing + spot.out for spot in found.least_lost), default=NEVER)
    least = min((spot.losing + spot.out for spot, word in found.says.items() if word == UNDECIDED), default=NEVER)
    return min(fewest, least), least < fewest


NEVER = 99
"""More brokers than any table has."""


def _title(fewest: int, is_open: bool) -> str:
    if fewest == NEVER:
        return "Not lost, whatever is out"
    brokers = pluralize(fewest, "broker") if fewest else "every broker running"
    return f"Not decided with {brokers} or more" if is_open else f"Lost with {brokers}"


def _groups(document: Document, parts: Sequence[_Part]) -> Iterable[TopicGroup]:
    """Yield the groups of a level, those with a remedy first, then those with the most topics."""
    found: dict[tuple[str, str, str], list[_Part]] = {}
    for each in parts:
        settings = _settings(document, each)
        advice = document["advice"].get(each.label, {}).get("says", "")
        found.setdefault((settings, _when_lost(each.designed), advice), []).append(each)
    for (settings, says, advice), members in sorted(found.items(), key=lambda one: (not one[0][2], -len(one[1]))):
        labels = dict.fromkeys(each.label for each in members)
        commands = [command for label in labels for command in document["advice"].get(label, {}).get("commands", ())]
        topics = tuple(each.subject for each in members)
        chosen = {command["line"]: command for command in commands}.values()
        yield TopicGroup(topics, settings, says, advice, tuple(chosen))


def _settings(document: Document, part: _Part) -> str:
    """Return the settings of a part in the words of operators, with those by which its answers differ."""
    return f"{brief_settings({'config': _configuration(document, part.label)})} {part.differs}".strip()


def _configuration(document: Document, label: str) -> Mapping[str, Any]:
    about: Mapping[str, Any] = document["settings"][f"{label} {_variant(document, label)}"]
    return {**about["config"], **about.get("bounds", {})}


def _when_lost(found: Answers) -> str:
    """Return in words with which brokers, the fewest, a record is lost; or that this is not decided, or that none is lost."""
    if found.least_lost:
        return f"lost with {describe.in_words(found.least_lost[0])}"
    return "not decided" if found.is_open else "no record is lost"


def _groups_now(document: Document, parts: Sequence[_Part]) -> Iterable[TopicGroup]:
    """Yield a group for each way in which partitions are in danger now, the worst first."""
    every = {each["partition"]: (each, _when_lost(part.designed)) for part in parts for each in part.now}
    for state, (says, remedy, command) in NOW.items():
        mine = [(each, lost) for each, lost in every.values() if each["is"] == state]
        found: dict[str, list[str]] = {}
        for each, lost in mine:
            found.setdefault(lost, []).append(each["partition"])
        stored = (f"{lost} ({name_some(names, 1)})" if len(found) > 1 else lost for lost, names in found.items())
        if mine:
            who = tuple(_with_brokers(each) for each, _ in mine)
            about = says if state == describe.ABOVE else f"{says}; what is stored is {', '.join(stored)}"
            lines = dict.fromkeys(command.format(*each["partition"].rsplit("-", 1)) for each, _ in mine)
            yield TopicGroup(who, "", about, remedy, tuple({"line": each, "where": ""} for each in lines))


def _with_brokers(partition: Mapping[str, Any]) -> str:
    """Return a partition; if it refuses writes or is on its last replica, with the brokers that alone hold what is stored."""
    holders = partition["in_sync"]
    shown = f" (in sync on broker{'s' * (len(holders) > 1)} {','.join(holders)} alone)"
    return str(partition["partition"]) + (shown if partition["is"] in (describe.REFUSES, describe.LAST) else "")


UNTIL = "kafka-topics.sh --bootstrap-server HOST:PORT --describe"
NOW = {
    describe.OFFLINE: (
        "offline: no leader, so neither reads nor writes",
        "Elect nobody yet: neverlost rescue says whom to bring back; an unclean election loses what only they have.",
        "neverlost rescue --describe FILE --topic {} --partition {}",
    ),
    describe.ABOVE: (
        "refuses acks=all writes, so none is acknowledged: min.insync.replicas is above the replication factor",
        "Lower min.insync.replicas to the replication factor, or add replicas.",
        f"{UNTIL} --under-min-isr-partitions  # until none is listed",
    ),
    describe.REFUSES: (
        "refuses acks=all writes: fewer replicas in sync than min.insync.replicas",
        "First get every replica back into the ISR, before any restart.",
        f"{UNTIL} --under-min-isr-partitions  # until none is listed",
    ),
    describe.LAST: (
        "accepts writes on its last replica",
        "First get every replica back into the ISR, before any restart.",
        f"{UNTIL} --under-replicated-partitions  # until none is listed",
    ),
}
"""What is said of a partition in danger now, what to do, and how to see that it is done; the worst first."""


def _with_bugs(parts: Sequence[_Part]) -> Iterable[str]:
    """Yield a line for each smallest set of brokers with which the release loses a record of topics that it is worse for."""
    found: dict[FaultBudget, list[str]] = {}
    for each in parts:
        for spot in each.shipped.least_lost[:1] if each.shipped is not None and _is_worse(each) else ():
            found.setdefault(spot, []).append(each.subject)
    for spot, subjects in sorted(found.items(), key=lambda one: (one[0].losing + one[0].out, one[0].losing)):
        topics = list(dict.fromkeys(map(topic_of, subjects)))
        who = f"{pluralize(len(topics), 'topic')} can lose a record with {describe.in_words(spot)}: {name_some(topics, 5)}"
        yield f"Because of them {who} (--topic {topics[0]} --show {spot.losing},{spot.out} shows how)."


def _bug(defect: Defect, release: str) -> Bug:
    seen = ", ".join(f"{each.reproduced} of {each.tries} on {each.kafka}" for each in defect.seen)
    lines = [
        f"in {defect.versions}; {defect.report if defect.report == NOT_REPORTED else f'report: {defect.report}'}",
        f"mended {defect.mended}",
        f"seen on real brokers: {seen or 'not among the published tries'}",
    ]
    lines += [f"needs by itself (RF 3, min ISR 2): {defect.needs}"] if defect.needs else []
    is_mended = has_mechanism(release, defect.mechanism)
    upgrade = "a newer metadata.version (kafka-features.sh upgrade)" if is_mended else "upgrade to the release that mends it"
    avoid = defect.avoid or ("" if defect.mended == "in no release" else upgrade)
    return Bug(defect.name, defect.says, (*lines, f"avoided by: {avoid or 'no setting that is known here'}"))


def _notices(document: Document) -> Iterable[str]:
    """Yield a line for each kind of notice, which says each once; what the screen says of partitions already is left out."""
    spoken = [each for notices in document["notices"].values() for each in notices]
    for kind in (NoticeKind.WARNING, NoticeKind.NOT_MODELLED, NoticeKind.ASSUMED):
        kept = [each for each in spoken if each["kind"] == kind and not any(says in each["says"] for says in OF_NOW)]
        said = list(dict.fromkeys(map(provenance.notice_sentence, kept)))
        yield from [f"{kind}: {'; '.join(said)}"] if said else []


OF_NOW = ("is offline now", "records already stored")
"""What is noticed of partitions that the screen lists as in danger now."""
