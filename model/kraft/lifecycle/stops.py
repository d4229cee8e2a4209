"""How a broker stops and starts again: what it keeps on disk, what it loses, and what the controller makes of it.

Source: BrokerLifecycleManager, BrokerServer.shutdown, ClusterControlManager.registerBroker, UnifiedLog, LogManager.
"""

from __future__ import annotations

from neverlost.model.faults import CLEAN_STOP, DISK_LOSS, KILL, LOSSY_CRASH, RACK_LOSS, Fault
from neverlost.model.kernel import NO_REPLICA, Clauses, Primitives, Value, action
from neverlost.model.kraft.broker.follower import forget_response
from neverlost.model.kraft.broker.leader import forget_late_response, forget_leadership
from neverlost.model.kraft.broker.log import EMPTY, truncate_to
from neverlost.model.kraft.controller.fencing import fence, is_not_elected, register
from neverlost.model.kraft.state import ELECTED, UNCHANGED, UP_TO_DATE, everyone
from neverlost.model.limits import fault_enabled, harmless_loss_enabled, record_fault
from neverlost.model.system import View


def stop(k: Primitives, s: View, broker: int) -> None:
    """Effect: the broker's process ends, and with it all that it had in memory; its log stays."""
    s.is_running[broker] = False
    if s.sizes.config_change:
        s.min_isr_known[broker] = UNCHANGED
        s.configuration_to_come[broker] = False
    forget_leadership(k, s, broker)
    forget_late_response(k, s, broker)
    if s.sizes.late_bytes:
        for each in everyone(s):
            forget_late_response(k, s, each, s.late_sender[each] == broker)
    s.follows[broker] = NO_REPLICA
    forget_response(k, s, broker)
    s.high_watermark[broker] = 0
    led = s.leader == broker
    s.leader_knows = k.ite(led, ELECTED, s.leader_knows)
    s.leader_epoch_start_offset = k.ite(led, 0, s.leader_epoch_start_offset)
    s.request_outdated = k.all_of(k.not_(led), s.request_outdated)
    s.record_to_come = k.all_of(k.not_(led), s.record_to_come)
    if s.sizes.requests_stall:
        stood = s.stalled_on == broker
        s.stalled_on = k.ite(stood, NO_REPLICA, s.stalled_on)
        s.stalled_record = k.ite(stood, 0, s.stalled_record)
        s.stalled_offset = k.ite(stood, 0, s.stalled_offset)
    if not s.sizes.fenced_fetch:
        s.is_stale[broker] = False


def start(k: Primitives, s: View, broker: int) -> None:
    """Effect: the broker runs; an older request to add it to the ISR is outdated if it names a broker epoch (KIP-903)."""
    open_logs(s, broker)
    asked = [k.all_of(s.leader == each, s.leader_knows == UP_TO_DATE, s.pending[each] == broker) for each in everyone(s)]
    outdated = k.any_of(s.request_outdated, *asked)
    if s.sizes.fetches_unregistered:
        s.follows[broker] = NO_REPLICA
        s.high_watermark[broker] = 0
        forget_response(k, s, broker)
        outdated = k.all_of(outdated, k.not_(s.request_names_no_epoch))
    s.request_outdated = k.all_of(s.broker_epoch_in_isr, outdated)
    if s.sizes.copies_requests:
        names_none = s.forgotten_names_no_epoch if s.sizes.fetches_unregistered else False
        s.forgotten = k.ite(k.all_of(s.broker_epoch_in_isr, s.forgotten == broker, k.not_(names_none)), NO_REPLICA, s.forgotten)


def open_logs(s: View, broker: int) -> None:
    """Effect: the broker runs, and knows nothing of the partition.

    Its log is opened with the configuration that the topic has now: a broker is unfenced once it has replayed its registration.
    """
    s.is_running[broker] = True
    if s.sizes.config_change:
        s.min_isr_known[broker] = s.min_isr_changed
    if not s.sizes.fenced_fetch:
        s.is_stale[broker] = True


def crash(k: Primitives, s: View, broker: int) -> Clauses:
    """Clauses: a running broker may be killed.  Effect: the kill is counted; the log stays, and the caller ends the process."""
    yield from fault_enabled(k, s, KILL, broker)
    yield "broker is running", s.is_running[broker]
    record_fault(s, KILL, broker)


def crash_unflushed(k: Primitives, s: View, broker: int, kept: int) -> Clauses:
    """Clauses and effect: a running broker loses its log from `kept` on (past any log: none); the caller ends its process."""
    yield from fault_enabled(k, s, LOSSY_CRASH, broker)
    yield "broker is running", s.is_running[broker]
    if kept == s.sizes.offset:
        yield from harmless_loss_enabled(s)
    yield from can_lose_end(k, s, broker, kept)
    record_fault(s, LOSSY_CRASH, broker)
    truncate_to(k, s, broker, kept)


