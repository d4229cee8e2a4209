"""kraft-composed: a partition whose controller is a quorum, to see which acknowledged data is lost by losing metadata."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from neverlost.model.kernel import Configuration, Field, flag, number
from neverlost.model.protocols import kraft_quorum as quorum
from neverlost.model.quorum import mechanisms, partition, voters
from neverlost.model.snapshot import ClusterSnapshot


@dataclass(frozen=True)
class ComposedSizes(quorum.QuorumSizes):
    """The quorum's sizes, and how many copies the partition has."""

    copy: int = 2


def _of_quorum(configuration: Configuration) -> dict[str, Any]:
    """Return the configuration for the quorum's own functions, whose `replication.factor` is how many voters there are."""
    return dict(configuration) | {"replication.factor": configuration["quorum.voters"]}


def sizes(configuration: Configuration) -> ComposedSizes:
    """Return the sizes that a configuration needs."""
    found = quorum.sizes(_of_quorum(configuration))
    return ComposedSizes(**vars(found), copy=configuration["replication.factor"])


def fields(configuration: Configuration) -> tuple[Field, ...]:
    """Return the quorum's variables and the partition's."""
    size = sizes(configuration)
    return (
        *quorum.fields(_of_quorum(configuration)),
        flag("learn_committed", frozen=True),
        number("least_isr", 1, 7, frozen=True),
        number("decided_leader", 0, size.copy - 1, "record"),
        flag("decided_isr", "record", "copy"),
        number("learned", 0, size.record),
        flag("has_data", "copy"),
        flag("was_sent"),
        flag("ghost_data_acked"),
    )


def portrait(values: Mapping[str, Any]) -> ClusterSnapshot:
    """Return the controllers, and of the partition what brokers have learned and who has the record."""
    scene = quorum.portrait(values)
    has = ",".join(str(each + 1) for each, there in enumerate(values["has_data"]) if there) or "none"
    learned = values["learned"]
    known = ""
    if learned:
        isr = ",".join(str(each + 1) for each, there in enumerate(values["decided_isr"][learned - 1]) if there)
        known = f", leader {values['decided_leader'][learned - 1] + 1} ISR {isr}"
    notes = [f"brokers have learned decision {learned}{known}", f"brokers with the record: {has}"]
    notes += ["the record is acknowledged"] if values["ghost_data_acked"] else []
    return ClusterSnapshot(**{**vars(scene), "notes": (*scene.notes, *notes)})


MODEL = quorum.MODEL.differing(
    "kraft-composed",
    "a partition whose controller is a quorum: which acknowledged data is lost by losing metadata",
    keys=(
        "quorum.voters",
        "min.insync.replicas",
        *quorum.MODEL.keys,
        mechanisms.LEARN_COMMITTED.key,
    ),
    sizes=sizes,
    fields=fields,
    initial=lambda configuration: quorum.initial(_of_quorum(configuration)),
    actions=(
        *[each for each in quorum.MODEL.actions if each is not voters.controller_append],
        partition.controller_shrink,
        partition.controller_elect,
        partition.brokers_learn,
        partition.leader_append,
        partition.follower_fetch,
        partition.leader_acknowledge,
    ),
    guarantees=("data-outlives-metadata", *quorum.MODEL.guarantees),
    frozen={
        **quorum.MODEL.frozen,
        "learn_committed": lambda c: int(c[mechanisms.LEARN_COMMITTED.key]),
        "least_isr": lambda c: c["min.insync.replicas"],
    },
    defaults={
        **quorum.MODEL.defaults,
        mechanisms.LEARN_COMMITTED.key: True,
        "bounds.records": 2,
        "bounds.max_leader_epoch": 2,
        "replication.factor": 2,
    },
    portrait=portrait,
)
