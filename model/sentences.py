"""States and steps in the words of Kafka: the one place where they are put into words, for every output.

A step's sentence is who did what (the action's `says`), then what that changed and why it matters: a function of the
scene before and the scene after.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

from neverlost.model.kernel import members
from neverlost.model.snapshot import (
    DOWN,
    FOLLOWER,
    LEADER,
    NOT_APPLIED,
    REMOVED,
    STALE,
    STALE_LEADER,
    BrokerView,
    ClusterSnapshot,
)
from neverlost.model.system import State, Step, System

INITIAL = "initial state"
BROKERS = ("broker", "leader", "follower", "replica", "elected", "first", "candidate")
"""Parameters of actions that name a broker."""
STALE_MARK = "stale"
"""The word for what a broker takes to be so and is no longer so."""

Names = Sequence[str]
"""What brokers are called, by their number in the model."""


def numbered(brokers: int, given: Names = ()) -> tuple[str, ...]:
    """Return a name for each broker: the given ones, then `new` (several: `new1`, `new2`); numbers from 1 if none is given."""
    if not given:
        return tuple(str(each + 1) for each in range(brokers))
    return (*given, *("new" if brokers == len(given) + 1 else f"new{each + 1}" for each in range(brokers - len(given))))


def names_of(system: System, given: Names = ()) -> tuple[str, ...]:
    """Return what a system's brokers are called, as by `numbered`."""
    return numbered(system.sizes["replica"], given)


def describe(system: System, before: State | None, step: Step | None, after: State, given: Names = ()) -> str:
    """Return a step in a sentence, brokers named as by `numbered`; `initial state` if no step or no state before is given."""
    if step is None or before is None:
        return INITIAL
    names, draw = names_of(system, given), system.model.portrait
    if draw is None:
        return _head(system, step, names, None)
    scenes = draw(system.nested(before)), draw(system.nested(after))
    found = changes(*scenes, names, _actor(step, len(names)))
    return _head(system, step, names, scenes[0]) + (f": {'; '.join(found)}" if found else "")


def sentences(system: System, states: Sequence[State], steps: Iterable[int], given: Names = ()) -> list[str]:
    """Return a text for the initial state, begun by `weakness`, and one per step; `steps` are numbers of `System.steps`."""
    taken = zip(pairwise(states), steps, strict=True)
    return [
        weakness(system) + INITIAL,
        *(describe(system, before, system.steps[number], after, given) for (before, after), number in taken),
    ]


def weakness(system: System) -> str:
    """Return the warning with which a behaviour begins if guard clauses are switched off; empty if none is."""
    off = " and ".join(f"{action}: {clause}" for action, clause in sorted(system.disabled))
    return f"NOT the model as it is, but without {off}: " if off else ""


def attempted(system: System, before: State, step: Step, given: Names = ()) -> str:
    """Return who would do what in a step, without what it would change: for a step that is not possible."""
    draw = system.model.portrait
    return _head(system, step, names_of(system, given), draw and draw(system.nested(before)))


def listed(brokers: Iterable[int], names: Names) -> str:
    """Return brokers by name, joined by commas as Kafka's tools print them; `none` without any."""
    return ",".join(names[each] for each in brokers) or "none"


def records_named(records: Iterable[int]) -> str:
    """Return records by name, in order: `m1,m2`; an empty text for none."""
    return ",".join(f"m{each}" for each in sorted(records))


def role_of(lane: BrokerView, names: Names) -> str:
    return f"{lane.role} of {names[lane.follows]}" if lane.role == FOLLOWER and lane.follows is not None else lane.role


def leader_of(scene: ClusterSnapshot, names: Names) -> str:
    """Return who leads, as the controller has it: `leader 1`, or `no leader`."""
    return "no leader" if scene.leader is None else f"leader {names[scene.leader]}"


def isr_of(scene: ClusterSnapshot, names: Names) -> list[str]:
    """Return the controller's ISR in a list of one text, `ISR=1,2`; empty for a scene without ISR and min.insync.replicas."""
    return [] if not scene.isr and scene.min_isr is None else [f"ISR={listed(scene.isr, names)}"]


