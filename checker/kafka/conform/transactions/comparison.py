"""Compares the model of transactions with Kafka's TransactionMetadata and UnifiedLog (ProducerStateManager).

What decides is little: what the coordinator knows, or what a partition has seen, and the request.  So every combination is put
to the class and to the model, whether it can be reached or not, which is the comparison in both directions.  Then every
transition of complete reachable sets is looked up among them: it must do what its combination does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

from neverlost.checker.engine.engines.explore import explore_graph
from neverlost.checker.kafka.conform.cases.comparison import Difference, Tally
from neverlost.checker.kafka.conform.cases.settings import ConformSetting
from neverlost.checker.kafka.conform.java.jvm import MissingClass, java_class, kafka_class
from neverlost.checker.kafka.conform.java.kafka import Kafka
from neverlost.checker.kafka.conform.transactions import kafka_side
from neverlost.model.interpreters import ints
from neverlost.model.system import State, System, bind
from neverlost.model.transactions import state as known_as
from neverlost.model.transactions.partition import takes_marker
from neverlost.model.transactions.state import APPROVED, COMMIT, OPEN, OUTDATED, PREPARE_ABORT, PREPARE_COMMIT
from neverlost.specs.configuration.choose import choose, read_settings

MODELS = (((4, 2), "transactions"), ((4, 0), "transactions-4.1"), ((3, 7), "transactions-3.9"), ((3, 6), "transactions-3.6"))
EPOCHS = range(-1, 3)
"""Producer epochs of the cases; -1 is none yet."""

MOVES = "faults.coordinator_move=1 faults.marker_retry=1"
SIZES = (
    f"bounds.producers=1 bounds.partitions=1 {MOVES} faults.late_request=1",
    f"bounds.producers=1 bounds.partitions=2 {MOVES}",
    f"bounds.producers=2 bounds.partitions=1 {MOVES}",
)
"""Settings all of whose reachable states are taken; each needs the fields of late markers and of moves."""

SHORT_SIZES = (f"bounds.producers=1 bounds.partitions=1 {MOVES}",)
ATTEMPT, OTHER, PARTITION = 0, 1, 0
"""The request of each case, the one before it, and their partition."""


def settings(kafka: Kafka, short: bool) -> list[ConformSetting]:
    """Return the settings of a Kafka version: for each transaction version that it has each size, or each `short` one."""
    minor = tuple(map(int, kafka.minor.split(".")))
    model = next((name for since, name in MODELS if since <= minor), "transactions-3.5")
    versions = (1, 2) if minor >= (4, 0) else (1,)
    texts = [
        f"model={model} transaction.version={version} {size}"
        for version in versions
        for size in (SHORT_SIZES if short else SIZES)
    ]
    return [setting(each) for each in texts]


def setting(text: str) -> ConformSetting:
    chosen = choose(read_settings(text.split()))
    return ConformSetting(text, bind(chosen.model, chosen.configuration))


Projected = tuple[Any, ...]


@dataclass(frozen=True)
class TransactionOutcome:
    """The outcome of an event or a request, and what is known after it; `known` is empty if it was refused."""

    outcome: str
    known: Projected = ()

    def __str__(self) -> str:
        return f"{self.outcome} {self.known}" if self.known else self.outcome


REFUSED = TransactionOutcome("refused")


class TransactionModel:
    """The model, asked about states that are made for one question."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.slots = {slot.name: number for number, slot in enumerate(system.slots)}
        self.steps = {step.label: step for step in system.steps}
        self.start = system.initial_states()[0][1]

    def made(self, **values: int) -> State:
        """Return the initial state with other values; `request__0__1` is `request[0][1]`."""
        found = list(self.start)
        for name, value in values.items():
            field, *index = name.split("__")
            found[self.slots[field + "".join(f"[{each}]" for each in index)]] = value
        return tuple(found)

    def after(self, state: State, *labels: str) -> tuple[str, State] | None:
        """Return the label of the first step that is possible, and the state that it leads to; None if none is possible."""
        for each in labels:
            found = ints.take(self.system, state, self.steps[each])
            if found is not None:
                return each, found
        return None

    def value(self, state: State, name: str) -> int:
        return state[self.slots[name]]


