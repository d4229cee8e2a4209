"""Reductions of the modern models against what they leave out: the same verdicts with more states."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.outcome import Outcome
from neverlost.checker.engine.search.options import Options
from neverlost.checker.kafka.conform.walk.truncation import follower_truncate_in_part
from neverlost.model.faults import ISR_SHRINK
from neverlost.model.kernel import NO_REPLICA, Action, Clauses, Field, Model, action, different, flag, replica_id
from neverlost.model.kraft.broker import metadata
from neverlost.model.kraft.broker.follower import truncate_before_fetching
from neverlost.model.kraft.broker.high_watermark import raise_high_watermark
from neverlost.model.kraft.broker.leader import forget_leadership, is_up_to_date_leader, leads
from neverlost.model.kraft.broker.log import EMPTY
from neverlost.model.kraft.controller.fencing import admit
from neverlost.model.kraft.controller.leader_election import no_brokers
from neverlost.model.kraft.controller.partition_change import Change, assignment_of, change_partition, outdate_leader
from neverlost.model.kraft.lifecycle.stops import broker_restart, start
from neverlost.model.kraft.requests import isr_change
from neverlost.model.kraft.sizes import KEPT
from neverlost.model.kraft.state import ELECTED, everyone, others, started
from neverlost.model.limits import fault_enabled, record_fault
from neverlost.model.observed import starting_brokers as widened
from neverlost.model.protocols import majority
from neverlost.model.system import System
from neverlost.specs.properties import properties
from tests.support.modern import system

SAFETY = [
    "acked-never-lost",
    "committed-never-lost",
    "log-matching",
    "single-leader-per-epoch",
    "leader-completeness",
    "candidate-completeness",
    "read-stability",
    "no-global-loss",
    "isr-superset",
    "hw-monotonic",
]


def verdicts(bound: System, names: list[str], **options: Any) -> dict[str, tuple[str, int | None]]:
    """Verdict and length of the shortest counterexample by property."""
    asked = [properties()[name] for name in names]
    return summed_up(explore(bound, asked, Options(workers=1, keep_going=True, **options)))


def summed_up(found: Outcome) -> dict[str, tuple[str, int | None]]:
    return {each.property.name: (each.verdict.value, each.trace and len(each.trace.steps)) for each in found.findings}


def searched(bound: System) -> Outcome:
    """The search for every property of `SAFETY` that the system has."""
    asked = [properties()[name] for name in SAFETY if set(properties()[name].needs) <= bound.places.keys()]
    return explore(bound, asked, Options(workers=1, keep_going=True))


# decision 011: a broker learns the newest metadata, or nothing -------------------------------------------------------------


def remembering(known: Action) -> Action:
    """The same action; where it changes the leader, the epoch before can still be learned by who has not yet."""

    def body(k: Any, s: Any, **arguments: int) -> Clauses:
        before, isr, knows = s.leader, list(s.isr), s.leader_knows
        yield from known.body(k, s, **arguments)
        moved = k.all_of(s.leader != before, before != NO_REPLICA)
        s.past_leader = k.ite(moved, before, s.past_leader)
        s.past_taken = k.ite(moved, knows != ELECTED, s.past_taken)
        newest = (
            arguments.get("broker", NO_REPLICA) if known.name in ("broker_apply_leadership", "broker_follow") else NO_REPLICA
        )
        for each in everyone(s):
            s.past_isr[each] = k.ite(moved, isr[each], s.past_isr[each])
            unaware = k.all_of(each != newest, k.any_of(s.follows[each] != before, knows == ELECTED))
            s.may_learn_past[each] = k.all_of(
                s.is_running[each], each != newest, k.ite(moved, unaware, s.may_learn_past[each]), s.past_leader != NO_REPLICA
            )

    return replace(known, body=body)


@action(broker="replica", says="broker {broker} learns late that it led, and leads in an epoch that has passed")
def broker_apply_leadership_late(k: Any, s: Any, broker: int) -> Clauses:
    yield "led", s.past_leader == broker
    yield "does not know of it", s.may_learn_past[broker]
    yield "was not applied", k.not_(s.past_taken)
    known = [k.ite(leads(s, broker), offset, 0) for offset in s.fetch_offset[broker]]
    forget_leadership(k, s, broker)
    s.follows[broker] = broker
    s.may_learn_past[broker] = False
    s.past_taken = True
    for each in everyone(s):
        s.leader_isr[broker][each] = s.past_isr[each]
        s.fetch_offset[broker][each] = k.ite(s.past_isr[each], known[each], 0)
    raise_high_watermark(k, s, broker)


@action(
    broker="replica",
    leader="replica",
    where=lambda broker, leader: broker != leader,
    says="broker {broker} learns late that {leader} led, and follows it in an epoch that has passed",
)
def broker_follow_late(k: Any, s: Any, broker: int, leader: int) -> Clauses:
    yield "led", s.past_leader == leader
    yield "does not know of it", s.may_learn_past[broker]
    forget_leadership(k, s, broker, leads(s, broker))
    s.follows[broker] = k.ite(k.all_of(s.past_taken, leads(s, leader), s.leader != leader), leader, NO_REPLICA)
    s.may_learn_past[broker] = False
    truncate_before_fetching(k, s, broker, leader)


def with_history(model: Model) -> Model:
    """The model in which a broker may also learn the metadata of one epoch after it has passed."""

    def fields(configuration: Mapping[str, Any]) -> Iterator[Field]:
        yield from model.fields(configuration)
        yield replica_id("past_leader", model.sizes(configuration)["replica"])
        yield flag("past_taken")
        yield flag("past_isr", "replica")
        yield flag("may_learn_past", "replica")

    actions = (*map(remembering, model.actions), broker_apply_leadership_late, broker_follow_late)
    return replace(model, name="with-history", fields=fields, actions=actions)


@pytest.mark.parametrize(
    ("model", "given"),
    [
        ("3.9", {"rf": 2, "min_isr": 1, "leader_move": 2}),
        ("4.1", {"rf": 2, "min_isr": 1, "leader_move": 1, "crash": 1}),
        ("3.9", {"rf": 2, "min_isr": 2, "fence": 1, "lossy_crash": 1}),
        ("3.5", {"rf": 2, "min_isr": 1, "leader_move": 1, "isr_shrink": 1}),
        pytest.param("3.9", {"leader_move": 2, "crash": 1}, marks=pytest.mark.slow),
        pytest.param("4.1", {"leader_move": 1, "crash": 2}, marks=pytest.mark.slow),
        pytest.param("3.9", {"fence": 1, "leader_move": 1, "lossy_crash": 1}, marks=pytest.mark.slow),
        pytest.param("3.9", {"leader_move": 2, "isr_shrink": 1, "off": "pending-isr-kept"}, marks=pytest.mark.slow),
    ],
)
def test_learning_an_epoch_late_changes_no_verdict(model: str, given: dict[str, Any]) -> None:
    """Decision 011."""
    bound = system(model, **given)
    more = replace(bound, model=with_history(bound.model))
    reduced, whole = verdicts(bound, SAFETY), verdicts(more, SAFETY)
    assert whole == reduced


def test_epochs_are_learned_late_in_the_model_with_history() -> None:
    bound = system("3.9", rf=3, min_isr=2, leader_move=2)
    fired = explore(replace(bound, model=with_history(bound.model)), (), Options(workers=1)).fired
    assert fired["broker_apply_leadership_late"] > 0 and fired["broker_follow_late"] > 0


# decision 028: what else a record or a request may do -----------------------------------------------------------------------


@action(change="asking", says="controller assigns a replica to a log directory, which moves the partition epoch")
def controller_move_partition_epoch(k: Any, s: Any, change: int) -> Clauses:
    yield "is one change", change == 0
    outdate_leader(k, s, True)


@action(leader="replica", kept="replica", says="{leader} drops all slow followers but {kept} with one request")
def leader_drop_several(k: Any, s: Any, leader: int, kept: int) -> Clauses:
    slow = [each for each in everyone(s) if each not in (leader, kept)]
    yield from fault_enabled(k, s, ISR_SHRINK, *slow)
    yield "as many may be slow", s.isr_shrink_left >= len(slow)
    yield "leader is up to date", is_up_to_date_leader(k, s, leader)
    yield "no request in flight", s.pending[leader] == NO_REPLICA
    yield "in the ISR", k.all_of(*[k.all_of(s.leader_isr[leader][each], s.is_running[each]) for each in slow])
    isr = [k.all_of(s.leader_isr[leader][each], each not in slow) for each in everyone(s)]
    active = [each == leader for each in everyone(s)]
    yield from change_partition(k, s, Change(isr, active, assignment_of(s)), KEPT)
    outdate_leader(k, s, True)
    for _ in slow:
        record_fault(s, ISR_SHRINK, *slow)


@pytest.mark.parametrize(
    ("model", "given"),
    [
        ("4.3", {"isr_shrink": 1, "leader_move": 1}),
        ("4.3", {"isr_shrink": 1, "leader_move": 1, "defects": "fixed"}),
        ("4.3", {"rf": 2, "fence": 1, "lossy_crash": 1, "isr_shrink": 1, "defects": "fixed"}),
        pytest.param("4.3", {"isr_shrink": 1, "crash": 1, "fence": 1, "defects": "fixed"}, marks=pytest.mark.slow),
    ],
)
def test_a_partition_epoch_that_moves_alone_changes_no_verdict(model: str, given: dict[str, Any]) -> None:
    bound = system(model, **given)
    more = replace(bound, model=replace(bound.model, actions=(*bound.model.actions, controller_move_partition_epoch)))
    assert explore(more, (), Options(workers=1)).counts.distinct > explore(bound, (), Options(workers=1)).counts.distinct
    assert verdicts(more, SAFETY) == verdicts(bound, SAFETY)


@pytest.mark.parametrize(
    ("model", "given"),
    [
        ("4.3", {"isr_shrink": 2, "lossy_crash": 1, "defects": "fixed"}),
        pytest.param("4.3", {"isr_shrink": 2, "crash": 1, "lossy_crash": 1, "defects": "fixed"}, marks=pytest.mark.slow),
        ("3.9", {"isr_shrink": 2, "lossy_crash": 1, "defects": "fixed"}),
        pytest.param("4.1", {"isr_shrink": 2, "fence": 1, "crash": 1, "defects": "fixed"}, marks=pytest.mark.slow),
        pytest.param("4.3", {"isr_shrink": 3, "crash": 1, "min_isr": 3, "defects": "fixed"}, marks=pytest.mark.slow),
        pytest.param("4.3", {"isr_shrink": 2, "leader_move": 1, "crash": 1}, marks=pytest.mark.slow),
        pytest.param("4.3", {"isr_shrink": 2, "disk_loss": 1, "fence": 1, "defects": "fixed"}, marks=pytest.mark.slow),
    ],
)
def test_one_request_that_drops_several_changes_no_verdict(model: str, given: dict[str, Any]) -> None:
    """It reaches other ELRs, and shortens the way by a step or two; what can be lost is the same."""
    bound = system(model, **given)
    more = replace(bound, model=replace(bound.model, actions=(*bound.model.actions, leader_drop_several)))
    whole, reduced = verdicts(more, SAFETY), verdicts(bound, SAFETY)
    assert {name: found for name, (found, _) in whole.items()} == {name: found for name, (found, _) in reduced.items()}
    assert all(0 <= (steps or 0) - (whole[name][1] or 0) <= 2 for name, (_, steps) in reduced.items())


@action(broker="replica", outcome="outcome", says="broker {broker} starts and registers, which changes no partition")
def broker_restart_before_4_0(k: Any, s: Any, broker: int, outcome: int) -> Clauses:
    yield "broker is down", k.not_(s.is_running[broker])
    yield "old session has expired", s.is_fenced[broker]
    yield from admit(k, s, broker, outcome, Change(list(s.isr), no_brokers(s), assignment_of(s)))
    start(k, s, broker)


@pytest.mark.parametrize(
    ("model", "given"),
    [
        pytest.param("3.9", {"rf": 2, "min_isr": 1, "unclean": True, "crash": 2, "reassign": 1}, marks=pytest.mark.slow),
        pytest.param(
            "3.9",
            {"rf": 2, "min_isr": 1, "unclean": True, "crash": 1, "lossy_crash": 1, "reassign": 1, "defects": "fixed"},
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "3.7",
            {"rf": 2, "min_isr": 2, "unclean": True, "crash": 2, "reassign": 1, "defects": "fixed"},
            marks=pytest.mark.slow,
        ),
        ("3.9", {"rf": 2, "min_isr": 1, "crash": 2, "reassign": 1, "defects": "fixed"}),
        pytest.param(
            "3.9", {"rf": 2, "min_isr": 1, "unclean": True, "acks": 1, "crash": 2, "reassign": 1}, marks=pytest.mark.slow
        ),
        pytest.param("3.9", {"rf": 2, "min_isr": 1, "unclean": True, "crash": 3, "reassign": 1}, marks=pytest.mark.slow),
    ],
)
def test_registering_without_a_change_of_the_partition_changes_no_verdict(model: str, given: dict[str, Any]) -> None:
    """Before 4.0 (KAFKA-18106) a broker that registers again is not taken out of the ISR first."""
    bound = system(model, **given)
    actions = [broker_restart_before_4_0 if each.name == "broker_restart" else each for each in bound.model.actions]
    older = replace(bound, model=replace(bound.model, actions=tuple(actions)))
    assert verdicts(older, SAFETY) == verdicts(bound, SAFETY)


# orbits ---------------------------------------------------------------------------------------------------------------------


def from_every_leader(bound: System) -> System:
    """The same system with every replica as the first leader: where the reduced search starts, up to names."""
    model = bound.model
    if model is majority.MODEL:
        starts = lambda c: [  # noqa: E731
            majority.initial(c)[0] | {"leader": each, "follows": each} for each in range(c["replication.factor"])
        ]
    else:
        everyone = frozenset(range(bound.configurations[0]["replication.factor"]))
        starts = lambda c: [started(c, each, everyone, frozenset()) for each in everyone]  # noqa: E731
    return replace(bound, model=replace(model, initial=starts))


@pytest.mark.parametrize(
    ("model", "given"),
    [
        ("3.9", {"crash": 1, "leader_move": 1}),
        ("4.1", {"lossy_crash": 1, "isr_shrink": 1}),
        ("3.5", {"rf": 2, "fence": 1, "isr_shrink": 1}),
        ("4.1", {"rf": 4, "min_isr": 3, "isr_shrink": 1}),
        ("majority", {"min_isr": None, "crash": 1, "leader_move": 1}),
    ],
)
def test_orbits_sum_to_the_states_from_every_first_leader(model: str, given: dict[str, Any]) -> None:
    bound = system(model, **given)
    folded = explore(bound, (), Options(workers=1, symmetry=True))
    whole = explore(from_every_leader(bound), (), Options(workers=1))
    alone = explore(bound, (), Options(workers=1))
    assert folded.orbit_states == whole.counts.distinct >= alone.counts.distinct
    assert folded.counts.depth == whole.counts.depth


@pytest.mark.parametrize(
    ("model", "given"),
    [
        ("3.9", {"lossy_crash": 1, "leader_move": 1}),
        pytest.param("3.9", {"lossy_crash": 1, "crash": 1}, marks=pytest.mark.slow),
        ("3.9", {"rf": 2, "lossy_crash": 1, "fence": 1, "leader_move": 1}),
        ("3.9", {"min_isr": 1, "crash": 2}),
        ("4.1", {"lossy_crash": 1, "isr_shrink": 2}),
        pytest.param("4.1", {"crash": 1, "lossy_crash": 1}, marks=pytest.mark.slow),
        ("4.3", {"rf": 2, "disk_loss": 1, "fence": 1, "leader_move": 1}),
    ],
)
def test_following_before_registering_changes_no_verdict(model: str, given: dict[str, Any]) -> None:
    """What the protocol's model leaves out of a start (decision 014) is in what histories are held against."""
    plain = system(model, **given)
    settle = plain.model.normalise
    assert settle is not None

    def settled(k: Any, s: Any) -> None:
        settle(k, s)
        widened.forget_registered(k, s)

    early = replace(
        plain.model,
        fields=lambda configuration: (*plain.model.fields(configuration), widened.IS_BACK),
        normalise=settled,
        actions=(*plain.model.actions, widened.process_start, widened.broker_follow_unregistered),
    )
    assert verdicts(replace(plain, model=early), SAFETY) == verdicts(plain, SAFETY)


