"""The observable model, with brokers that remember their high watermark when they start.

The protocol's model starts with a high watermark of 0 (decision 014): a lower one hides no loss.  But a cluster shows a higher
one, read from `replication-offset-checkpoint`, while too few replicas are in sync for it to be raised again.

Source: ReplicaManager.startHighWatermarkCheckPointThread, Partition.createLog (`offsetCheckpoints.fetch`),
UnifiedLog.updateHighWatermark (never above the log end).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from model.kernel import NOBODY, Clauses, action
from model.observable import MODEL, somebody


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