# the coordinator

COORDINATOR = ("init", "bump", "add", "commit", "abort", "time out", "complete")


def coordinator_known(asked: TransactionModel, state: State) -> kafka_side.Known:
    partitions = range(asked.system.sizes["partition"])
    inside = frozenset(each for each in partitions if asked.value(state, f"in_transaction[{each}]"))
    return asked.value(state, "transaction_state"), asked.value(state, "producer_epoch"), inside


def coordinator_cases(asked: TransactionModel) -> Iterator[tuple[str, kafka_side.Known]]:
    """Yield every event with all that the coordinator may know: partitions only if ongoing or prepared, and without an epoch
    (-1) only `init` in the empty state."""
    partitions = range(asked.system.sizes["partition"])
    subsets = [frozenset(some) for size in range(len(partitions) + 1) for some in combinations(partitions, size)]
    for number, epoch, inside in product(range(known_as.COMPLETE_ABORT + 1), EPOCHS, subsets):
        is_open = known_as.ONGOING <= number <= PREPARE_ABORT
        if (epoch < 0 and number != known_as.EMPTY) or (inside and not is_open):
            continue
        for event in COORDINATOR:
            if epoch >= 0 or event == "init":
                yield event, (number, epoch, inside)


def coordinator_model(asked: TransactionModel, event: str, known: kafka_side.Known) -> TransactionOutcome:
    number, epoch, inside = known
    values = {"transaction_state": number, "producer_epoch": epoch, **{f"in_transaction__{each}": 1 for each in inside}}
    current = {"attempt__0": ATTEMPT + 1, "epoch__0": max(epoch, 0), f"attempt_epoch__{ATTEMPT}": max(epoch, 0)}
    asks = COMMIT if event == "commit" else known_as.ABORT
    ending = {f"end_request__{ATTEMPT}": 1, f"asked__{ATTEMPT}": asks, **current}, f"coordinator_prepare(attempt={ATTEMPT})"
    where = f"attempt={ATTEMPT}, partition={PARTITION}"
    if asked.system.configurations[0]["transaction.version"] == "2":  # AddPartitionsToTxn is sent by the partition's leader
        adding = {f"request__{ATTEMPT}__{PARTITION}": 1, **current}, f"leader_verify({where})"
    else:  # by the client
        adding = {"phase__0": OPEN, **current}, f"producer_send(producer=0, {where})"
    of_event: dict[str, tuple[dict[str, int], str]] = {
        "init": ({"phase__0": known_as.INITIALISING}, "coordinator_init_producer(producer=0)"),
        "bump": ({"phase__0": known_as.BUMPING, **current}, "coordinator_bump_epoch(producer=0)"),
        "add": adding,
        "commit": ending,
        "abort": ending,
        "time out": ({}, "coordinator_time_out()"),
        "complete": ({}, "coordinator_complete()"),
    }
    extra, label = of_event[event]
    found = asked.after(asked.made(**values, **extra), label)
    return REFUSED if found is None else TransactionOutcome("done", coordinator_known(asked, found[1]))


def coordinator_kafka(version: int, event: str, known: kafka_side.Known) -> TransactionOutcome:
    transitions: dict[str, Callable[[kafka_side.CoordinatorMetadata], None]] = {
        "init": lambda each: each.init(),
        "bump": lambda each: each.init(known[1]),
        "add": lambda each: each.add(PARTITION),
        "commit": lambda each: each.end(PREPARE_COMMIT),
        "abort": lambda each: each.end(PREPARE_ABORT),
        "time out": lambda each: each.time_out(),
        "complete": lambda each: each.complete(),
    }
    metadata = kafka_side.CoordinatorMetadata(known, version)
    try:
        transitions[event](metadata)
    except java_class("java.lang.Exception"):
        return REFUSED
    return TransactionOutcome("done", metadata.known)


# a partition