@pytest.mark.parametrize(
    ("model", "given"),
    [
        ("4.3", {"rf": 2, "lossy_crash": 2, "leader_move": 1}),
        ("4.3", {"rf": 2, "min_isr": 1, "lossy_crash": 2, "crash": 1, "isr_shrink": 1}),
        pytest.param("4.3", {"lossy_crash": 2, "isr_shrink": 1, "leader_move": 1}, marks=pytest.mark.slow),
        pytest.param("3.9", {"lossy_crash": 2, "crash": 1, "isr_shrink": 1}, marks=pytest.mark.slow),
    ],
)
def test_a_member_that_follows_before_it_registers_changes_no_verdict(model: str, given: dict[str, Any]) -> None:
    """It follows a new leader too, which counts its fetches; walks of Kafka's classes have shown it."""
    bound = ("broker_follow_unregistered", "bound: outside the ISR")
    assert verdicts(system(model, disabled=(bound,), **given), SAFETY) == verdicts(system(model, **given), SAFETY)


# decision 096: a fetch that names no broker epoch is handled before its broker registers -----------------------------------

EARLY_FETCH = flag("early_fetch", "replica")
"""The brokers that have fetched before they registered, ever: more than have such a fetch on its way."""


def noting_early_fetches(known: Action) -> Action:
    """The same action of a broker that fetches before it registers, which is noted."""

    def body(k: Any, s: Any, **arguments: int) -> Clauses:
        yield from known.body(k, s, **arguments)
        s.early_fetch[arguments["broker"]] = True

    return replace(known, body=body)


