"""Whether the model of a version has every transition that a closed search of Kafka's own brokers has.

`python -m tests.tools.simulate VERSION [KEY=VALUE]...`.  For each state of the search there is a set of model states such that,
of every transition, each state of the set after it has a predecessor in the set before it, by the steps that the event may
stand for.  So every path of the search, whichever way it goes, has a behaviour of the model with all that is seen.  A set that
is empty is a transition that this does not explain.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from dataclasses import dataclass

from neverlost.checker.engine.host import processes
from neverlost.checker.kafka.conform.exploration.explore_classes import ClassesSearch, ExplorationLimits
from neverlost.checker.kafka.conform.exploration.explored_group import Bounds, ExploredGroup, GroupState, Needs
from neverlost.checker.kafka.conform.java import jvm, kafka
from neverlost.checker.kafka.conform.walk.broker_group import GroupSight, Log, ProduceRequest
from neverlost.checker.kafka.conform.walk.explain_walk import MOST, WalkExplainer
from neverlost.checker.kafka.conform.walk.random_walk import Drawn, WalkEvent, take_event
from neverlost.model.system import Words
from neverlost.reports.questions.conform.document import read_bounds


@dataclass
class Simulated:
    """What came of it: states and transitions of the search, how often one was followed, and what was not explained."""

    states: int
    transitions: int
    followed: int
    unexplained: list[str]
    seconds: float


def put(group: ExploredGroup, state: GroupState) -> None:
    """Put the whole group into a state."""
    needs = Needs(group.group.brokers, controller=True)
    for me, number in zip(needs.brokers, state.processes, strict=True):
        group.saver.restore(me, group.processes[number])
    group.group.images = [group.images[each] for each in state.images]
    for process, left in zip(group.group.processes.values(), state.left, strict=True):
        process.replayed = len(state.images) - max(left, 0)
    group._restore_controller(group.group.images[-1], state.replicas)
    group.group.fetches = {group._pair(each): group._restored_fetch(group.fetches[each], needs) for each in state.fetches}
    group.group.alters = [group._restored_alter(group.alters[each], needs) for each in state.alters]
    group.group.produced = [ProduceRequest(*each) for each in state.produced]
    group.group.records, group.group.acked = state.records, state.acked


def happens(group: ExploredGroup, state: GroupState, event: Drawn) -> tuple[WalkEvent, GroupSight]:
    """Take an event in a state; return it with what came of it, and what is seen then."""
    put(group, state)
    name, arguments = event
    if name.startswith("alter"):
        leader, number = arguments
        arguments = leader, [at for at, each in enumerate(group.group.alters) if each.leader == leader][number]
    taken = take_event(group.group, name, arguments)
    group.controllers[tuple(sorted(group.group.controller.epochs.items()))] = group.group.controller
    view = group.group.view()
    for me in group.group.brokers:
        group.saver.save(me)
    return taken, view


def simulate(send: processes.Send, version: str, bounds: Bounds, without: str) -> Simulated:
    """In a process with a Java of its own."""
    found = kafka.kafka_of_version(version, trust=version in ("3.9.0", "3.9.1"))
    jvm.start(found.jars, found.java)
    begun = time.monotonic()
    search = ClassesSearch(found, bounds, ExplorationLimits(), sample=1)
    search.run(lambda now: None)
    assert search.found.trace is None and search.expanded == len(search.states)
    group, known = search.group, search.known
    explainer = WalkExplainer(found, bounds.min_isr, brokers=group.group.brokers)
    explainer.numbers.pop(without, None)
    put(group, search.states[0])
    assert explainer.follow(WalkEvent("begin"), group.group.view()) is None
    sets: dict[int, frozenset[Words]] = {0: explainer.states}
    half: dict[int, dict[int, Log]] = {0: {}}
    seen: dict[tuple[int, Drawn], tuple[WalkEvent, GroupSight]] = {}
    unexplained: list[str] = []
    followed, waiting, queued = 0, deque([0]), {0}
    while waiting:
        number = waiting.popleft()
        queued.discard(number)
        state = search.states[number]
        for event in group.events(state):
            child = known[group.take(state, event)]
            if (number, event) not in seen:
                seen[number, event] = happens(group, state, event)
            explainer.states, explainer.kept, explainer.half_truncated = sets[number], MOST, dict(half[number])
            followed += 1
            difference = explainer.follow(*seen[number, event])
            if difference is not None:
                unexplained.append(f"{search.path(number)} {difference}")
                continue
            after = explainer.states & sets.get(child, explainer.states)
            if not after:
                unexplained.append(f"{search.path(number)} {event}: no state in common with another path to the same state")
            elif after != sets.get(child):
                sets[child] = after
                half.setdefault(child, dict(explainer.half_truncated))
                if child not in queued:
                    waiting.append(child)
                    queued.add(child)
    search.close()
    return Simulated(len(search.states), search.found.transitions, followed, unexplained, time.monotonic() - begun)


def simulated(version: str, bounds: Bounds, without: str = "") -> Simulated:
    """What came of the simulation of a closed search, by a model without this action."""
    *_, last = processes.run(simulate, [(version, bounds, without)], 1)
    assert last.kind == "result", last.value
    result: Simulated = last.value
    return result


if __name__ == "__main__":
    told = simulated(sys.argv[1], read_bounds(sys.argv[2:], []))
    print(f"{told.states:,} states, {told.transitions:,} transitions, {told.followed:,} followed, {told.seconds:,.0f} s")
    print(f"{len(told.unexplained)} unexplained", *told.unexplained[:5], sep="\n")