NOTHING, BEFORE, ITSELF = "nothing", "another record", "the record"
"""What the partition has of the newest epoch that it has seen."""


@dataclass(frozen=True)
class ProducerView:
    """What a partition has seen of a producer: its newest epoch, of that epoch no record (`NOTHING`), another than the
    request's (`BEFORE`) or the request's (`ITSELF`), whether the transaction is open, and the coordinator's epoch."""

    epoch: int
    has: str
    is_open: bool
    coordinator: int

    def __str__(self) -> str:
        opened = "open" if self.is_open else "decided"
        return (
            f"epoch {self.epoch}, {self.has}{f' {opened}' if self.has != NOTHING else ''}, coordinator epoch {self.coordinator}"
        )


def partition_cases(coordinators: int) -> Iterator[tuple[ProducerView, Projected]]:
    """Yield every possible history of a partition with every request to it: record, epoch, approval; or marker, epoch,
    coordinator, commits."""
    for epoch, has, is_open, coordinator in product(EPOCHS, (NOTHING, BEFORE, ITSELF), (False, True), range(coordinators)):
        if (epoch < 0 and (has != NOTHING or coordinator)) or (is_open and has == NOTHING):
            continue
        seen = ProducerView(epoch, has, is_open, coordinator)
        for asks, approval in product(EPOCHS[1:], (0, APPROVED, OUTDATED)):
            if has != ITSELF or asks == epoch:
                yield seen, ("record", asks, approval)
        if has != ITSELF:
            for asks, newer, commits in product(EPOCHS[1:], range(coordinators), (True, False)):
                yield seen, ("marker", asks, newer, commits)


def partition_known(asked: TransactionModel, state: State, partition: int = PARTITION) -> tuple[int, bool, int]:
    """Return the producer epoch that a partition has seen, whether a transaction is open, and the coordinator's epoch."""
    attempts = range(asked.system.sizes["attempt"])
    is_open = any(asked.value(state, f"undecided[{each}][{partition}]") for each in attempts)
    epoch, coordinator = (asked.value(state, f"partition_{each}[{partition}]") for each in ("epoch", "coordinator"))
    return epoch, is_open, coordinator


def partition_model(asked: TransactionModel, seen: ProducerView, request: Projected) -> TransactionOutcome:
    values = {f"partition_epoch__{PARTITION}": seen.epoch, f"partition_coordinator__{PARTITION}": seen.coordinator}
    if seen.has != NOTHING:
        who = ATTEMPT if seen.has == ITSELF else OTHER
        values[f"{'undecided' if seen.is_open else 'committed'}__{who}__{PARTITION}"] = 1
    place = f"{ATTEMPT}__{PARTITION}"
    where = f"(attempt={ATTEMPT}, partition={PARTITION})"
    if request[0] == "record":
        _, epoch, approval = request
        values |= {f"attempt_epoch__{ATTEMPT}": epoch, f"approval__{place}": approval, f"request__{place}": int(approval == 0)}
        values |= {"producer_epoch": max(EPOCHS) + 1}
        names = {"leader_append_transactional": "appended", "leader_find_duplicate": "duplicate", "leader_refuse": "refused"}
        found = asked.after(asked.made(**values), *[name + where for name in names])
        if found is None or found[0].startswith("leader_refuse"):
            return REFUSED
        return TransactionOutcome(names[found[0].removesuffix(where)], partition_known(asked, found[1]))
    _, epoch, coordinator, commits = request
    values |= {f"late_marker__{PARTITION}": COMMIT if commits else known_as.ABORT}
    values |= {f"late_marker_epoch__{PARTITION}": epoch, f"late_marker_coordinator__{PARTITION}": coordinator}
    before = asked.made(**values)
    found = asked.after(before, f"leader_take_late_marker(partition={PARTITION})")
    if found is None:
        return REFUSED
    is_unchanged = partition_known(asked, found[1]) == partition_known(asked, before)
    if is_unchanged and not takes_marker(ints.Ints, ints.IntsView(asked.system, before), PARTITION, epoch, coordinator):
        return REFUSED  # it has not changed, and not because the partition knows already what the marker says
    return TransactionOutcome("appended", partition_known(asked, found[1]))


