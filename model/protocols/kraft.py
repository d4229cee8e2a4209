"""kraft: how today's Kafka replicates one partition; older versions are this one with mechanisms switched off.

The rules, each with its actions:

- The controller alone decides leader and ISR; every change moves the partition epoch, and every new leader the leader epoch
  (`controller/leader_election.py`).  Brokers learn of a change late, and in order (`broker/metadata.py`).
- A leader appends what producers send, and answers acks=all when the high watermark has passed the record.  The high watermark
  is the smallest log end offset of the ISR, and of every member that the leader has asked to add (`broker/leader.py`,
  `broker/high_watermark.py`; KIP-497).
- A follower fetches from the leader of its own leader epoch, truncates to where the two logs agree, appends, and takes the
  leader's high watermark (`broker/follower.py`; KIP-101, KIP-279, KIP-320, KAFKA-8334).
- A leader asks the controller to drop a follower that is behind, and to add one that has caught up in this leader epoch.  The
  controller refuses a request of an older partition epoch, a fenced replica, or an incarnation that has ended
  (`requests/isr_change.py`; KIP-497, KIP-841, KIP-903).
- A broker that the controller does not hear is fenced: it leaves the ISR and is not elected.  The last member stays in the
  ISR, unless eligible leader replicas are on.  Only a member of the ISR is elected, except by an unclean election
  (`controller/fencing.py`, `controller/leader_election.py`).
- A broker that stops without a clean shutdown may lose what it has not flushed, and by default Kafka acknowledges before it
  flushes (`lifecycle/stops.py`, `faults.py`).

No eligible leader replicas unless `eligible.leader.replicas` is true.

Source: Kafka 4.3: Partition, ReplicaManager, AbstractFetcherThread, ReplicationControlManager, PartitionChangeBuilder.
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
from neverlost.model.kraft.lifecycle.fetch_before_registration import UNREGISTERED_ACTIONS
from neverlost.model.kraft.lifecycle.stops import STOP_ACTIONS
from neverlost.model.kraft.requests.consumer import CONSUMER_ACTIONS
from neverlost.model.kraft.requests.isr_change import ISR_CHANGE_ACTIONS
from neverlost.model.kraft.sizes import sizes
from neverlost.model.kraft.snapshot import portrait
from neverlost.model.kraft.state import FROZEN, contradiction, fields, initial, is_symmetric, settle
from neverlost.model.limits import AT_ONCE

MODEL = Model(
    name="kraft",
    summary="Kafka (0.8 on) without ELR, the newest or that of kafka.version: late metadata, AlterPartition, fencing, stops",
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
        *UNREGISTERED_ACTIONS,
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