@action(
    leader="replica",
    follower="replica",
    where=different,
    says="{leader} handles a fetch of {follower} from before",
    can_be_left_out=True,
)
def leader_ask_by_early_fetch(k: Any, s: Any, leader: int, follower: int) -> Clauses:
    """The leader asks to add a broker that has registered, by a fetch from before that, which names no broker epoch."""
    yield "fetched before it registered", s.early_fetch[follower]
    yield from isr_change.leader_ask_to_expand_isr.body(k, s, leader=leader, follower=follower)
    s.request_names_no_epoch = True


@pytest.mark.parametrize(
    ("model", "given"),
    [
        ("4.3", {"rf": 2, "lossy_crash": 2, "leader_move": 1}),
        ("4.3", {"rf": 2, "min_isr": 1, "lossy_crash": 2, "crash": 1, "isr_shrink": 1}),
        ("3.9", {"records": 1, "lossy_crash": 1, "crash": 1, "isr_shrink": 1}),
        pytest.param("4.3", {"lossy_crash": 2, "isr_shrink": 1, "leader_move": 1}, marks=pytest.mark.slow),
        pytest.param("3.9", {"lossy_crash": 2, "crash": 1, "isr_shrink": 1}, marks=pytest.mark.slow),
    ],
)
def test_a_fetch_of_before_a_registration_that_is_handled_after_it_changes_no_verdict(
    model: str, given: dict[str, Any]
) -> None:
    """The model's leader handles it while its broker has not registered; walks of Kafka's classes have shown it later."""
    plain = system(model, **given)
    by_name = {each.name: each for each in plain.model.actions}
    noting = noting_early_fetches(by_name["broker_follow_unregistered"])
    late = plain.model.differing(
        "handled late",
        "",
        fields=lambda configuration: (*plain.model.fields(configuration), EARLY_FETCH),
        actions=(*({**by_name, noting.name: noting}).values(), leader_ask_by_early_fetch),
    )
    one, more = searched(plain), searched(replace(plain, model=late))
    assert more.fired["leader_ask_by_early_fetch"] and more.counts.distinct > one.counts.distinct
    assert summed_up(more) == summed_up(one)