def partition_kafka(log: kafka_side.TransactionalLog, seen: ProducerView, request: Projected) -> TransactionOutcome:
    """Write what is `seen` to Kafka's log under a new producer id, make the request, and return what the log does with it."""
    log.producer += 1
    if seen.epoch >= 0:
        _write_history(log, seen)
    if request[0] == "record":
        _, epoch, approval = request
        sequence = 1 if seen.has == BEFORE and epoch == seen.epoch else 0
        guard = None
        if approval == APPROVED:
            guard = log.guard(epoch, sequence)
            if guard is None:
                return REFUSED
        elif approval == OUTDATED:
            guard = kafka_class("storage.internals.log.VerificationGuard")()  # of a verification that a marker has ended
        outcome = log.append(epoch, sequence, guard)
    else:
        outcome = log.mark(*request[1:])
    return REFUSED if outcome == "refused" else TransactionOutcome(outcome, log.seen)


def _write_history(log: kafka_side.TransactionalLog, seen: ProducerView) -> None:
    """Write to the log what the partition has seen of the producer.  Errors: `AssertionError` unless Kafka appends it."""
    steps = [log.mark(seen.epoch, seen.coordinator, True, 0)]
    if seen.has != NOTHING:
        steps.append(log.append(seen.epoch, 0, log.guard(seen.epoch, 0)))
        if not seen.is_open:
            steps.append(log.mark(seen.epoch, seen.coordinator, True, 0))
    if set(steps) != {"appended"}:
        raise AssertionError(f"Kafka's log cannot be brought to {seen}: {steps}")


# the comparison


def compare(setting: ConformSetting) -> Tally:
    """Return the tally of comparing Kafka and model in every combination, and reachable transitions with these outcomes."""
    begun = time.monotonic()
    asked, tally = TransactionModel(setting.system), Tally("transactions")
    found: dict[Projected, TransactionOutcome] = {}
    for part in (_compare_coordinator, _compare_partition):
        try:
            found |= part(asked, setting, tally)
        except MissingClass as missing:
            tally.gaps.append(str(missing))
    _look_up(asked, setting, tally, found)
    tally.seconds = time.monotonic() - begun
    return tally


def _compare_coordinator(asked: TransactionModel, setting: ConformSetting, tally: Tally) -> dict[Projected, TransactionOutcome]:
    """Compare every combination of a coordinator, counting in the tally; return the model's outcomes by combination."""
    version, found = int(setting.configuration["transaction.version"]), {}
    for event, known in coordinator_cases(asked):
        model = found["coordinator", event, known] = coordinator_model(asked, event, known)
        kafka = coordinator_kafka(version, event, known)
        tally.cases += 1
        tally.compare("TransactionMetadata", setting.text, f"{event} when {_shown(known)}", kafka, model)
        tally.calls += 1
    return found


def _compare_partition(asked: TransactionModel, setting: ConformSetting, tally: Tally) -> dict[Projected, TransactionOutcome]:
    """Compare every combination of a partition, counting in the tally; return the model's outcomes by combination."""
    log, found = kafka_side.TransactionalLog(int(setting.configuration["transaction.version"])), {}
    try:
        for seen, request in partition_cases(1 + setting.system.sizes["moves"]):
            model = found["partition", seen, request] = partition_model(asked, seen, request)
            kafka = partition_kafka(log, seen, request)
            tally.cases += 1
            tally.compare("UnifiedLog.appendAsLeader", setting.text, f"{_said(request)} when {seen}", kafka, model)
        tally.calls += log.calls
    finally:
        log.close()
    return found


def _said(request: Projected) -> str:
    if request[0] == "record":
        return f"record of epoch {request[1]}{('', ', verified', ', verified before a marker')[request[2]]}"
    return f"{'commit' if request[3] else 'abort'} marker of epoch {request[1]}, coordinator epoch {request[2]}"


