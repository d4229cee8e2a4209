"""kraft: the replication protocol of Kafka 3.x and 4.x without eligible leader replicas."""

from __future__ import annotations

from model.kernel import Model
from model.modern_broker import broker_crash, broker_crash_lossy, broker_follow, broker_take_over, leader_learn_isr
from model.modern_controller import (
    broker_restart,
    controller_alter_isr,
    controller_fence_dead,
    controller_fence_live,
    controller_move_leader,
    controller_refuse_isr,
    controller_unfence,
)
from model.modern_follower import follower_take_response, follower_truncate
from model.modern_leader import leader_append, leader_ask_to_expand_isr, leader_ask_to_shrink_isr, leader_note_fetch
from model.modern_portrait import portrait
from model.modern_state import BUDGETS, FROZEN, fields, initial, sizes

MODEL = Model(
    name="kraft",
    summary="today's Kafka: late metadata, AlterPartition, fencing, unclean restarts (no ELR)",
    keys=(
        "replication.factor",
        "min.insync.replicas",
        "acks",
        "unclean.leader.election.enable",
        "election.policy",
        "flush.messages",
        *[f"faults.{each}" for each in BUDGETS],
        "bounds.records",
    ),
    sizes=sizes,
    fields=fields,
    initial=initial,
    actions=(
        leader_append,
        leader_note_fetch,
        follower_take_response,
        follower_truncate,
        leader_ask_to_expand_isr,
        leader_ask_to_shrink_isr,
        controller_alter_isr,
        controller_refuse_isr,
        leader_learn_isr,
        broker_take_over,
        broker_follow,
        controller_fence_dead,
        controller_fence_live,
        controller_unfence,
        controller_move_leader,
        broker_crash,
        broker_crash_lossy,
        broker_restart,
    ),
    guarantees=("acked-never-lost", "committed-never-lost", "log-matching", "single-leader-per-epoch"),
    frozen=FROZEN,
    portrait=portrait,
    symmetric=lambda configuration: configuration["election.policy"] != "preferred",
    source="Kafka 3.7 to 4.x with eligible.leader.replicas.version=0",
)
