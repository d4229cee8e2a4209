"""Decides whether some behaviour of the model explains a walk of Kafka's classes.

What is known after an event is the set of the model states in which some behaviour ends that had everything seen so far.
Each event allows the few steps of the model that it may stand for, in any number and order; a state is kept if it has what is
seen of the group.  An empty set is a proof that no behaviour with these steps explains the walk.

Kafka may do less than the model, or later, and never more.  A fetch may be handled, and a response taken, when it is sent; so
may a request for another ISR.  A high watermark may be lower than the model's: Kafka's waits for a replica that is about to
join, and a follower's is the one before its own fetch has raised it.  A record may be acknowledged later.  A leader that has
stepped down may be counted as leading until its successor leads, and a process that follows a deposed leader when it registers
as following nobody, elected again or not.  A fetch of before a registration may be handled after it; the high watermark that it
brings stays, and so does that of a late response, whether its records are dropped or not.  A log that diverges in several
epochs is truncated in several fetches (`truncation.py`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from operator import and_
from typing import Any

from neverlost.checker.kafka.conform.cases.settings import parse_setting
from neverlost.checker.kafka.conform.java.kafka import Kafka
from neverlost.checker.kafka.conform.walk.broker_group import BROKERS, BrokerSight, GroupSight, Log, has_prefix
from neverlost.checker.kafka.conform.walk.compiled_steps import CompiledSteps
from neverlost.checker.kafka.conform.walk.random_walk import RECORDS, SENTENCES, WalkEvent
from neverlost.checker.kafka.conform.walk.truncation import follower_truncate_in_part
from neverlost.model.interpreters.ints import Ints, refusals
from neverlost.model.interpreters.tracing import NotingView, read_by_steps
from neverlost.model.kernel import NO_REPLICA, Model
from neverlost.model.kraft.state import ACKS, BEHIND, ELECTED
from neverlost.model.system import State, System, Words, bind

SETTING = (
    f"bounds.records={RECORDS} acks=all election.policy=any eligible.leader.replicas=false "
    "faults.leader_move=any faults.kill=any faults.lossy_crash=any faults.isr_shrink=any "
    "faults.fence=any faults.request_copy=any"
)
DISABLED = {
    ("follower_take_response", "bound: the request was handled"): "a response may bring several records",
    ("leader_apply_answer", "bound: another knowledge than the record's"): "an answer comes before its record, whatever it is",
    ("leader_note_fetch", "follower is in the maximal ISR"): "a leader remembers fetches of before a follower joined the ISR",
    ("leader_ask_to_shrink_isr", "follower is running"): "a leader drops a member that is down before the controller misses it",
    ("leader_ask_to_expand_isr", "reached the high watermark"): "it reaches Kafka's, which is checked and may be lower",
    ("leader_ask_to_expand_isr", "follower is not fenced"): "a leader goes by its own metadata, which may be old",
    ("broker_follow_unregistered", "bound: outside the ISR"): "a member follows a new leader before it registers",
    ("broker_follow_unregistered", "old session lasts"): "a process that has not registered fetches on after its old session",
}
"""Guard clauses that are left out, and what Kafka does: bounds, and guards that Kafka does not have, as walks have shown."""
FEW, MOST = 12, 20_000
"""How many states are kept after an event, those nearest to what is seen first; where none fits any more, the walk is followed
again with `MOST` states."""

SHOWN = (
    *("leader", "isr", "is_fenced", "leader_knows", "ghost_acked"),
    *("log_record", "is_running", "follows", "high_watermark", "leader_isr", "pending"),
)
"""The fields that are compared with what is seen; states that differ in others alone fit together, or not."""

Pattern = tuple[str, Mapping[str, int]]
"""The name of an action, and the parameters that are fixed."""


def steps_of(event: WalkEvent) -> list[Pattern]:
    """Return the steps of the model that an event may stand for, as patterns; replicas are numbered from 0 in these."""
    one, *others = [each - 1 for each in event.arguments] or [0]
    other = others[0] if others else 0
    response = [
        ("follower_take_response", {"follower": one, "leader": other}),
        ("follower_truncate", {"follower": one, "leader": other}),
        ("follower_truncate_in_part", {"follower": one, "leader": other}),
    ]
    before: list[Pattern] = [("leader_replay_own_change", {})]  # of its own epoch, whoever is elected since
    follow: list[Pattern] = [("broker_follow", {})]
    apply: list[Pattern] = [("broker_apply_leadership", {"broker": one}), ("broker_follow_unregistered", {}), *follow]
    found: dict[str, list[Pattern]] = {
        "answer": [
            ("leader_note_fetch", {"leader": other}),
            ("leader_ask_to_expand_isr", {"leader": other, "follower": one}),
            *response,
        ],
        "deliver": [*response, ("follower_take_late_bytes", {"follower": one, "leader": other})],
        "lag": [("leader_ask_to_shrink_isr", {"leader": one}), ("leader_note_fetch", {"leader": one})],
        "alter": [
            ("controller_alter_isr", {"leader": one}),
            ("controller_alter_isr_late", {"leader": one}),
            ("controller_refuse_isr", {"leader": one}),
            ("leader_apply_answer", {"broker": one}),
        ],
        "alter answered": [
            ("leader_apply_answer", {"broker": one}),
            ("controller_refuse_isr", {"leader": one}),
            ("leader_note_fetch", {"leader": one}),
        ],
        "metadata": [
            ("leader_note_fetch", {"leader": one}),
            ("leader_note_fetch", {"follower": one}),
            ("controller_alter_isr", {"leader": one}),
            ("leader_learn_isr", {"broker": one}),
            ("leader_replay_own_change", {"broker": one}),
            *apply,
        ],
        "move leader": [("controller_move_leader", {"elected": one}), *before],
        "kill": [("broker_crash", {"broker": one})],
        "power loss": [("broker_crash_lossy", {"broker": one, "kept": other + 1})],
        "expire": [("controller_fence_dead", {"broker": one}), *before],
        "fence": [("controller_fence_live", {"broker": one}), *before],
        "heartbeat": [("controller_unfence", {"broker": one})],
        "start": [("broker_restart", {"broker": one}), *apply],
        "register": [("broker_restart", {"broker": one}), *apply],
    }
    if event.name.startswith("produce") and event.fate == "NONE":
        return [("leader_append", {"leader": one}), ("leader_note_fetch", {"leader": one})]
    return found.get(event.name, [])


FOLLOWED = {name for event in SENTENCES for name, _ in steps_of(WalkEvent(event, (1, 2), "NONE"))}
FOLLOWED |= {"leader_stall_request", "leader_answer_stalled_request"}
"""The actions that an event may stand for."""


@dataclass(frozen=True)
class Unexplained:
    """The first event after which no state of the model fits, and the `differences` of what is seen from the nearest state."""

    event: WalkEvent
    differences: tuple[str, ...]
    refused: tuple[str, ...]
    """The steps that it may stand for, each with the guard clause that forbids it."""


class PlainView:
    """A state as an object with a list for each array; a step reads and writes it as it does the view of the interpreter of
    integers, several times as fast."""

    def __init__(self, layout: PlainLayout, state: State) -> None:
        values = self.__dict__
        values.update(layout.frozen)
        for name, base, end, width, is_flag in layout.fields:
            if not end:
                values[name] = state[base] != 0 if is_flag else state[base]
                continue
            found = [each != 0 for each in state[base:end]] if is_flag else list(state[base:end])
            values[name] = [found[at : at + width] for at in range(0, end - base, width)] if width else found


class PlainLayout:
    """Where a system's fields are in a state; fields that are configuration are read once."""

    def __init__(self, system: System, state: State) -> None:
        self.frozen: dict[str, Any] = {"sizes": system.sizes}
        self.fields: list[tuple[str, int, int, int, bool]] = []
        for each in system.fields:
            base, shape = system.places[each.name]
            is_flag = each.kind == "flag"
            if each.frozen:
                self.frozen[each.name] = state[base] != 0 if is_flag else state[base]
                continue
            end = base + math.prod(shape) if shape else 0
            self.fields.append((each.name, base, end, shape[1] if len(shape) == 2 else 0, is_flag))

    def state(self, view: PlainView, before: State) -> State:
        """Return the state after what a step has written to a view."""
        found: list[Any] = list(before)
        values = view.__dict__
        for name, base, end, width, _ in self.fields:
            value = values[name]
            if not end:
                found[base] = value
            else:
                found[base:end] = chain.from_iterable(value) if width else value
        return tuple(map(int, found))