def _shown(known: kafka_side.Known) -> str:
    return f"state {known[0]}, epoch {known[1]}, partitions {sorted(known[2])}"


EVENTS = {
    "coordinator_init_producer": "init",
    "coordinator_bump_epoch": "bump",
    "coordinator_time_out": "time out",
    "coordinator_abort_for_init": "time out",
    "coordinator_complete": "complete",
}


def _look_up(
    asked: TransactionModel, setting: ConformSetting, tally: Tally, found: dict[Projected, TransactionOutcome]
) -> None:
    """Compare, and count in the tally, each reachable transition of the parts and epochs compared with its combination."""
    compared = {key[0] for key in found}
    if not compared:
        return
    graph = explore_graph(setting.system)
    states = [graph.state(number) for number in range(len(graph))]
    tally.states = len(states)
    highest = max(EPOCHS)
    for source, target, number in zip(graph.sources.tolist(), graph.targets.tolist(), graph.steps.tolist(), strict=True):
        step, before, then = setting.system.steps[number], states[source], states[target]
        key, after = _key(asked, step.action.name, dict(step.arguments), before, then)
        if key is None or key[0] not in compared or asked.value(before, "producer_epoch") > highest:
            continue
        tally.transitions += 1
        expected = found.get(key)
        if expected is None or expected.known != after:
            case = f"{step.label}: {key[1:]}"
            tally.differences.append(
                Difference("transactions", "a reachable transition", setting.text, case, (str(expected),), (str(after),))
            )


def _key(
    asked: TransactionModel, name: str, arguments: dict[str, int], before: State, then: State
) -> tuple[Projected | None, Projected]:
    """Return the combination that a transition is an instance of (None: of none), and what is known after it."""
    known, attempt, partition = coordinator_known(asked, before), arguments.get("attempt", -1), arguments.get("partition", -1)
    is_output = 0 <= partition < asked.system.sizes["offsets"]
    if name in EVENTS:
        return ("coordinator", EVENTS[name], known), coordinator_known(asked, then)
    if name == "coordinator_prepare":
        event = "commit" if asked.value(before, f"asked[{attempt}]") == COMMIT else "abort"
        return ("coordinator", event, known), coordinator_known(asked, then)
    adds = "leader_verify" if asked.system.configurations[0]["transaction.version"] == "2" else "producer_send"
    if name == adds and partition == PARTITION:
        return ("coordinator", "add", known), coordinator_known(asked, then)
    if name in ("leader_append_transactional", "leader_find_duplicate") and is_output:
        seen = _seen(asked, before, attempt, partition)
        asks = asked.value(before, f"attempt_epoch[{attempt}]")
        approval = asked.value(before, f"approval[{attempt}][{partition}]")
        return ("partition", seen, ("record", asks, approval)), partition_known(asked, then, partition)
    if name in ("leader_write_marker", "leader_write_marker_unanswered") and is_output:
        seen = _seen(asked, before, -1, partition)
        epoch, coordinator = asked.value(before, "producer_epoch"), asked.value(before, "coordinator_epoch")
        commits = asked.value(before, "transaction_state") == PREPARE_COMMIT
        return ("partition", seen, ("marker", epoch, coordinator, commits)), partition_known(asked, then, partition)
    return None, ()


def _seen(asked: TransactionModel, state: State, attempt: int, partition: int) -> ProducerView:
    """Return what a partition has seen, as it looks to a request of the transaction `attempt` (-1: to a marker)."""
    epoch, is_open, coordinator = partition_known(asked, state, partition)
    attempts = range(asked.system.sizes["attempt"])

    def has(which: int) -> bool:
        fields = ("undecided", "committed", "aborted")
        return any(asked.value(state, f"{each}[{which}][{partition}]") for each in fields)

    itself = attempt >= 0 and has(attempt) and asked.value(state, f"attempt_epoch[{attempt}]") == epoch
    before = any(has(each) for each in attempts if each != attempt) and (is_open or not itself)
    return ProducerView(epoch, ITSELF if itself else BEFORE if before and is_open else NOTHING, is_open, coordinator)