@action(
    broker="replica",
    outcome="outcome",
    last="offset",
    says="broker {broker}, which has learned that {last} is committed, registers",
    can_be_left_out=True,
)
def broker_restart_knowing(k: Any, s: Any, broker: int, outcome: int, last: int) -> Clauses:
    """A process that fetched before it registers has learned how far records are committed, and keeps its high watermark."""
    log = s.log_record[broker]
    committed = [k.all_of(log[each] != EMPTY, log[each] == s.ghost_committed[each]) for each in range(last + 1)]
    yield "has learned it", k.all_of(*committed)
    yield from broker_restart.body(k, s, broker=broker, outcome=outcome)
    s.high_watermark[broker] = last + 1


@pytest.mark.parametrize(
    ("model", "given"),
    [
        ("4.3", {"rf": 2, "lossy_crash": 2, "leader_move": 1}),
        ("4.1", {"rf": 2, "min_isr": 1, "lossy_crash": 2, "crash": 1, "isr_shrink": 1}),
        ("3.9", {"rf": 2, "min_isr": 1, "crash": 2, "leader_move": 1, "unclean": True}),
        ("3.9", {"records": 1, "lossy_crash": 1, "crash": 1, "isr_shrink": 1}),
        pytest.param("4.3", {"lossy_crash": 2, "isr_shrink": 1, "leader_move": 1}, marks=pytest.mark.slow),
        pytest.param("4.1", {"crash": 2, "isr_shrink": 1, "leader_move": 1, "defects": "fixed"}, marks=pytest.mark.slow),
        pytest.param("3.9", {"lossy_crash": 2, "crash": 1, "isr_shrink": 1}, marks=pytest.mark.slow),
    ],
)
def test_a_process_that_registers_with_what_it_has_learned_changes_no_verdict(model: str, given: dict[str, Any]) -> None:
    """In the model a high watermark begins at 0 then; walks of Kafka's classes have shown that it stays, and that a broker
    which leads with it tells its followers."""
    plain = system(model, **given)
    knowing = plain.model.differing("knowing", "", actions=(*plain.model.actions, broker_restart_knowing))
    one, more = searched(plain), searched(replace(plain, model=knowing))
    assert more.fired["broker_restart_knowing"] and more.counts.distinct > one.counts.distinct
    assert summed_up(more) == summed_up(one)


