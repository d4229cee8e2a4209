"""Compares a cluster with the model's state at the end of a stage."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from neverlost.checker.kafka.reproduce.attempt import Attempt, describe_leader, list_brokers, parse_number
from neverlost.checker.kafka.reproduce.cluster_scene import find_known_epochs
from neverlost.checker.kafka.reproduce.target import Target


def find_differences(attempt: Attempt, target: Target) -> list[str]:
    """Record new answers; return how the cluster differs from the target, a sentence each.  What the leader knows is compared
    only if the metadata and the fenced brokers are equal."""
    take_answers(attempt)
    found = [*_compare_metadata(attempt, target), *_compare_fencing(attempt, target)]
    found += [] if found else _compare_knowledge(attempt, target)
    return [*found, *_compare_logs(attempt, target), *_compare_clients(attempt, target)]


def _compare_metadata(attempt: Attempt, target: Target) -> Iterator[str]:
    now = attempt.partition
    if attempt.leader != target.leader:
        yield f"{describe_leader(attempt.leader)}, in the model {describe_leader(target.leader)}"
    pairs = [("the ISR", now.isr, target.isr), ("the replicas are", now.replicas, target.replicas)]
    if attempt.plan.compares_elr:
        pairs.append(("the ELR", now.elr, target.elr))
    for name, seen, wanted in pairs:
        if set(seen) != set(wanted):
            yield f"{name} {list_brokers(seen)}, in the model {list_brokers(wanted)}"


def _compare_fencing(attempt: Attempt, target: Target) -> Iterator[str]:
    is_unfenced = attempt.cluster.is_unfenced
    yield from (f"broker {each} is not fenced yet" for each in target.fenced if is_unfenced(each))
    yield from (f"broker {each} is fenced" for each in target.running if each not in target.fenced and not is_unfenced(each))


def _compare_knowledge(attempt: Attempt, target: Target) -> list[str]:
    """Return how the leader's knowledge differs: it must have applied its leadership, and know the newest partition epoch, if
    the model's leader has."""
    now, leader = attempt.partition, attempt.leader
    if leader is None:
        return []
    leader_epoch, partition_epoch = find_known_epochs(attempt.cluster, leader, attempt.topic)
    if target.has_applied_leadership and leader_epoch != now.leader_epoch:
        return [f"leader {leader} has not applied its leadership in leader epoch {now.leader_epoch}"]
    if target.is_up_to_date and partition_epoch < now.partition_epoch:
        return [f"leader {leader} knows partition epoch {partition_epoch} of {now.partition_epoch}"]
    return []


def _compare_logs(attempt: Attempt, target: Target) -> Iterator[str]:
    for broker, wanted in target.logs.items():
        seen = tuple(parse_number(each) for each in attempt.records(broker))
        if seen != wanted:
            yield f"broker {broker} has {_compare_records(seen)}, in the model {_compare_records(wanted)}"


def _compare_records(numbers: tuple[int | None, ...]) -> str:
    return "[" + " ".join(f"m{each}" for each in numbers) + "]"


def _compare_clients(attempt: Attempt, target: Target) -> Iterator[str]:
    outcome = attempt.outcome
    for record in target.acknowledged:
        if record not in outcome.acknowledged:
            refusal = outcome.refused.get(record)
            yield f"m{record} is {f'refused: {refusal}' if refusal else 'not acknowledged'}"
    if _is_about_reads(attempt):
        yield from (f"m{each} cannot be read by a consumer" for each in target.committed if each not in outcome.read_before)


def _is_about_reads(attempt: Attempt) -> bool:
    return attempt.plan.broken == "committed-never-lost"


def take_answers(attempt: Attempt) -> None:
    """Record what producers were answered, and, if the property is committed-never-lost, what a consumer can read."""
    outcome = attempt.outcome
    for record, sending in attempt.sendings.items():
        answer = sending.answer
        if answer is None or record in outcome.acknowledged or record in outcome.refused:
            continue
        if answer.is_acknowledged:
            clock = datetime.fromtimestamp(answer.at, UTC).isoformat(timespec="milliseconds")
            outcome.acknowledged[record] = (clock.replace("+00:00", "Z"), answer.offset)
            attempt.note(f"m{record} is acknowledged" + ("" if answer.offset is None else f" at offset {answer.offset}"))
        else:
            outcome.refused[record] = str(answer.error)
            attempt.note(f"m{record} is refused: {answer.error}")
    if _is_about_reads(attempt):
        _read_what_is_visible(attempt)


def _read_what_is_visible(attempt: Attempt) -> None:
    """Consume, and note, what a consumer can read, if a record not yet read is below the leader's high watermark."""
    read, leader = attempt.outcome.read_before, attempt.leader
    if leader is None:
        return
    high = attempt.cluster.high_watermark(leader, attempt.topic) or 0
    if any(each.offset < high and parse_number(each) not in read for each in attempt.records(leader)):
        for record in attempt.cluster.consume(attempt.topic):
            number = parse_number(record)
            if number and number not in read:
                read[number] = record.offset
                attempt.note(f"a consumer reads m{number} at offset {record.offset}")
