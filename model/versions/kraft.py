"""kraft: the replication protocol of today's Kafka; older versions are this one with mechanisms switched off.

Without ELR unless `eligible.leader.replicas` says otherwise.
"""

from __future__ import annotations

from neverlost.model.faults import FAULTS
from neverlost.model.kernel import Model
from neverlost.model.kraft import mechanisms
from neverlost.model.kraft.broker.follower import FOLLOWER_ACTIONS
from neverlost.model.kraft.broker.leader import LEADER_ACTIONS
from neverlost.model.kraft.broker.metadata import METADATA_ACTIONS, broker_learn_config
from neverlost.model.kraft.controller.fencing import FENCING_ACTIONS
from neverlost.model.kraft.controller.operator import OPERATOR_ACTIONS
from neverlost.model.kraft.controller.reassignment import REASSIGNMENT_ACTIONS
from neverlost.model.kraft.requests.consumer import CONSUMER_ACTIONS
from neverlost.model.kraft.requests.isr_change import ISR_CHANGE_ACTIONS
from neverlost.model.kraft.requests.stops import STOP_ACTIONS
from neverlost.model.kraft.scene import portrait
from neverlost.model.kraft.sizes import sizes
from neverlost.model.kraft.state import FROZEN, contradiction, fields, initial, is_symmetric, settle
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
        *LEADER_ACTIONS,
        *FOLLOWER_ACTIONS,
        *ISR_CHANGE_ACTIONS,
        *METADATA_ACTIONS,
        *FENCING_ACTIONS,
        *OPERATOR_ACTIONS,
        broker_learn_config,
        *REASSIGNMENT_ACTIONS,
        *STOP_ACTIONS,
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