# decision 096: a log that diverges in several epochs is truncated in one step ----------------------------------------------

BY_EPOCH = {"policy": "longest-log", "rf": 2, "records": 3}
LATE_BYTES = {"rf": 3, "records": 4, "leader_move": 3}


@pytest.mark.parametrize(
    "given",
    [
        BY_EPOCH | {"leader_move": 4, "defects": "fixed"},
        BY_EPOCH | {"leader_move": 4, "lossy_crash": 1},
        BY_EPOCH | {"leader_move": 3, "defects": "fixed", "min_isr": 1, "isr_shrink": 1, "crash": 1},
        pytest.param(LATE_BYTES, marks=pytest.mark.slow),
    ],
)
def test_a_truncation_in_parts_changes_no_verdict(given: dict[str, Any]) -> None:
    """As walks of Kafka make it; it happens, and has states of its own."""
    plain = system("4.3", **given)
    finer = replace(
        plain, model=plain.model.differing("in parts", "", actions=(*plain.model.actions, follower_truncate_in_part))
    )
    one, parts = searched(plain), searched(finer)
    assert parts.fired["follower_truncate_in_part"] and parts.counts.distinct > one.counts.distinct
    assert summed_up(parts) == summed_up(one)


# decision 012: a follower learns a high watermark together with the records of its response ------------------------------


