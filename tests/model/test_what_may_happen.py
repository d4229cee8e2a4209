"""What Kafka does is something that the model can do: a guard that is too strict loses nothing, and is seen by nobody else.

A row names an action, what is the case when it happens, and the least setting in which it can.  Most rows say that it happens
while some broker is down that it is not about: no request to a leader, a follower or the controller looks at such a one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

import pytest

from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.outcome import Verdict
from neverlost.checker.engine.search.options import Options, SearchLimits
from neverlost.model.interpreters.ints import Ints, IntsView
from neverlost.model.kernel import NO_REPLICA, members
from neverlost.model.kraft.broker.leader import logs_agree
from neverlost.model.kraft.broker.log import EMPTY
from neverlost.model.kraft.controller.planned import operated
from neverlost.model.kraft.controller.reassignment import remaining
from neverlost.model.kraft.state import ELECTED, UNCHANGED, UP_TO_DATE
from neverlost.model.protocols import models
from neverlost.model.system import System, bind
from neverlost.specs.configuration.choose import choose, read_settings
from neverlost.specs.property import Property

ABOUT = ("broker", "leader", "follower", "replica", "elected", "first")
"""Parameters that are brokers."""

Situation = Callable[[Any, Any, Mapping[str, int]], Any]


def another_is_down(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """A broker that the step is not about is down."""
    named = {about[each] for each in ABOUT if each in about}
    return k.any_of(*[k.not_(running) for each, running in enumerate(s.is_running) if each not in named])


def another_is_in_its_place(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """Another broker leads by now, and this one does not know."""
    return k.all_of(s.leader != about["leader"], s.leader != NO_REPLICA, s.leader_knows != ELECTED)


def it_is_elected_again(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """The broker itself has been elected again, and does not know."""
    return k.all_of(s.leader == about["leader"], s.leader_knows == ELECTED)


def nothing_is_heard_from_it(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """The leader does not wait for the follower, whose last fetch it has not noted."""
    leader, follower = about["leader"], about["follower"]
    return k.all_of(
        k.not_(s.leader_isr[leader][follower]), s.fetch_offset[leader][follower] == 0, s.log_record[follower][0] != EMPTY
    )


def it_follows_the_sender(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """The follower follows again who has sent the response."""
    return s.follows[about["follower"]] == about["leader"]


def it_follows_another(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """The follower leads by now, or follows another."""
    return s.follows[about["follower"]] != about["leader"]


def its_log_is_empty(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """The broker follows, and has fetched nothing."""
    return s.log_record[about["broker"]][0] == EMPTY


def it_follows_nobody(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """The broker has records, and does not fetch."""
    return s.follows[about["broker"]] == NO_REPLICA


def a_change_is_unknown(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """Who has been elected does not know it yet."""
    return k.all_of(s.leader == about["broker"], s.leader_knows == ELECTED)


def nothing_is_removed(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """Replicas are being added, and none is being removed."""
    return k.not_(k.any_of(*s.is_removing))


def nothing_is_added(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """Replicas are being removed, none is being added, and the ISR is empty, as it can be beside an ELR."""
    return k.not_(k.any_of(*s.is_adding))


def everything_is_kept(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """Each broker of the rack had flushed all of its log."""
    return all(end == s.sizes.offset for end in s.sizes.parts_kept(about["rack"], about["parts"]).values())


def logs_diverge(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """The follower has a record that its leader has not."""
    return k.not_(logs_agree(k, s, about["follower"], about["leader"]))


def a_configuration_is_unknown(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """The broker has another min.insync.replicas than the controller."""
    return s.min_isr_known[about["broker"]] != s.min_isr_changed


def something_has_changed(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """The controller has changed the partition since the leader asked."""
    return s.leader_knows != UP_TO_DATE


def it_is_fenced_and_leaves(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """The replica that is to leave the ISR has been fenced."""
    return k.all_of(s.leader_isr[about["leader"]][about["replica"]], s.is_fenced[about["replica"]])


def an_earlier_one_could_lead(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """A member of the ISR that runs stands before it in the assignment, and does not lead."""
    return k.any_of(
        False, *[k.all_of(s.isr[each], s.leader != each, k.not_(s.is_fenced[each])) for each in range(about["elected"])]
    )


def nobody_leads(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """The partition has no leader."""
    return s.leader == NO_REPLICA


def an_eligible_one_is_added(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """A broker of the ELR that was removed is assigned again."""
    return k.any_of(*[k.all_of(s.elr[each], k.not_(s.is_replica[each])) for each in members(about["target"])])


def it_has_this_value(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """The topic's min.insync.replicas is what it is set to."""
    return s.min_isr_changed == k.ite(s.min_isr == about["least"], UNCHANGED, about["least"])


