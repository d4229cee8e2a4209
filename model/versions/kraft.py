"""kraft: the replication protocol of today's Kafka; older versions are this one with mechanisms switched off.

Without ELR unless `eligible.leader.replicas` says otherwise.
"""

from __future__ import annotations

from neverlost.model.kernel import Model
from neverlost.model.kraft import mechanisms
from neverlost.model.kraft.consumer import CONSUMER_ACTIONS
from neverlost.model.kraft.controller.fencing import controller_fence_dead, controller_fence_live, controller_unfence
from neverlost.model.kraft.controller.operator import (
    controller_assign_directory,
    controller_elect_uncleanly,
    controller_move_leader,
    controller_set_min_isr,
)
from neverlost.model.kraft.controller.reassignment import (
    broker_delete_replica,
    controller_cancel_reassignment,
    controller_cancel_reassignment_uncleanly,
    controller_reassign,
)
from neverlost.model.kraft.faults import FAULTS
from neverlost.model.kraft.follower import follower_note_high_watermark, follower_take_response, follower_truncate
from neverlost.model.kraft.isr_change import (
    controller_alter_isr,
    controller_refuse_isr,
    leader_ask_to_expand_isr,
    leader_ask_to_shrink_isr,
    leader_drop_pending_isr,
)
from neverlost.model.kraft.leader import leader_append, leader_append_retry, leader_note_fetch, producer_send_lost_in_transit
from neverlost.model.kraft.metadata import (
    broker_apply_leadership,
    broker_follow,
    broker_learn_config,
    leader_apply_answer,
    leader_learn_isr,
    leader_replay_own_change,
)
from neverlost.model.kraft.scene import portrait
from neverlost.model.kraft.sizes import sizes
from neverlost.model.kraft.state import FROZEN, contradiction, fields, initial, is_symmetric, settle
from neverlost.model.kraft.stops import (
    broker_bounce,
    broker_crash,
    broker_crash_lossy,
    broker_lose_directory_cleanly,
    broker_lose_disk,
    broker_restart,
    broker_restart_clean,
    broker_stop_cleanly,
    rack_lose_power,
)
from neverlost.model.limits import AT_ONCE

MODEL = Model(
    name="kraft",
    summary="today's Kafka: late metadata, AlterPartition, fencing, unclean shutdown; no ELR",
    keys=(
        "replication.factor",
        "min.insync.replicas",
        "acks",
        "enable.idempotence",
        "unclean.leader.election.enable",
        "eligible.leader.replicas",
        "election.policy",
        "flush.messages",
        "consumer.commit",
        "broker.rack",
        "defects",
        *[each.key for each in FAULTS],
        AT_ONCE,
        "start.outside_isr",
        "bounds.records",
        *mechanisms.KEYS,
    ),
    sizes=sizes,
    fields=fields,
    initial=initial,
    actions=(
        leader_append,
        leader_append_retry,
        producer_send_lost_in_transit,
        leader_note_fetch,
        follower_take_response,
        follower_truncate,
        follower_note_high_watermark,
        leader_ask_to_expand_isr,
        leader_ask_to_shrink_isr,
        controller_alter_isr,
        controller_refuse_isr,
        leader_drop_pending_isr,
        leader_learn_isr,
        leader_apply_answer,
        leader_replay_own_change,
        broker_apply_leadership,
        broker_follow,
        controller_fence_dead,
        controller_fence_live,
        controller_unfence,
        controller_move_leader,
        controller_elect_uncleanly,
        controller_set_min_isr,
        controller_assign_directory,
        broker_learn_config,
        controller_reassign,
        controller_cancel_reassignment,
        controller_cancel_reassignment_uncleanly,
        broker_delete_replica,
        broker_crash,
        broker_crash_lossy,
        broker_lose_disk,
        rack_lose_power,
        broker_stop_cleanly,
        broker_lose_directory_cleanly,
        broker_restart,
        broker_restart_clean,
        broker_bounce,
        *CONSUMER_ACTIONS,
    ),
    guarantees=("acked-never-lost", "committed-never-lost", "log-matching", "single-leader-per-epoch"),
    frozen=FROZEN,
    defaults=mechanisms.DEFAULTS,
    portrait=portrait,
    contradiction=contradiction,
    symmetric=is_symmetric,
    normalise=settle,
    source="apache/kafka core and metadata, 0.8 to 4.x; see model/kraft/mechanisms.py",
)