@action(follower="replica", says="broker {follower} learns how many of its records are committed")
def follower_learn_committed(k: Any, s: Any, follower: int) -> Clauses:
    yield "running", s.is_running[follower]
    yield "does not lead", s.follows[follower] != follower
    is_shared, known = True, 0
    for offset, committed in enumerate(s.ghost_committed):
        here = s.log_record[follower][offset]
        is_shared = k.all_of(is_shared, here != EMPTY, here == committed)
        known = k.ite(is_shared, offset + 1, known)
    yield "knows less", s.high_watermark[follower] < known
    s.high_watermark[follower] = known


@pytest.mark.parametrize(
    ("model", "given"),
    [
        ("4.3", BY_EPOCH | {"leader_move": 4, "defects": "fixed"}),
        ("4.3", {"records": 1, "isr_shrink": 2, "leader_move": 2}),
        ("3.9", {"records": 1, "isr_shrink": 1, "lossy_crash": 1, "leader_move": 1, "defects": "fixed"}),
        ("3.9", {"rf": 2, "isr_shrink": 1, "lossy_crash": 2, "leader_move": 1}),
        pytest.param("4.3", {"rf": 2, "isr_shrink": 1, "reassign": 1, "crash": 1}, marks=pytest.mark.slow),
        pytest.param("4.3", {"min_isr": 1, "isr_shrink": 1, "leader_move": 2, "crash": 1}, marks=pytest.mark.slow),
        pytest.param("4.3", LATE_BYTES, marks=pytest.mark.slow),
        pytest.param("4.3", LATE_BYTES | {"defects": "fixed"}, marks=pytest.mark.slow),
    ],
)
def test_knowing_what_is_committed_at_any_time_changes_no_verdict(model: str, given: dict[str, Any]) -> None:
    """Walks have shown two ways: a late response whose records are dropped, and a fetch from before a registration."""
    plain = system(model, **given)
    more = searched(
        replace(plain, model=plain.model.differing("knowing", "", actions=(*plain.model.actions, follower_learn_committed)))
    )
    one = searched(plain)
    assert more.fired["follower_learn_committed"] and more.counts.distinct > one.counts.distinct
    assert summed_up(more) == summed_up(one)


