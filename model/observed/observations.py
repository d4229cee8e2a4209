"""What is seen of a cluster, as actions: an observation's guard is what must be true when it is made.

Source: KafkaApis.handleListOffsetRequest (KIP-207) for what a leader shows of its high watermark.
"""

from __future__ import annotations

from neverlost.model.kernel import Clauses, Primitives, action
from neverlost.model.kraft.broker.leader import leads
from neverlost.model.kraft.state import ELECTED
from neverlost.model.system import View

ANY_EPOCH, NEWEST_EPOCH, OLDER_EPOCH = range(3)
"""Which leader epoch an observed high watermark belongs to."""


@action(change="one", says="the controller shows its metadata")
def metadata_shows(k: Primitives, s: View, change: int) -> Clauses:
    """The metadata were looked at: that asks for nothing and changes nothing, and the observer compares what was seen."""
    yield "metadata", True


@action(record="record", says="the producer sends record {record}")
def producer_sends(k: Primitives, s: View, record: int) -> Clauses:
    """The record is handed to the client, as a history names the moment: from here on it may be appended."""
    yield "a record", True
    s.is_sent[record] = True


@action(record="record", says="record {record} at the tracked offset is acknowledged to the producer")
def producer_is_notified(k: Primitives, s: View, record: int) -> Clauses:
    """An acknowledgement was seen, so by then the record was acknowledged, as the producer's acks ask for it."""
    yield "acknowledged", s.ghost_acked[record]


@action(record="record", says="a consumer reads record {record} at the tracked offset")
def consumer_reads(k: Primitives, s: View, record: int) -> Clauses:
    """A consumer shows only what is below a leader's high watermark, so by then a leader had raised it past the record."""
    yield "was below a leader's high watermark", s.is_visible[record]


@action(record="record", says="record {record} is seen at another offset")
def record_stands_elsewhere(k: Primitives, s: View, record: int) -> Clauses:
    """The record was not and will not be appended at the tracked offset; where clients may send again nothing follows."""
    repeats = s.sizes.retried > 0
    yield "not at the tracked offset", k.any_of(repeats, k.not_(s.is_written[record]))
    s.is_sent[record] = k.all_of(repeats, s.is_sent[record])


@action(broker="replica", value="two", epoch="epoch", says="leader {broker} shows a high watermark")
def leader_shows_high_watermark(k: Primitives, s: View, broker: int, value: int, epoch: int) -> Clauses:
    """A leader shows its high watermark, as `value` 1 if beyond the tracked offset, else 0: at most the model's, which is
    eager, and no less than the same leader showed before in its epoch."""
    yield "believes it is leader", leads(s, broker)
    is_newest = k.all_of(s.leader == broker, s.leader_knows != ELECTED)
    yield "leader epoch", k.any_of(epoch == ANY_EPOCH, k.ite(is_newest, epoch == NEWEST_EPOCH, epoch == OLDER_EPOCH))
    yield "not below what it showed before", s.shown[broker] <= value
    yield "not above what its in-sync replicas have", s.high_watermark[broker] >= value
    s.shown[broker] = value


@action(broker="replica", content="content", says="the log of broker {broker} shows {content} at the tracked offset")
def disk_shows(k: Primitives, s: View, broker: int, content: int) -> Clauses:
    """The log has this content at the tracked offset: 0, it ends before; else the record's number, counted from 1."""
    yield "content", s.log_record[broker][0] == content


OBSERVATIONS = (
    metadata_shows,
    producer_sends,
    producer_is_notified,
    consumer_reads,
    record_stands_elsewhere,
    leader_shows_high_watermark,
    disk_shows,
)
"""Actions that are an observation and nothing else."""