class WalkExplainer:
    """Follows one walk with the model of a Kafka version; `fixed` are mechanisms switched on that this version has not."""

    def __init__(
        self,
        kafka: Kafka,
        min_isr: int,
        fixed: Iterable[str] = (),
        model: Model | None = None,
        brokers: Sequence[int] = BROKERS,
    ) -> None:
        """`model`, if it is given, takes the place of the model of the version."""
        self.brokers = tuple(brokers)
        keys = "".join(f" mechanism.{each}=on" for each in fixed)
        keys += f" replication.factor={len(self.brokers)} min.insync.replicas={min_isr}"
        system = parse_setting(kafka, SETTING + keys).system
        model = model or system.model
        followed = [each for each in (*model.actions, follower_truncate_in_part) if each.name in FOLLOWED]
        model = model.differing(model.name, model.summary, actions=tuple(followed))
        self.system = bind(model, *system.configurations, disabled=DISABLED)
        self.places = {name: base for name, (base, _) in self.system.places.items()}
        self.numbers: dict[str, list[int]] = {}
        for number, each in enumerate(self.system.steps):
            self.numbers.setdefault(each.action.name, []).append(number)
        (self.initial,) = [state for _, state in self.system.initial_states()]
        self.layout = PlainLayout(self.system, self.initial)
        self.compiled: CompiledSteps | None = None
        self._pack_as(self.system)

    def _pack_as(self, packing: System) -> None:
        """Hold states from now on as the words of a system that has the same fields, and begin a walk."""
        self.packing = packing
        self.cells = [(each.word, each.shift, each.mask, each.low) for each in packing.slots]
        shown = [0] * packing.words
        for each in packing.slots:
            shown[each.word] |= each.mask << each.shift if each.field.name in SHOWN else 0
        self.shown = tuple(shown)
        self.begin()

    def compile_with(self, compiled: CompiledSteps) -> None:
        """Take steps in machine code from now on, and begin a walk."""
        self.compiled = compiled
        self._pack_as(compiled.system)

    def is_told_apart_from(self, other: WalkExplainer) -> bool:
        """Return True if this model and the other may explain different walks: they differ in sizes, or in a value that steps
        read; else all states and steps are the same."""
        one, another = self.system, other.system
        if one.sizes != another.sizes:
            return True
        read = read_by_steps(one, one.steps)
        if one.model.normalise is not None:
            one.model.normalise(Ints, NotingView(one, read))
        values = one.nested(self.initial), another.nested(other.initial)
        return any(values[0][name] != values[1][name] for name in read)

    def begin(self, kept: int = FEW) -> None:
        """Begin a walk; `kept` states are kept after each event at most."""
        self.states, self.kept = frozenset([self.packing.pack(self.initial)]), kept
        self.half_truncated: dict[int, Log] = {}
        """The logs that still diverge after a truncation, by broker: Kafka finds the common end in several fetches."""

    def keep_few(self) -> None:
        """Keep at most `FEW` of the states, now and after each further event."""
        self.states, self.kept = frozenset(sorted(self.states)[:FEW]), FEW

    def follow(self, event: WalkEvent, view: GroupSight) -> Unexplained | None:
        """Take an event; return None if a state fits, else what is unexplained: the walk cannot be followed any further."""
        steps = frozenset(self._chosen(event, view))
        for me, seen in zip(self.brokers, view.brokers, strict=True):
            if is_half_truncated(seen, view):
                self.half_truncated[me] = seen.log
            elif seen.log != self.half_truncated.get(me) or seen.follows is not None:
                self.half_truncated.pop(me, None)
        reached = self._closure(self.states, steps, is_acks_one=event.name == "produce acks=1")
        reached.update([*self._without_epoch(reached, view)])
        reached.update([*self._knowing_more(reached, view, event.arguments[0] if event.fate == "late" else None)])
        fits = cache(lambda shown: not any(self.differences(shown, view)))
        fitting = [each for each in reached if fits(tuple(map(and_, each, self.shown)))]
        if not fitting:
            nearest = min((tuple(self.differences(each, view)) for each in reached), key=len)
            return Unexplained(event, nearest, tuple(self._refused(steps)))
        if len(fitting) > self.kept:
            fitting = sorted(fitting, key=lambda each: (self._distance(each, view), each))[: self.kept]
        self.states = frozenset(fitting)
        return None

    def _without_epoch(self, states: Iterable[Words], view: GroupSight) -> Iterator[Words]:
        """Yield the states whose leader is seen to name no epoch of whom it asks to add, as states in which it names none: the
        follower had sent its fetch before it registered, and the leader handled it later."""
        for state in states if view.names_no_epoch and "request_names_no_epoch" in self.places else ():
            leader = self._of(state, "leader") + 1
            if leader and (leader, self._of(state, "pending", leader) + 1) in view.names_no_epoch:
                yield self._with(state, 1, self.places["request_names_no_epoch"])

    def _knowing_more(self, states: Collection[Words], view: GroupSight, late: int | None) -> Iterator[Words]:
        """Yield the states in which a broker has a lower high watermark than is seen of it, as states in which it has that one,
        of committed records: it learned it before it registered, or from the `late` response, whose records it drops."""
        for me, seen in zip(self.brokers, view.brokers, strict=True):
            is_possible = me == late or (seen.began_unregistered and seen.state in ("leads", "follows"))
            for state in states if is_possible else ():
                if self._of(state, "high_watermark", me) >= seen.high_watermark:
                    continue
                known = tuple(self._of(state, "ghost_committed", offset + 1) for offset in range(seen.high_watermark))
                if self.log(state, me)[: len(known)] == known:
                    yield self._with(state, seen.high_watermark, self.places["high_watermark"] + me - 1)

    def _with(self, state: Words, value: int, cell: int) -> Words:
        """Return a packed state with another value in a cell."""
        word, shift, mask, low = self.cells[cell]
        return (*state[:word], state[word] & ~(mask << shift) | value - low << shift, *state[word + 1 :])

    def _refused(self, steps: Iterable[int]) -> Iterator[str]:
        for step in (self.system.steps[number] for number in sorted(steps)):
            states = map(self.packing.unpack, self.states)
            found = {clause for state in states for clause in refusals(self.system, state, step)}
            yield from (f"{step.label}: {each}" for each in sorted(found))

    def _distance(self, state: Words, view: GroupSight) -> int:
        """Return how many logs, and high watermarks of brokers that are up, differ in a state from what is seen."""
        found = 0
        for me, seen in zip(self.brokers, view.brokers, strict=True):
            found += self.log(state, me) != tuple(record for record, _ in seen.log)
            found += seen.state != "down" and self._of(state, "high_watermark", me) != seen.high_watermark
        return found

    def _chosen(self, event: WalkEvent, view: GroupSight) -> Iterator[int]:
        patterns = steps_of(event)
        if "leader_stall_request" in self.numbers:
            if view.stalled is not None:
                patterns.append(("leader_stall_request", {"leader": view.stalled[0] - 1, "offset": view.stalled[1]}))
            patterns.append(("leader_answer_stalled_request", {}))
        for name, fixed in patterns:
            for number in self.numbers.get(name, ()):
                arguments = self.system.steps[number].arguments
                if all(arguments[each] == value for each, value in fixed.items()):
                    yield number

    def _closure(self, states: frozenset[Words], steps: frozenset[int], is_acks_one: bool) -> set[Words]:
        reached, waiting = set(states), set(states if steps else ())
        while waiting:
            if self.compiled is not None and not is_acks_one:
                waiting = set(self.compiled.successors(waiting, steps)) - reached
            else:
                waiting = {after for each in waiting for after in self._successors(each, steps, is_acks_one)} - reached
            reached |= waiting
            assert len(reached) < MOST
        return reached

    def _successors(self, state: Words, steps: Iterable[int], is_acks_one: bool) -> Iterator[Words]:
        """Yield the successors by some steps; a record with acks=1 is appended as the model does where all have acks=1."""
        before = self.packing.unpack(state)
        view: Any = None
        for step in map(self.system.steps.__getitem__, steps):
            if view is None:  # guards only read
                view = PlainView(self.layout, before)
                view.acks = ACKS["1" if is_acks_one else "all"]
            if all(met or (step.action.name, clause) in self.system.disabled for clause, met in step.run(Ints, view)):
                view.acks = ACKS["all"]
                if self.system.model.normalise is not None:
                    self.system.model.normalise(Ints, view)
                yield self.packing.pack(self.system.checked(self.layout.state(view, before)))
                view = None

    # what is seen, against a state

    def differences(self, state: Words, view: GroupSight) -> Iterator[str]:
        """Yield each difference between what is seen and a state, in words."""
        leader = self._of(state, "leader")
        if leader + 1 != max(view.leader, 0):
            yield f"the controller's leader is {_named(view.leader)}, not {_named(leader + 1)}"
        for what, members in (("isr", view.isr), ("is_fenced", view.fenced)):
            has = frozenset(each for each in self.brokers if self._of(state, what, each))
            is_early = what == "isr" and has in view.forgotten
            if has != members and not is_early:
                yield f"the controller's {what} is {sorted(members)}, not {sorted(has)}"
        known = {*view.leader_knows, *([BEHIND] if view.forgotten else [])}
        if leader != NO_REPLICA and self._of(state, "leader_knows") not in known:
            yield f"what the leader knows is one of {sorted(view.leader_knows)}"
        missing = [each for each in sorted(view.acked) if not self._of(state, "ghost_acked", each)]
        if missing:
            yield f"record {missing[0]} is acknowledged"
        for me, seen in zip(self.brokers, view.brokers, strict=True):
            for text in self._broker_differences(state, me, seen, view):
                yield f"broker {me}: {text}"

    def _broker_differences(self, state: Words, me: int, seen: BrokerSight, view: GroupSight) -> Iterator[str]:
        log, records = self.log(state, me), tuple(record for record, _ in seen.log)
        stays = has_stayed(me, seen, view)
        may_differ = stays or me in view.coming or me in self.half_truncated
        if log != records and not (may_differ and (log[: len(records)] == records or records[: len(log)] == log)):
            yield f"the log has records {list(records)}, not {list(log)}"
        if bool(self._of(state, "is_running", me)) != (seen.state in ("leads", "follows")):
            yield f"it is {'running' if seen.state in ('leads', 'follows') else 'down'}"
        if seen.state == "down":
            return
        follows = self._of(state, "follows", me) + 1
        if seen.state == "leads":
            if not stays:
                if follows != me:
                    yield "it leads"
                yield from self._leader_differences(state, me, seen)
        elif seen.follows is not None and follows != seen.follows and not (stays and not follows):
            yield f"it follows {seen.follows}, not {_named(follows)}"
        elif seen.follows is None and follows == view.leader != me and ELECTED not in view.leader_knows:
            yield f"it does not follow {follows} yet"
        high_watermark = self._of(state, "high_watermark", me)
        is_cut = me in view.coming and len(log) < len(records)
        if high_watermark < seen.high_watermark and not seen.began_unregistered and not is_cut:
            yield f"the high watermark is {seen.high_watermark}, not {high_watermark}"

    def _leader_differences(self, state: Words, me: int, seen: BrokerSight) -> Iterator[str]:
        isr = frozenset(each for each in self.brokers if self._of(state, "leader_isr", me, each))
        if isr != seen.isr and seen.asked is not None:
            yield f"it knows the ISR {sorted(seen.isr)}, not {sorted(isr)}"
        if seen.asks_early:
            yield "it asks to add a replica that has not reached its high watermark"
        pending = self._of(state, "pending", me) + 1
        if seen.asked is not None and seen.asked != frozenset([pending] if pending else []):
            yield f"its request changes {sorted(seen.asked)}, not {_named(pending)}"

    def _of(self, state: Words, name: str, *brokers: int) -> int:
        """Return the value of a field in a packed state, or of its element for these brokers or records, numbered from 1."""
        at = 0
        for each in brokers:
            at = at * len(self.brokers) + each - 1
        word, shift, mask, low = self.cells[self.places[name] + at]
        return low + (state[word] >> shift & mask)

    def log(self, state: Words, me: int) -> tuple[int, ...]:
        """Return the numbers of the records in a broker's log, in a packed state."""
        size = self.system.sizes["offset"]
        base = self.places["log_record"] + (me - 1) * size
        found = [low + (state[word] >> shift & mask) for word, shift, mask, low in self.cells[base : base + size]]
        return tuple(filter(None, found))