def metadata_of(scene: ClusterSnapshot, names: Names) -> list[str]:
    """Return texts: what the controller has, such as `ISR=1,2`; which records are acked, or only committed; the notes."""
    sets = {"ELR": scene.elr, "fenced": scene.fenced, "adding": scene.adding, "removing": scene.removing}
    found = isr_of(scene, names) + [f"{name}={listed(each, names)}" for name, each in sets.items() if each]
    found += [] if scene.last_known_leader is None else [f"last known leader {names[scene.last_known_leader]}"]
    found += [f"{leader_of(scene, names)} {scene.knowledge}"] if scene.knowledge else []
    found += [f"acked: {records_named(scene.acked)}"] if scene.acked else []
    found += [f"committed: {records_named(read)}"] if (read := scene.committed - scene.acked) else []
    return [*found, *scene.notes]


def beliefs_of(lane: BrokerView, scene: ClusterSnapshot, names: Names) -> list[str]:
    """Return texts: what a broker, if it believes it is leader, knows of the partition, true or not; then its notes."""
    old = f" {STALE_MARK}" if lane.isr != scene.isr else ""
    found = [] if lane.isr is None else [f"ISR={listed(lane.isr, names)}{old}"]
    found += [f"AlterPartition pending: {lane.pending[0]} {names[lane.pending[1]]}"] if lane.pending else []
    return [*found, *remembered(lane, scene, names), *lane.notes]


def remembered(leader: BrokerView, scene: ClusterSnapshot, names: Names) -> list[str]:
    """Return a text for each fetch offset beyond its high watermark that a leader remembers, marked if it is no longer true."""
    found = []
    for follower, offset in leader.fetched:
        old = "" if leader.has_fetched(scene.lanes[follower], offset) else f" ({STALE_MARK}: its log has changed)"
        found.append(f"remembers fetch offset {offset} of {names[follower]}{old}")
    return found


def is_stale(words: str) -> bool:
    """Return True if words of a scene say, with `stale`, that something known is no longer so."""
    return STALE_MARK in words


def _actor(step: Step, brokers: int) -> int | None:
    """Return the number of the broker that a step is about: its first argument of those in `BROKERS`; None if it has none."""
    return next((value % brokers for name, value in step.arguments.items() if name in BROKERS), None)


def name_step(system: System, step: Step, given: Names = ()) -> str:
    """Return a text: an action's name and, in brackets, its arguments; brokers are called as in the sentences."""
    names = numbered(system.sizes["replica"], given) if "replica" in system.sizes else ()
    shown = {
        name: names[value % len(names)] if names and value >= 0 and name in (*BROKERS, "outcome") else value
        for name, value in step.arguments.items()
    }
    return f"{step.action.name}({', '.join(f'{name}={value}' for name, value in shown.items())})"


def _head(system: System, step: Step, names: Names, before: ClusterSnapshot | None) -> str:
    """Return who does what; a `leader` is called `leader`, `stale leader` or `broker` by the scene, `leader` without one."""
    shown = {name: _argument(system, step, name, value, names) for name, value in step.arguments.items()}
    if "leader" in step.arguments:
        role = before.lanes[step.arguments["leader"]].role if before else LEADER
        shown["leader"] = f"{role if role in (LEADER, STALE_LEADER) else 'broker'} {shown['leader']}"
    return (step.action.says or step.action.name.replace("_", " ")).format(**shown)


def _argument(system: System, step: Step, name: str, value: int, names: Names) -> Any:
    """Return an argument as people say it: a broker's name, a set as `1,2`, a record as `m1`, a kept log by what it lost."""
    axis = step.action.parameters[name]
    if axis in ("target", "ballot"):
        return listed(members(value), names)
    if axis in ("record", "retried", "attempt"):
        return f"m{value + 1}"
    if axis in ("copy", "producer", "partition"):
        return value + 1
    if name == "kept":
        return _lost("its log", {"the records": value}, system.sizes["offset"])
    if axis == "parts":
        kept = cast(Any, system.sizes).parts_kept(step.arguments["rack"], value)
        whose = {f"the records of {names[broker]}": end for broker, end in kept.items()}
        return _lost("a log there", whose, system.sizes["offset"])
    if axis == "rack":
        return sorted(set(system.configurations[0]["broker.rack"]))[value]
    return names[value % len(names)] if name in BROKERS else value


