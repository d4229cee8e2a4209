"""A truncation as Kafka makes it: in as many fetches as there are epochs to drop.

The model's `follower_truncate` drops them in one step; `tests/model/test_reductions.py` compares the two.
"""

from __future__ import annotations

from neverlost.model.kernel import Clauses, Primitives, Value, action, different, smaller
from neverlost.model.kraft.broker.follower import lower_high_watermark
from neverlost.model.kraft.broker.leader import is_answered, logs_agree
from neverlost.model.kraft.broker.log import EMPTY, agreed_end, epoch_of, last_epoch, offsets, truncate_to
from neverlost.model.system import View


@action(
    follower="replica",
    leader="replica",
    where=different,
    says="broker {follower} truncates as one answer of {leader} says",
)
def follower_truncate_in_part(k: Primitives, s: View, follower: int, leader: int) -> Clauses:
    """The follower drops what is beyond the newest epoch that both may have, and has to ask again.

    The leader answers with its newest epoch that is no newer than the follower's last one, and that epoch's end; the follower
    keeps its own records of no newer epoch than that and, if it knows that epoch, no more than to that end.

    Source: Partition.readRecords (`divergingEpoch`), AbstractFetcherThread.getOffsetTruncationState.
    """
    if not s.sizes.epochs:
        yield "a record's epoch is known", False
        return
    yield "in the leader's epoch", is_answered(k, s, follower, leader)
    yield "bound: logs diverge", k.not_(logs_agree(k, s, follower, leader))
    newest = last_epoch(k, s, follower)
    known: Value = -1
    theirs: Value = 0
    for offset in offsets(s):
        epoch = epoch_of(k, s, s.log_record[leader][offset])
        is_old = k.all_of(s.log_record[leader][offset] != EMPTY, epoch <= newest)
        known, theirs = k.ite(is_old, epoch, known), k.ite(is_old, offset + 1, theirs)
    own: Value = 0
    is_known: Value = False
    for offset in offsets(s):
        here = s.log_record[follower][offset]
        own = k.ite(k.all_of(here != EMPTY, epoch_of(k, s, here) <= known), offset + 1, own)
        is_known = k.any_of(is_known, k.all_of(here != EMPTY, epoch_of(k, s, here) == known))
    end = k.ite(is_known, smaller(k, theirs, own), own)
    yield "bound: the next answer truncates further", end > agreed_end(k, s, follower, leader)
    truncate_to(k, s, follower, end)
    lower_high_watermark(k, s, follower)