def always(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """In this setting."""
    return True


def an_earlier_one_remains(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """A replica that stands before it in the assignment remains too."""
    return k.any_of(False, *remaining(k, s)[: about["first"]])


def one_record_is_gone(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """The consumer's position is one beyond the end of the log."""
    log = s.log_record[about["leader"]]
    return k.any_of(*[k.all_of(s.consumer_position == end + 1, log[end] == EMPTY) for end in range(len(log))])


class May(NamedTuple):
    """An action may happen in a situation, in a setting."""

    action: str
    situation: Situation
    setting: str


NEWEST = "kafka.version=4.3 replication.factor=3 min.insync.replicas=2 bounds.records=1"
TWO = NEWEST.replace("bounds.records=1", "bounds.records=2")
FOUR = NEWEST.replace("bounds.records=1", "bounds.records=4")
PAIR = NEWEST.replace("factor=3", "factor=2").replace("insync.replicas=2", "insync.replicas=1")
PAIR_TWO = PAIR.replace("bounds.records=1", "bounds.records=2")
UNCLEAN = "faults.isr_shrink=1 unclean.leader.election.enable=true"
GROWS = f"{NEWEST} faults.crash=1 faults.reassign=1"
CANCELS = f"{PAIR} faults.crash=2 faults.reassign=1 unclean.leader.election.enable=true"
ELR = f"{PAIR.replace('insync.replicas=1', 'insync.replicas=2')} eligible.leader.replicas=true"
OLDER = PAIR.replace("4.3", "3.9")
UNCHECKED = f"{NEWEST} faults.isr_shrink=1 mechanism.partition-epoch-check=off"
WHILE_ANOTHER_IS_DOWN = {
    f"{NEWEST} faults.crash=1 faults.isr_shrink=1 faults.fence=1": (
        "leader_append leader_note_fetch follower_take_response follower_truncate leader_ask_to_expand_isr"
        " leader_ask_to_shrink_isr controller_alter_isr controller_refuse_isr leader_learn_isr leader_apply_answer"
        " leader_replay_own_change broker_apply_leadership broker_follow controller_fence_live controller_unfence"
    ),
    f"{NEWEST} faults.crash=2 faults.leader_move=1": (
        "controller_fence_dead controller_move_leader broker_crash broker_restart"
    ),
    f"{NEWEST} faults.clean_stop=2": "broker_stop_cleanly broker_restart_clean",
    f"{NEWEST} faults.lossy_crash=2 faults.disk_loss=1 faults.crash=1": (
        "broker_crash_lossy broker_lose_disk broker_lose_directory_cleanly broker_follow_unregistered broker_crash_unregistered"
    ),
    f"{NEWEST} faults.crash=1 faults.disk_loss=1 mechanism.offline-log-not-recreated=off": "broker_create_log_anew",
    f"{NEWEST} faults.crash=1 faults.rack_loss=1 broker.rack=a,b,c": "rack_lose_power",
    f"{NEWEST} faults.crash=1 faults.min_isr_change=1": "controller_set_min_isr broker_learn_config",
    f"{NEWEST} faults.crash=3 faults.unclean_election=1": "controller_elect_uncleanly",
    f"{NEWEST} faults.crash=1 faults.fence=1 faults.isr_shrink=1 faults.request_copy=1": "controller_alter_isr_late",
    GROWS: "controller_reassign controller_cancel_reassignment controller_assign_directory broker_delete_replica",
    CANCELS: "controller_cancel_reassignment_uncleanly",
    f"{GROWS} faults.leader_move=1": "controller_add_replica",
    f"{NEWEST} faults.crash=1 faults.producer_retry=1": "leader_append_retry",
    f"{NEWEST} faults.crash=1 acks=0": "producer_send_lost_in_transit",
    f"{TWO} faults.crash=1 faults.leader_move=2": "leader_stall_request leader_answer_stalled_request",
    f"{FOUR} faults.crash=1 faults.leader_move=1": "follower_take_late_bytes",
    f"{NEWEST} faults.crash=1 faults.consumer_crash=1": "consumer_poll consumer_commit consumer_crash",
    f"{NEWEST} faults.crash=1 faults.consumer_crash=1 consumer.commit=before-processing": "consumer_process",
    f"{NEWEST} faults.crash=2 faults.consumer_crash=1 {UNCLEAN}": "consumer_reset",
    f"{TWO.replace('4.3', '3.3')} faults.lossy_crash=2": "follower_note_high_watermark",
    f"{NEWEST.replace('4.3', '3.9.0')} faults.crash=1 faults.leader_move=2": (
        "leader_send_diverging_response follower_truncate_late follower_drop_late_response"
    ),
    f"{NEWEST.replace('4.3', '2.6')} faults.crash=1 faults.isr_shrink=1 mechanism.alter-partition=on": (
        "leader_drop_pending_isr"
    ),
    f"{NEWEST.replace('4.3', '2.1')} faults.crash=2": "broker_bounce",
    f"{NEWEST} faults.crash=2 eligible.leader.replicas=true mechanism.failed-start-leaves-no-marker=off": (
        "broker_fail_to_start"
    ),
}
ROWS = [
    *[May(name, another_is_down, setting) for setting, names in WHILE_ANOTHER_IS_DOWN.items() for name in names.split()],
    May("follower_take_response", nothing_is_heard_from_it, f"{PAIR_TWO} faults.isr_shrink=1"),
    May("follower_truncate_late", it_follows_the_sender, f"{PAIR.replace('4.3', '3.9.0')} faults.leader_move=2"),
    May("follower_truncate_late", it_follows_another, f"{PAIR.replace('4.3', '2.8.0')} faults.leader_move=2"),
    May("leader_stall_request", another_is_in_its_place, f"{PAIR_TWO} faults.leader_move=2"),
    May("leader_stall_request", it_is_elected_again, f"{PAIR_TWO} faults.leader_move=2"),
    May(
        "broker_learn_config", a_change_is_unknown, f"{PAIR.replace('4.3', '2.6')} faults.min_isr_change=1 faults.leader_move=1"
    ),
    May("controller_cancel_reassignment_uncleanly", nothing_is_removed, CANCELS),
    May("controller_cancel_reassignment_uncleanly", an_earlier_one_remains, CANCELS),
    May("controller_cancel_reassignment_uncleanly", nothing_is_added, f"{CANCELS} eligible.leader.replicas=true"),
    May("controller_cancel_reassignment_uncleanly", always, f"{CANCELS} election.policy=preferred"),
    May("controller_cancel_reassignment_uncleanly", always, CANCELS.replace("insync.replicas=1", "insync.replicas=2")),
    May("controller_cancel_reassignment_uncleanly", always, f"{CANCELS} defects=fixed"),
    May("leader_note_fetch", logs_diverge, f"{PAIR.replace('4.3', '2.8')} faults.leader_move=2"),
    May("leader_ask_to_expand_isr", logs_diverge, f"{PAIR.replace('4.3', '2.8')} faults.leader_move=2 faults.isr_shrink=1"),
    May("leader_ask_to_expand_isr", always, f"{PAIR} faults.isr_shrink=1 election.policy=fenced-longest-log"),
    May(
        "leader_apply_answer",
        a_configuration_is_unknown,
        f"{PAIR} faults.isr_shrink=1 faults.min_isr_change=1 mechanism.configuration-before-isr=on"
        " mechanism.equal-epoch-record-skipped=on",
    ),
    May("controller_alter_isr", something_has_changed, f"{UNCHECKED} faults.fence=1"),
    May("controller_alter_isr", it_is_fenced_and_leaves, f"{UNCHECKED} faults.fence=1"),
    May("controller_move_leader", an_earlier_one_could_lead, f"{NEWEST} faults.leader_move=1"),
    May("controller_move_leader", always, f"{NEWEST} faults.leader_move=1 election.policy=preferred faults.crash=1"),
    May("controller_reassign", nobody_leads, f"{PAIR} faults.crash=2 faults.reassign=1 eligible.leader.replicas=true"),
    May("controller_reassign", an_eligible_one_is_added, f"{ELR} faults.crash=2 faults.reassign=2"),
    May("controller_set_min_isr", it_has_this_value, f"{ELR} faults.clean_stop=2 faults.min_isr_change=1"),
    May("controller_cancel_reassignment", nothing_is_removed, f"{PAIR} faults.reassign=1"),
    May("controller_cancel_reassignment", nothing_is_added, f"{OLDER} faults.crash=1 faults.isr_shrink=1 faults.reassign=1"),
    May("controller_cancel_reassignment", always, f"{PAIR} faults.reassign=1 defects=fixed"),
    May("rack_lose_power", everything_is_kept, f"{PAIR} faults.rack_loss=1 broker.rack=a,a"),
    May("broker_delete_replica", its_log_is_empty, f"{PAIR} faults.reassign=1"),
    May("broker_delete_replica", it_follows_nobody, f"{PAIR} faults.reassign=1"),
    May(
        "consumer_reset",
        one_record_is_gone,
        f"{PAIR} faults.crash=1 faults.consumer_crash=1 {UNCLEAN}",
    ),
]


def happens(row: May, states: int = 3_000_000) -> bool:
    """Return True if a search finds the action happening in the situation."""
    chosen = choose(read_settings(row.setting.split()))
    model = operated(chosen.model, None, True) if row.action == "controller_add_replica" else chosen.model
    system = bind(model, chosen.configuration)
    never = Property("never", "", lambda k, s: k.not_(k.any_of(*_cases(k, s, system, row))), (), "")
    outcome = explore(system, [never], Options(SearchLimits(states=states), workers=1))
    return outcome.findings[0].verdict is Verdict.VIOLATED


def _cases(k: Any, s: Any, system: System, row: May) -> Iterator[Any]:
    """Yield when each step of the action happens in the situation; its guard clauses come before what it assigns."""
    for step in (each for each in system.steps if each.action.name == row.action):
        clauses = sum(1 for _ in step.run(Ints, IntsView(system, system.initial_states()[0][1])))
        situation = row.situation(k, s, step.arguments)
        yield k.all_of(situation, *[condition for _, condition in islice(step.run(k, s), clauses)])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.action}-{row.situation.__name__}")
def test_what_kafka_does_may_happen(row: May) -> None:
    assert happens(row), row.setting


def test_every_action_may_happen_while_another_broker_is_down() -> None:
    asked = {row.action for row in ROWS if row.situation is another_is_down}
    every = {each.name for model in ("kraft", "kraft-elr") for each in models()[model].actions}
    assert asked == every | {"controller_add_replica"}