def _lost(whole: str, kept: Mapping[str, int], everything: int) -> str:
    """Return what a power loss takes, from the offset up to which each log is kept; or that nothing of `whole` is lost."""
    lost = [f"{whose} from offset {end} on" for whose, end in kept.items() if end < everything]
    return f" and {', '.join(lost)}" if lost else f"; nothing of {whole} is lost"


def changes(before: ClusterSnapshot, after: ClusterSnapshot, names: Names, actor: int | None = None) -> list[str]:
    """Return what a step changed, in clauses, most important first; what happens at the `actor` goes without its name."""
    change = _Change(before, after, names, actor)
    return [
        *change.assignment(),
        *change.membership(),
        *change.election(),
        *change.logs(),
        *change.requests(),
        *change.watermarks(),
        *change.acknowledgements(),
        *change.knowledge(),
    ]


@dataclass(frozen=True)
class _Change:
    """Two scenes with a step between them; every method is one subject, in zero or more clauses."""

    before: ClusterSnapshot
    after: ClusterSnapshot
    names: Names
    actor: int | None

    def _listed(self, brokers: Iterable[int]) -> str:
        return listed(brokers, self.names)

    def _do(self, brokers: Sequence[int], verb: str, rest: str) -> list[str]:
        """Return a clause such as `2,3 leave the ISR`, none without brokers; `verb` is given as of several."""
        if not brokers:
            return []
        form = {"are": "is"}.get(verb, verb + "s") if len(brokers) == 1 else verb
        return [f"{self._listed(brokers)} {form} {rest}"]

    def _whose(self, lane: BrokerView) -> str:
        """Return the possessive of a broker in a clause, such as `2's`; `its` for the actor."""
        return "its" if lane.broker == self.actor else f"{self.names[lane.broker]}'s"

    def _name(self, lane: BrokerView) -> str:
        """Return the subject of a clause about a broker, its name and a blank; nothing for the actor."""
        return "" if lane.broker == self.actor else f"{self.names[lane.broker]} "

    def _promised(self, records: Iterable[int]) -> str:
        """Return the records by name, called acknowledged or committed if one of them is."""
        found = set(records)
        word = "acknowledged " if found & self.after.acked else "committed " if found & self.after.committed else ""
        return word + records_named(found)

    def _lanes(self) -> Iterable[tuple[BrokerView, BrokerView]]:
        return zip(self.before.lanes, self.after.lanes, strict=True)

    def _lacking(self, broker: int) -> str:
        """Return words for the acknowledged or committed records that a broker lacks; empty if it lacks none."""
        lacks = self.after.promised - self.after.lanes[broker].records
        return f", though it lacks {self._promised(lacks)}" if lacks else ""

    def assignment(self) -> list[str]:
        """Return which replicas begin to be added or removed, and that a reassignment is no longer in progress."""
        before, after = self.before, self.after
        done = (before.adding or before.removing) and not (after.adding or after.removing)
        return [
            *self._do([each for each in after.adding if each not in before.adding], "are", "being added"),
            *self._do([each for each in after.removing if each not in before.removing], "are", "being removed"),
            *(["no reassignment is in progress any more"] if done else []),
        ]

    def membership(self) -> list[str]:
        """Return who leaves and joins the ISR, who leaves the ELR, and whether the ISR falls below min.insync.replicas."""
        before, after = self.before, self.after
        joined = [each for each in after.isr if each not in before.isr]
        left = [each for each in before.isr if each not in after.isr]
        found = self._do([each for each in left if each not in after.elr], "leave", "the ISR")
        found += self._do([each for each in left if each in after.elr], "leave", "the ISR for the ELR")
        said_later = after.leader if after.leader != before.leader else None
        found += [f"{self.names[each]} joins the ISR{'' if each == said_later else self._lacking(each)}" for each in joined]
        gone = [each for each in before.elr if each not in after.elr and each not in after.isr]
        found += self._do(gone, "leave", "the ELR")
        least = after.min_isr
        if least is not None and len(after.isr) < least <= len(before.isr):
            found.append(f"the ISR is below min.insync.replicas={least}")
        return found

    def election(self) -> list[str]:
        """Return who is elected, from where, and what it lacks; or that no eligible leader is left.

        Of the same leader: that it leads again, or gets a new leader epoch.  Empty if there is nothing of this kind.
        """
        before, after = self.before, self.after
        if after.leader is None:
            return [] if before.leader is None else ["no eligible leader is left"]
        new, lacking = self.names[after.leader], self._lacking(after.leader)
        if before.leader == after.leader:
            if before.epoch != after.epoch:
                return [f"{new} leads again{lacking}"]
            again = NOT_APPLIED == after.knowledge != before.knowledge and before.lanes[after.leader].role != DOWN
            return [f"leader {new} gets a new leader epoch"] if again else []
        origin = self._origin(after.leader) + lacking
        if before.leader is None:
            return [f"{new} is elected leader{origin}"]
        return [f"leadership moves from {self.names[before.leader]} to {new}{origin}"]

    def _origin(self, leader: int) -> str:
        """Return why a replica could be elected that was alone in the ISR, or that was outside and is alone in it now.

        Empty for every other one, and for one that the leader had asked to add.
        """
        if self.before.isr == (leader,):
            return " as the last member of the ISR"
        asked = [lane.pending for lane in self.before.lanes if lane.broker == self.before.leader]
        if leader in self.before.isr or self.after.isr != (leader,) or ("add", leader) in asked:
            return ""
        if leader in self.before.elr:
            return " from the ELR"
        if leader == self.before.last_known_leader:
            return " as the last known leader"
        return " uncleanly, from outside the ISR"

    def logs(self) -> list[str]:
        """Return which records each broker appends, truncates, deletes or loses."""
        found = []
        for old, new in self._lanes():
            same = next((offset for offset, pair in enumerate(zip(old.log, new.log, strict=False)) if pair[0] != pair[1]), None)
            same = min(old.log_end_offset, new.log_end_offset) if same is None else same
            gone = [record for record, _ in old.log[same:]]
            added = [f"m{record} at offset {offset}" for offset, (record, _) in enumerate(new.log) if offset >= same]
            if gone:
                verb = {DOWN: "loses", REMOVED: "deletes"}.get(new.role, "truncates")
                found.append(f"{self._name(new)}{verb} {self._promised(gone)}{self._last_copy(gone)}")
            if added:
                verb, end = ("has", " again") if new.role == DOWN else ("appends", "")
                found.append(f"{self._name(new)}{verb} {', '.join(added)}{end}")
        return found

    def _last_copy(self, gone: Iterable[int]) -> str:
        """Return words that say so if an acknowledged or committed record is on no broker any more; else nothing."""
        left = frozenset[int]().union(*(lane.records for lane in self.after.lanes))
        return ", the last copy" if (set(gone) & self.after.promised) - left else ""

    def requests(self) -> list[str]:
        """Return AlterPartition requests sent, changes forgotten, and ISRs adopted, unless that is the controller's new one."""
        found = []
        for old, new in self._lanes():
            if new.pending and new.pending != old.pending:
                action, replica = new.pending
                place = "to" if action == "add" else "from"
                found.append(f"{self._name(new)}sends AlterPartition to {action} {self.names[replica]} {place} the ISR")
            found += self._forgotten(old, new)
            is_said = new.isr == self.after.isr != self.before.isr
            if new.isr is not None and new.isr != old.isr and not is_said:
                found.append(f"{self._whose(new)} ISR is {self._listed(new.isr)}")
        return found

    def _forgotten(self, old: BrokerView, new: BrokerView) -> list[str]:
        """Return in a clause the change that a leader no longer awaits, although the controller has committed it; else none."""
        if old.pending is None or new.pending is not None or new.isr is None or new.isr != old.isr:
            return []
        action, replica = old.pending
        is_committed = (replica in self.after.isr) == (action == "add")
        what = f"forgets its pending change to {action} {self.names[replica]}"
        return [f"{self._name(new)}{what}, which the controller has committed"] if is_committed else []

    def watermarks(self) -> list[str]:
        """Return how high watermarks move, else which fetch offsets are noted; and those that a re-elected leader still has."""
        found = []
        for old, new in self._lanes():
            if old.high_watermark is None or new.high_watermark is None:
                continue
            if old.high_watermark != new.high_watermark:
                whose = "" if new.broker == self.actor else f" of {self.names[new.broker]}"
                moved = f"HW{whose} {old.high_watermark} -> {new.high_watermark}"
                found.append(moved + self._passed(old, new))
            elif new.fetched != old.fetched:
                noted = [each for each in new.fetched if each not in old.fetched]
                found += [f"the fetch offset of {self.names[follower]} is {offset}" for follower, offset in noted]
            if old.role == STALE_LEADER and new.role == LEADER:
                found += [f"it still {each}" for each in remembered(new, self.after, self.names)]
        return found

    def _passed(self, old: BrokerView, new: BrokerView) -> str:
        """Return words on records that a high watermark passes though a member of the leader's or the controller's ISR lacks
        one; empty if none lacks any."""
        if new.isr is None or old.high_watermark is None or new.high_watermark is None:
            return ""
        passed = [record for record, _ in new.log[old.high_watermark : new.high_watermark]]
        members = sorted({*new.isr, *self.after.isr} - {new.broker})
        lacking = [each for each in members if not self.after.lanes[each].records >= set(passed)]
        if not lacking:
            return ""
        counted = [(follower, offset) for follower, offset in old.fetched if follower in lacking]
        by = "".join(f" by the remembered fetch offset {offset} of {self.names[follower]}" for follower, offset in counted)
        return f"{by}, past {records_named(passed)}, which ISR member {self._listed(lacking)} lacks"

    def acknowledgements(self) -> list[str]:
        """Return what is newly acknowledged or committed, and on what it rests: too few replicas, or a stale ISR."""
        acked = self.after.acked - self.before.acked
        moved = any(old.high_watermark != new.high_watermark for old, new in self._lanes())
        read = self.after.committed - self.before.committed - self.after.acked if moved else frozenset[int]()
        found = [f"{records_named(acked)} acknowledged{self._basis(acked)}"] if acked else []
        return found + ([f"{records_named(read)} committed{self._basis(read)}"] if read else [])

    def _basis(self, records: Iterable[int]) -> str:
        """Return who has all the records, if fewer than min.insync.replicas; else the actor's ISR if stale; else nothing."""
        holders = [lane.broker for lane in self.after.lanes if lane.records >= set(records)]
        if self.after.min_isr is not None and len(holders) < self.after.min_isr:
            return f", though only {self._listed(holders)} has it" if holders else ", though no broker has it"
        leader = self.after.lanes[self.actor] if self.actor is not None else None
        if leader is None or leader.isr is None or leader.isr == self.after.isr:
            return ""
        return f" by the stale ISR={self._listed(leader.isr)}, while the controller has ISR={self._listed(self.after.isr)}"

    def knowledge(self) -> list[str]:
        """Return new notes, a new min.insync.replicas, and who still believes it is leader or has yet to learn what changed."""
        before, after = self.before, self.after
        found = [note for note in after.notes if note not in before.notes]
        if after.min_isr != before.min_isr:
            found.append(f"min.insync.replicas is {after.min_isr} now")
        for old, new in self._lanes():
            if new.role == STALE_LEADER and old.role == LEADER:
                found.append(f"{self.names[new.broker]} still believes it is leader")
        if after.knowledge == STALE != before.knowledge:
            found.append(f"{leader_of(after, self.names)} does not know yet")
        return found