# decision 096: a leader forgets how far a follower had fetched while it was outside its ISR --------------------------------


def remembering_fetches(effect: Callable[[Any, Any, int], None]) -> Callable[[Any, Any, int], None]:
    """The same effect on a leader that remembers how far followers outside its ISR have fetched; it waits for none of them."""

    def wrapped(k: Any, s: Any, leader: int) -> None:
        before = list(s.fetch_offset[leader])
        effect(k, s, leader)
        for each in others(s, leader):
            known = s.fetch_offset[leader][each]
            s.fetch_offset[leader][each] = k.ite(s.leader_isr[leader][each], known, before[each])

    return wrapped


@pytest.mark.parametrize(
    ("model", "given"),
    [
        ("4.3", {"records": 1, "isr_shrink": 2, "leader_move": 2}),
        ("3.9", {"records": 1, "isr_shrink": 1, "lossy_crash": 1, "leader_move": 1, "defects": "fixed"}),
        pytest.param("3.9", {"rf": 2, "isr_shrink": 1, "lossy_crash": 2, "leader_move": 1}, marks=pytest.mark.slow),
        pytest.param("3.9", {"isr_shrink": 1, "leader_move": 2, "defects": "fixed"}, marks=pytest.mark.slow),
        pytest.param("4.3", {"rf": 2, "records": 1, "isr_shrink": 1, "reassign": 1, "crash": 1}, marks=pytest.mark.slow),
    ],
)
def test_remembering_fetches_from_outside_the_isr_changes_no_verdict(
    model: str, given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a leader does that reads of an ISR change which it has forgotten to have asked for: walks have shown it."""
    one = searched(system(model, **given))
    for each in (metadata, isr_change):
        for name in ("drop_pending", "adopt_isr"):
            monkeypatch.setattr(each, name, remembering_fetches(getattr(each, name)))
    kept = searched(system(model, disabled=(("leader_note_fetch", "follower is in the maximal ISR"),), **given))
    assert kept.counts.distinct > one.counts.distinct
    assert summed_up(kept) == summed_up(one)
