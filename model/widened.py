"""The observable model, widened where the protocol's model leaves out what hides no loss but is seen of a cluster.

A broker that starts has a high watermark of 0 in the protocol's model (decision 014).  A cluster shows the one that was written
down in `replication-offset-checkpoint`, also while too few replicas are in sync for it to be raised again.

A replica that was removed does not fetch any more there.  A cluster's does until it hears of that, and its old leader, who has
not heard either, raises the high watermark by it.

Source: Partition.createLog (`offsetCheckpoints.fetch`), UnifiedLog.updateHighWatermark (never above the log end);
ReplicaManager.applyDelta (a removed replica's fetcher stops when the metadata arrive).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from model.kernel import NOBODY, Clauses, Configuration, action
from model.observable import MODEL, somebody
from model.system import System, bind


@action(broker="replica", says="broker {broker} starts with the high watermark that it had written down")
def broker_remember_high_watermark(k: Any, s: Any, broker: int) -> Clauses:
    """Its checkpoint may be that old, or as new as the commits that anybody saw."""
    yield "broker is running", s.is_running[broker]
    yield "has not heard of a leader", s.follows[broker] == NOBODY
    yield "bound: nothing known yet", s.high_watermark[broker] == 0
    here = s.log_record[broker][0]
    seen = [k.all_of(here == record + 1, s.is_visible[record]) for record in range(somebody(s))]
    yield "was below a leader's high watermark", k.any_of(here == somebody(s) + 1, *seen)
    s.high_watermark[broker] = 1


OBSERVED = replace(MODEL, name="kraft-observed", actions=(*MODEL.actions, broker_remember_high_watermark))
"""What histories are held against."""

UNAWARE = ("follower_take_response", "a replica")
"""The clause that a replica without the newest metadata does not know of."""


def observed_system(configuration: Configuration) -> System:
    """The widened model with its sizes."""
    return bind(OBSERVED, configuration, disabled=[UNAWARE] if configuration["faults.reassign"] else [])