def has_process(k: Primitives, s: View, broker: int) -> Value:
    """Return True if a broker runs, or has started and not yet registered."""
    if not s.sizes.fetches_unregistered:
        return s.is_running[broker]
    return k.any_of(s.is_running[broker], s.follows[broker] != NO_REPLICA)


def can_lose_end(k: Primitives, s: View, broker: int, kept: int) -> Clauses:
    """Clauses: a log may lose what it has from `kept` on, since something is there and records are not flushed one by one.

    To lose nothing is always allowed: `kept` is then the offset past every log, and no other offset stands for it.
    """
    if kept < s.sizes.offset:
        yield "records are not flushed one by one", k.not_(s.flushes_each_record)
        yield "bound: something is lost", s.log_record[broker][kept] != EMPTY


def lose_disk(k: Primitives, s: View, broker: int) -> Clauses:
    """Clauses: a running broker may lose its disk.  Effect: that is counted, its log is empty; the caller ends the process."""
    yield from fault_enabled(k, s, DISK_LOSS, broker)
    yield "broker is running", s.is_running[broker]
    record_fault(s, DISK_LOSS, broker)
    truncate_to(k, s, broker, 0)


@action(broker="replica", says="unclean shutdown of broker {broker}, log intact", fault="kill")
def broker_crash(k: Primitives, s: View, broker: int) -> Clauses:
    """The process dies and the page cache survives, so nothing is lost that was appended.  It starts again in a later step."""
    yield from crash(k, s, broker)
    stop(k, s, broker)


@action(broker="replica", kept="kept", says="broker {broker} loses power{kept}", fault="lossy_crash")
def broker_crash_lossy(k: Primitives, s: View, broker: int, kept: int) -> Clauses:
    """The machine dies: Kafka acknowledges records before they are on disk, unless `flush.messages` is 1.  Any part of what is
    not on disk may be lost, or nothing: then it is a kill.

    What was acknowledged rests on the copies in other page caches.  With the ISR shrunk to this broker there is none: the last
    replica standing, for which KIP-966 keeps the ELR.
    """
    yield from crash_unflushed(k, s, broker, kept)
    stop(k, s, broker)


@action(broker="replica", says="broker {broker} stops and its log directory is replaced by an empty one", fault="disk_loss")
def broker_lose_disk(k: Primitives, s: View, broker: int) -> Clauses:
    """The broker stops and its log is gone: when it starts, in a later step, nothing on its disk says that it had one."""
    yield from lose_disk(k, s, broker)
    stop(k, s, broker)


@action(rack="rack", parts="parts", says="rack {rack} loses power{parts}", fault="rack_loss")
def rack_lose_power(k: Primitives, s: View, rack: int, parts: int) -> Clauses:
    """One cut for the whole rack: what each of its brokers keeps of its log, a part or all, does not depend on the others."""
    kept = s.sizes.parts_kept(rack, parts)
    yield "bound: so many brokers are in the rack", parts < (s.sizes.offset + 1) ** len(kept)
    yield from fault_enabled(k, s, RACK_LOSS, *kept)
    yield "bound: a broker runs there", k.any_of(*[s.is_running[each] for each in kept])
    for each, end in kept.items():
        yield "a process that ends", True if end == s.sizes.offset else has_process(k, s, each)
        yield from can_lose_end(k, s, each, end)
    record_fault(s, RACK_LOSS, *kept)
    for each, end in kept.items():
        truncate_to(k, s, each, end)
        stop(k, s, each)


@action(broker="replica", outcome="outcome", says="broker {broker} starts and registers")
def broker_restart(k: Primitives, s: View, broker: int, outcome: int) -> Clauses:
    """A broker starts as a new incarnation once the old one's session has expired; a request that names the old is outdated.

    To register earlier is refused (DUPLICATE_BROKER_REGISTRATION, KIP-631): the old incarnation leaves the ISR first, or it
    would stay there with less than it had (KAFKA-7235).  With ELR, `broker_restart_clean` is for clean shutdowns.
    """
    yield "broker is down", k.not_(s.is_running[broker])
    yield "old session has expired", s.is_fenced[broker]
    if s.sizes.elr:
        yield "unclean shutdown", k.not_(s.stopped_cleanly[broker])
    yield from register(k, s, broker, outcome, is_unclean=True)
    start(k, s, broker)


