"""The topics that Kafka's own programs write, with the acks of their writers and the settings that make them.

Source: `TransactionLog.EnforcedRequiredAcks`, `GroupCoordinatorConfig` (`offsets.commit.required.acks`, -1 until it was removed
in 4.0), `ShareCoordinatorConfig`, Connect's `KafkaBasedLog.createProducer` ("all"), and Schema Registry's `KafkaStore` (-1).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from neverlost.specs.setting import Notice, NoticeKind, Origin, Setting, Settings

REQUIRED_ACKS = "offsets.commit.required.acks"
BROKERS = "server.properties of every broker"
WORKERS = "configuration of every Connect worker"


@dataclass(frozen=True)
class InternalTopic:
    """A topic by a pattern of its name: who writes it, and the keys, in the writer's `file`, of the replication factor
    (`factor`) and the min ISR (`least`, "" where there is no such key) with which the writer creates it."""

    pattern: str
    writer: str
    factor: str
    least: str
    file: str
    is_certain: bool = True


INTERNAL = (
    InternalTopic("__consumer_offsets", "the group coordinator", "offsets.topic.replication.factor", "", BROKERS),
    InternalTopic(
        "__transaction_state",
        "the transaction coordinator",
        "transaction.state.log.replication.factor",
        "transaction.state.log.min.isr",
        BROKERS,
    ),
    InternalTopic(
        "__share_group_state",
        "the share coordinator",
        "share.coordinator.state.topic.replication.factor",
        "share.coordinator.state.topic.min.isr",
        BROKERS,
    ),
    InternalTopic(r"connect-(.+-)?configs?(-.+)?", "Kafka Connect", "config.storage.replication.factor", "", WORKERS, False),
    InternalTopic(r"connect-(.+-)?offsets?(-.+)?", "Kafka Connect", "offset.storage.replication.factor", "", WORKERS, False),
    InternalTopic(r"connect-(.+-)?status(es)?(-.+)?", "Kafka Connect", "status.storage.replication.factor", "", WORKERS, False),
    InternalTopic("_schemas", "Schema Registry", "kafkastore.topic.replication.factor", "", "Schema Registry's file", False),
)
"""The topics; one that is not certain is known by a usual name, which an application's topic could have too."""


@cache
def internal_topic(name: str) -> InternalTopic | None:
    """Return what is known of a topic that, by its name, a program of Kafka writes; None for any other name."""
    return next((each for each in INTERNAL if re.fullmatch(each.pattern, name)), None)


def acks_of_writer(name: str, server: Settings) -> tuple[Setting, tuple[Notice, ...]] | None:
    """Return the acks with which a program of Kafka writes its own topic, and notices of what is assumed; None for others.
    `server` are the brokers' settings, which may set the acks of `__consumer_offsets`."""
    found = internal_topic(name)
    if found is None:
        return None
    stated = server.get(REQUIRED_ACKS) if name == "__consumer_offsets" else None
    if stated is not None and stated.value.strip() in ("0", "1"):
        return Setting(stated.value.strip(), stated.where), ()
    says = f"{found.writer} writes {name} with acks=all"
    if found.is_certain:
        return Setting("all", says, Origin.DEFAULT), ()
    usual = re.sub(r"\(.*", "*", found.pattern)
    notice = f"topics named {usual} are taken for those of {found.writer}, which writes with acks=all"
    remedy = "where an application writes it, say so with --applications"
    return Setting("all", f"{says}, by its name", Origin.ASSUMED), (Notice(NoticeKind.ASSUMED, notice, "", remedy, (name,)),)
