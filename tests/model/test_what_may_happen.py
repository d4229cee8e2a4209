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
from neverlost.model.kernel import NO_REPLICA, count, members
from neverlost.model.kraft.broker.leader import logs_agree
from neverlost.model.kraft.broker.log import EMPTY, epoch_of, has_beyond, log_end
from neverlost.model.kraft.controller.leader_election import answers
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


def it_has_every_record(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """The leader has no record that the follower lacks: the response brings a high watermark alone.

    Source: ReplicaFetcherThread.processPartitionData, which takes the high watermark of any response.
    """
    return k.not_(has_beyond(k, s, about["leader"], about["follower"]))


def it_has_exposed_more(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """The follower, who led before, knows a higher high watermark than its leader.

    Source: Partition.makeLeader takes what the broker knew as a follower, which comes a fetch late (KIP-101).
    """
    return s.high_watermark[about["follower"]] > s.high_watermark[about["leader"]]


def it_joins(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """The replica is outside the ISR.

    Source: ReplicationControlManager.alterPartition.
    """
    return k.not_(s.leader_isr[about["leader"]][about["replica"]])


def it_leaves_and_has_restarted(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """The replica that is to leave has restarted since the leader asked.

    Source: ReplicationControlManager.ineligibleReplicasForIsr looks at the new ISR only.
    """
    return k.all_of(s.leader_isr[about["leader"]][about["replica"]], s.request_outdated)


def it_has_restarted(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """The replica that is to join is unfenced, and another incarnation than the leader saw.

    Source: ReplicationControlManager.ineligibleReplicasForIsr (KIP-903).
    """
    return k.all_of(k.not_(s.is_fenced[about["replica"]]), s.request_outdated)


def it_leads(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """The broker is the leader."""
    return s.leader == about["broker"]


def it_is_fenced(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """The broker is fenced."""
    return s.is_fenced[about["broker"]]


def it_alone_is_in_sync(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """Nobody else is in the ISR.

    Source: ReplicationControlManager.handleBrokerFenced, whoever is left.
    """
    return k.not_(k.any_of(*[flag for each, flag in enumerate(s.isr) if each != about["broker"]]))


def only_these_two_are_in_sync(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """The leader's ISR is itself and the follower.

    Source: Partition.maybeShrinkIsr asks for no number of members.
    """
    known = enumerate(s.leader_isr[about["leader"]])
    return k.not_(k.any_of(*[flag for each, flag in known if each not in (about["leader"], about["follower"])]))


def it_has_asked(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """The leader has a request in flight.

    Source: Partition.makeLeader puts the ISR of the record in force, whatever is pending.
    """
    return s.pending[about["broker"]] != NO_REPLICA


def it_led_before(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """The broker led in an epoch before, and has not noticed who led in between.

    Source: Partition.makeLeader (`isNewLeader`).
    """
    return s.follows[about["broker"]] == about["broker"]


def it_does_not_follow(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """The broker has not caught up with who is elected.

    Source: BrokerHeartbeatManager.calculateNextBrokerState asks for the metadata log alone.
    """
    return s.follows[about["broker"]] != s.leader


def the_elected_is_down(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """Who is elected is down, and its session has not expired.

    Source: ReplicationControlManager (`clusterControl::isActive`): not fenced is enough.
    """
    return k.not_(s.is_running[about["elected"]])


def the_follower_is_down(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """The follower's process has not registered yet.

    Source: BrokerServer.startup: replica fetchers begin before the broker is unfenced.
    """
    return k.not_(s.is_running[about["follower"]])


def one_is_under_way(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """A reassignment is under way, and is replaced.

    Source: ReplicationControlManager.changePartitionReassignment.
    """
    return k.any_of(*s.is_adding, *s.is_removing)


def somebody_is_in_sync(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """The ISR is not empty.

    Source: ReplicationControlManager.electLeader asks whether there is a leader.
    """
    return k.any_of(*s.isr)


def _brought(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """Return the epoch of the first record that a late response brings."""
    own, others = s.log_record[about["follower"]], s.log_record[about["leader"]]
    found: Any = -1
    for offset in reversed(range(len(own))):
        found = k.ite(own[offset] == EMPTY, epoch_of(k, s, others[offset]), found)
    return found


def it_is_of_a_newer_epoch(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """The response brings a record of a newer epoch than the fetch was of."""
    return _brought(k, s, about) > s.late_epoch[about["follower"]]


def it_has_the_record(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """The leader has the record in its log."""
    return k.any_of(*[each == about["record"] + 1 for each in s.log_record[about["leader"]]])


def the_configuration_is_known(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """The broker has the controller's min.insync.replicas."""
    return s.min_isr_known[about["broker"]] == s.min_isr_changed


def two_answer(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """Who is elected and one more have said how long their logs are: of three, with a minimum of two, that is enough."""
    return len(answers(s, about["elected"])[1]) == 2


def one_answers(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """Only who is elected has said how long its log is: an operator who says unclean asks for no number."""
    return len(answers(s, about["elected"])[1]) == 1


def its_record_is_the_last_committed(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """The high watermark has just passed the offset of the record of the request that stood still.

    Source: Partition.checkEnoughReplicasReachOffset (`highWatermark >= requiredOffset`).
    """
    return s.high_watermark[about["leader"]] == s.stalled_offset + 1


def it_is_where_the_epoch_began(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """The follower's log ends where the leader's epoch began, and the leader has not committed so far.

    Source: Partition.isFollowerInSync (`followerEndOffset >= leaderEpochStartOffset`).
    """
    start = s.leader_epoch_start_offset
    return k.all_of(log_end(k, s, about["follower"]) == start, start > s.high_watermark[about["leader"]])


def it_is_elected_as_eligible(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """The broker that returns is in the ELR, and is elected.

    Source: PartitionChangeBuilder.isValidNewLeader (`canElectFromElr`).
    """
    return k.all_of(about["outcome"] == about["broker"], s.elr[about["broker"]], s.leader == NO_REPLICA)


def it_is_elected_as_the_last_leader(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """The broker that returns led last, nobody else is in ISR or ELR, and it is elected.

    Source: PartitionChangeBuilder.canElectLastKnownLeader.
    """
    led_last = k.all_of(s.leader == NO_REPLICA, s.last_known_leader == about["broker"])
    others = [flag for flags in (s.isr, s.elr) for each, flag in enumerate(flags) if each != about["broker"]]
    return k.all_of(about["outcome"] == about["broker"], led_last, k.not_(k.any_of(*others)))


def another_could_be_elected(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """Of those that remain in the ISR a later one is elected: the replicas of a partition stand in any order.

    Source: PartitionChangeBuilder.electAnyLeader goes by the order of the replicas, which is the operator's.
    """
    earlier = [each for each in range(about["outcome"]) if each != about["broker"]]
    return k.any_of(False, *[k.all_of(s.isr[each], k.not_(s.is_fenced[each])) for each in earlier])


def the_next_is_down(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """Who is elected instead is down, and its session has not expired.

    Source: ReplicationControlManager (`clusterControl::isActive`).
    """
    return about["outcome"] >= 0 and k.not_(s.is_running[about["outcome"]])


def the_follower_is_fenced(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """The follower has caught up, and is fenced: before KIP-841 nobody asked."""
    return s.is_fenced[about["follower"]]


def an_unregistered_one_loses_its_log(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """One of the rack has fetched before it registered, and loses what it has.

    Source: BrokerServer.startup: replica fetchers begin before the broker is unfenced.
    """
    kept = s.sizes.parts_kept(about["rack"], about["parts"])
    lost = [each for each, end in kept.items() if end < s.sizes.offset]
    return k.any_of(False, *[k.all_of(k.not_(s.is_running[each]), s.follows[each] != NO_REPLICA) for each in lost])


def it_is_not_elected(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """Another leads.

    Source: BrokerMetadataPublisher.onMetadataUpdate, on every broker.
    """
    return s.leader != about["broker"]


def too_few_are_in_sync(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """The leader alone is in the ISR, below min.insync.replicas.

    Source: Partition.appendRecordsToLeader asks for them with acks=all only.
    """
    return k.not_(k.any_of(*[flag for each, flag in enumerate(s.leader_isr[about["leader"]]) if each != about["leader"]]))


def too_few_remain(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """One member of the ISR remains, of min.insync.replicas=2.

    Source: PartitionReassignmentRevert asks for one (KIP-455).
    """
    return count(k, [k.all_of(flag, left) for flag, left in zip(s.isr, remaining(k, s), strict=True)]) == 1


def the_leader_is_down(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """The broker that the record was meant for is down, and no other is elected yet.

    Source: NetworkClient completes a request that expects no response once it is sent.
    """
    return k.not_(s.is_running[about["leader"]])


def it_holds_a_record(k: Any, s: Any, about: Mapping[str, int]) -> Any:
    """The consumer has committed the offset of a record that it has not processed."""
    return s.consumer_holds_record


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
ASKED = f"{NEWEST.replace('4.3', '3.9')} acks=min.insync.replicas election.policy=fenced-longest-log"
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
    May("follower_take_response", it_has_every_record, PAIR),
    May("follower_take_response", another_is_in_its_place, f"{NEWEST} faults.leader_move=1"),
    May("follower_truncate", it_has_exposed_more, f"{PAIR_TWO} faults.leader_move=1"),
    May("leader_append", another_is_in_its_place, f"{NEWEST} faults.leader_move=1"),
    May("leader_note_fetch", another_is_in_its_place, f"{NEWEST} faults.leader_move=1"),
    May("leader_ask_to_expand_isr", the_follower_is_down, f"{PAIR} faults.lossy_crash=2 faults.isr_shrink=1"),
    May("leader_ask_to_shrink_isr", only_these_two_are_in_sync, f"{PAIR} faults.isr_shrink=1"),
    May("leader_learn_isr", it_has_asked, f"{NEWEST} faults.isr_shrink=1 faults.fence=1"),
    May("leader_replay_own_change", it_is_not_elected, f"{OLDER} faults.crash=1 faults.reassign=1"),
    May("leader_replay_own_change", a_change_is_unknown, f"{NEWEST} faults.isr_shrink=1 faults.crash=1 faults.reassign=1"),
    May("broker_apply_leadership", it_led_before, f"{PAIR} faults.leader_move=2"),
    May("broker_follow", it_is_fenced, f"{PAIR} faults.fence=1"),
    May("controller_alter_isr", it_joins, f"{PAIR} faults.isr_shrink=1"),
    May(
        "controller_alter_isr",
        it_leaves_and_has_restarted,
        f"{PAIR} faults.crash=1 faults.isr_shrink=1 mechanism.bounce-detection=off",
    ),
    May("controller_refuse_isr", it_has_restarted, f"{PAIR} faults.crash=1 faults.isr_shrink=1"),
    May("controller_fence_live", it_leads, f"{PAIR} faults.fence=1"),
    May("controller_fence_dead", it_alone_is_in_sync, f"{PAIR} faults.crash=2"),
    May("controller_unfence", it_does_not_follow, f"{PAIR} faults.fence=1"),
    May("controller_move_leader", the_elected_is_down, f"{PAIR} faults.crash=1 faults.leader_move=1"),
    May("controller_elect_uncleanly", somebody_is_in_sync, f"{OLDER} faults.crash=2 faults.unclean_election=1"),
    May("controller_reassign", one_is_under_way, f"{PAIR} faults.reassign=2"),
    May("controller_set_min_isr", nobody_leads, f"{ELR} faults.clean_stop=2 faults.min_isr_change=1"),
    May("broker_crash_lossy", it_leads, f"{PAIR} faults.lossy_crash=1"),
    May("broker_lose_disk", it_leads, f"{PAIR} faults.disk_loss=1"),
    May("broker_restart", nobody_leads, f"{PAIR} faults.crash=2"),
    May("broker_stop_cleanly", it_is_fenced, f"{PAIR} faults.clean_stop=1 faults.fence=1"),
    May("consumer_poll", another_is_in_its_place, f"{NEWEST} faults.leader_move=1 faults.consumer_crash=1"),
    May("follower_take_late_bytes", it_is_of_a_newer_epoch, f"{FOUR.replace('4.3', '3.8')} faults.leader_move=2"),
    May(
        "follower_take_late_bytes",
        always,
        f"{FOUR.replace('4.3', '3.8')} faults.leader_move=1 mechanism.older-epochs-dropped=on",
    ),
    May("controller_move_leader", two_answer, f"{ASKED} faults.leader_move=1"),
    May("controller_elect_uncleanly", one_answers, f"{ASKED} faults.crash=3 faults.unclean_election=1"),
    May("leader_answer_stalled_request", its_record_is_the_last_committed, f"{PAIR_TWO} faults.leader_move=2"),
    May("leader_ask_to_expand_isr", it_is_where_the_epoch_began, f"{NEWEST} faults.leader_move=1 faults.isr_shrink=1"),
    May("consumer_commit", nobody_leads, f"{PAIR} faults.crash=2 faults.consumer_crash=1"),
    May("controller_fence_dead", another_could_be_elected, f"{NEWEST} faults.crash=1"),
    May("broker_restart_clean", it_is_elected_as_eligible, f"{ELR} faults.clean_stop=2"),
    May("broker_restart", it_is_elected_as_the_last_leader, f"{ELR} faults.crash=2"),
    May("controller_fence_dead", the_next_is_down, f"{NEWEST} faults.crash=2"),
    May("controller_fence_dead", the_next_is_down, f"{NEWEST.replace('4.3', '1.0')} faults.crash=2"),
    May("leader_ask_to_expand_isr", the_follower_is_fenced, f"{PAIR.replace('4.3', '3.2')} faults.fence=1"),
    May(
        "rack_lose_power",
        an_unregistered_one_loses_its_log,
        f"{PAIR} faults.crash=1 faults.isr_shrink=1 faults.rack_loss=1 broker.rack=a,a",
    ),
    May("broker_learn_config", it_is_not_elected, f"{PAIR} faults.min_isr_change=1"),
    May("leader_append", too_few_are_in_sync, f"{ELR} acks=1 faults.isr_shrink=1"),
    May("controller_cancel_reassignment", too_few_remain, f"{ELR} faults.isr_shrink=1 faults.reassign=1"),
    May("leader_append_retry", another_is_in_its_place, f"{NEWEST} faults.leader_move=1 faults.producer_retry=1"),
    May("producer_send_lost_in_transit", the_leader_is_down, f"{PAIR} faults.crash=1 acks=0"),
    May("leader_answer_stalled_request", another_is_in_its_place, f"{TWO} faults.leader_move=1"),
    May("controller_assign_directory", nobody_leads, f"{ELR.replace('4.3', '4.1')} faults.crash=1 faults.fence=1"),
    May("controller_cancel_reassignment", nobody_leads, f"{OLDER} faults.crash=2 faults.reassign=1"),
    May("broker_delete_replica", it_led_before, f"{PAIR} faults.reassign=1"),
    May("broker_crash", it_is_fenced, f"{PAIR} faults.crash=1 faults.fence=1"),
    May("broker_lose_directory_cleanly", it_leads, f"{ELR} faults.disk_loss=1"),
    May("broker_create_log_anew", it_leads, f"{PAIR} faults.disk_loss=1 mechanism.offline-log-not-recreated=off"),
    May("consumer_crash", it_holds_a_record, f"{PAIR} faults.consumer_crash=1 consumer.commit=before-processing"),
    May("leader_append_retry", it_has_the_record, f"{PAIR} faults.producer_retry=1 enable.idempotence=false"),
    May(
        "leader_apply_answer",
        the_configuration_is_known,
        f"{PAIR} faults.isr_shrink=1 faults.min_isr_change=1 mechanism.isr-answer-waits-for-config=on",
    ),
]


def ask(row: May) -> tuple[System, Property]:
    """Return the system of a row, and the property that the action does not happen in the situation."""
    chosen = choose(read_settings(row.setting.split()))
    model = operated(chosen.model, None, True) if row.action == "controller_add_replica" else chosen.model
    system = bind(model, chosen.configuration)
    return system, Property("never", row.action, lambda k, s: k.not_(k.any_of(*_cases(k, s, system, row))), (), "")


def happens(row: May, states: int = 3_000_000) -> bool:
    """Return True if a search finds the action happening in the situation."""
    system, never = ask(row)
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