@action(broker="clean_stop", outcome="outcome", says="broker {broker} starts and registers after a clean shutdown")
def broker_restart_clean(k: Primitives, s: View, broker: int, outcome: int) -> Clauses:
    """A broker that stopped cleanly starts: its clean-shutdown file names the registered epoch, so it stays in the ELR."""
    yield "broker is down", k.not_(s.is_running[broker])
    yield "clean shutdown", s.stopped_cleanly[broker]
    yield from register(k, s, broker, outcome, is_unclean=False)
    s.stopped_cleanly[broker] = False
    start(k, s, broker)


@action(broker="bounce", says="broker {broker} restarts within its session, unnoticed by the controller")
def broker_bounce(k: Primitives, s: View, broker: int) -> Clauses:
    """A broker that is not leader starts within its session, and stays in the ISR with what is left of its log (KAFKA-7235).

    Since KIP-380 a registration names a broker epoch, and the controller fences the old incarnation first.
    """
    yield "broker is down", k.not_(s.is_running[broker])
    yield "session is still valid", k.not_(s.is_fenced[broker])
    yield "not the leader", s.leader != broker
    start(k, s, broker)


def shut_down(k: Primitives, s: View, broker: int, outcome: int, fault: Fault) -> Clauses:
    """Clauses and effect of a controlled shutdown: the broker is fenced, out of ISR and leadership; then its process ends.

    A fenced broker is granted its shutdown at once: there is nothing to move.
    """
    yield from fault_enabled(k, s, fault, broker)
    yield "broker is running", s.is_running[broker]
    yield from fence(k, s, broker, outcome)
    record_fault(s, fault, broker)
    if s.sizes.elr:
        s.stopped_cleanly[broker] = True
    stop(k, s, broker)


@action(
    broker="controlled_shutdown",
    outcome="outcome",
    where=is_not_elected,
    says="controlled shutdown of broker {broker}",
    fault="clean_stop",
)
def broker_stop_cleanly(k: Primitives, s: View, broker: int, outcome: int) -> Clauses:
    """The broker writes its clean-shutdown file, so with ELR it stays eligible: its log is whole.

    Without the file a broker that returns counts as one that has lost records (KIP-966).
    """
    yield from shut_down(k, s, broker, outcome, CLEAN_STOP)


@action(
    broker="clean_stop",
    outcome="outcome",
    where=is_not_elected,
    says="controlled shutdown of broker {broker}, whose log directory is then taken out of log.dirs",
    fault="disk_loss",
)
def broker_lose_directory_cleanly(k: Primitives, s: View, broker: int, outcome: int) -> Clauses:
    """The clean-shutdown file of another directory is enough to stay in the ELR, with an empty log.

    Source: LogManager.readBrokerEpochFromCleanShutdownFiles, Partition.createLogInAssignedDirectoryId.
    """
    yield "clean-shutdown files are looked for where the broker has directories now", k.not_(s.missing_directory_is_unclean)
    yield from shut_down(k, s, broker, outcome, DISK_LOSS)
    truncate_to(k, s, broker, 0)


@action(broker="replica", says="broker {broker} loses a log directory and creates its log anew, empty", fault="disk_loss")
def broker_create_log_anew(k: Primitives, s: View, broker: int) -> Clauses:
    """A broker runs on with a new, empty log; the controller takes its replica to be what it was (KAFKA-16234).

    With `offline-log-not-recreated` the replica stays offline instead, and the controller takes it out of the ISR.
    """
    yield "an offline log is created anew", k.not_(s.offline_log_not_recreated)
    yield from lose_disk(k, s, broker)
    stop(k, s, broker)
    open_logs(s, broker)


@action(broker="clean_stop", says="broker {broker} fails to start and marks its log directories as cleanly shut down")
def broker_fail_to_start(k: Primitives, s: View, broker: int) -> Clauses:
    """A start that fails leaves the clean-shutdown file to the next, of logs that were never recovered (KAFKA-15375).

    In the models what follows from it is that the broker counts as one that stopped cleanly.
    """
    yield "a start that fails marks directories", k.not_(s.failed_start_leaves_no_marker)
    yield "broker is down", k.not_(s.is_running[broker])
    yield "bound: unclean shutdown", k.not_(s.stopped_cleanly[broker])
    s.stopped_cleanly[broker] = True


STOP_ACTIONS = (
    broker_crash,
    broker_crash_lossy,
    broker_lose_disk,
    rack_lose_power,
    broker_stop_cleanly,
    broker_lose_directory_cleanly,
    broker_restart,
    broker_restart_clean,
    broker_bounce,
    broker_create_log_anew,
    broker_fail_to_start,
)