def share_machine_code(explainers: Iterable[WalkExplainer]) -> list[CompiledSteps]:
    """Compile the explainers' steps, together where their models have the same sizes, for their use; return what to close."""
    alike: dict[tuple[int, ...], list[WalkExplainer]] = {}
    for each in explainers:
        alike.setdefault(tuple(each.system.sizes.values()), []).append(each)
    found = []
    for group in alike.values():
        found.append(CompiledSteps([each.system for each in group]))
        for each in group:
            each.compile_with(found[-1])
    return found


def is_half_truncated(seen: BrokerSight, view: GroupSight) -> bool:
    """Return True if a follower's log diverges: as its last response said, or from the log seen of the leader it follows."""
    return seen.is_half_truncated or (seen.follows is not None and not has_prefix(view.brokers[seen.follows - 1].log, seen.log))


def has_stayed(me: int, seen: BrokerSight, view: GroupSight) -> bool:
    """Return True if a broker whose process began unregistered may still go by the metadata of then: it neither leads nor
    follows as the controller says, or whoever the controller has elected does not know that yet.

    In the model a broker that registers has replayed all of it, as one has that is unfenced.  Until then it is no candidate,
    and what it copies from a deposed leader goes when it follows the new one; the high watermark that it has learned stays.
    """
    led_by = me if seen.state == "leads" else seen.follows
    return seen.began_unregistered and (led_by != view.leader or ELECTED in view.leader_knows)


def _named(broker: int) -> str:
    return str(broker) if broker > 0 else "nobody"
