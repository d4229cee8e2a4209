"""A reproduction plan as a shell script with Kafka's own tools, for an operator to run or to read."""

from __future__ import annotations

import json
from collections.abc import Sequence

from neverlost.checker.kafka.reproduce.reproduction_plan import ReproductionPlan, ReproductionStep
from neverlost.checker.kafka.reproduce.target import Target
from neverlost.checker.kafka.reproduce.traffic_blocks import TrafficBlocks

HEAD = """#!/usr/bin/env bash
# {broken} of {model}, {steps} steps, by hand.  Read it before you run it: it kills brokers and loses records on purpose.
# Needs: Kafka's bin/ on the PATH, a shell on every broker (`on N command`), iptables there, and
#   BOOTSTRAP    addresses of the brokers        CONTROLLERS  hosts of the controllers, separated by spaces
#   HOST_1 ...   the brokers' hosts              DATA         the brokers' log.dirs
# Brokers' server.properties: {settings} auto.leader.rebalance.enable=false.
# A broker that is deaf to the controllers soon stops its heartbeats: broker.session.timeout.ms must outlast those stages.
set -eu
TOPIC=neverlost
on() {{ ssh "broker-$1" "${{@:2}}"; }}
drop() {{ on "$1" iptables -A OUTPUT -p tcp -d "$2" -j DROP; }}
pass() {{ on "$1" iptables -D OUTPUT -p tcp -d "$2" -j DROP; }}
deafen() {{ on "$1" iptables -A INPUT -p tcp -s "$2" -j DROP; }}
undeafen() {{ on "$1" iptables -D INPUT -p tcp -s "$2" -j DROP; }}
host() {{ eval echo "\\$HOST_$1"; }}
start() {{ on "$1" kafka-server-start.sh -daemon server.properties; }}
end() {{ on "$1" pkill "-$2" -f kafka.Kafka; }}
produce() {{ echo "$2" | kafka-console-producer.sh --bootstrap-server "$(host "$1"):9092" --topic "$TOPIC" \\
    --producer-property acks="$3" --producer-property retries=0; }}
described() {{ kafka-topics.sh --bootstrap-server "$BOOTSTRAP" --describe --topic "$TOPIC" | tr '\\t' '\\n'; }}
leader() {{ described | sed -n 's/^ *Leader: //p'; }}
isr() {{ described | sed -n 's/^ *Isr: //p' | tr , '\\n' | sort -n | paste -sd,; }}
wait_for() {{ until [ "$(leader) $(isr)" = "$1 $2" ]; do sleep 1; done; }}
position() {{ on "$1" kafka-dump-log.sh --print-data-log --files "$DATA/$TOPIC-0/00000000000000000000.log" |
    awk -v wanted="payload: $2\\$" '$0 ~ wanted {{ print at; exit }}
        /^baseOffset/ {{ for (i = 1; i < NF; i++) if ($i == "position:") at = $(i + 1) }}'; }}
lose_from() {{ # what a power failure takes: the end of the segment, and what else knows of it
    at=$(position "$1" "$2"); on "$1" "cd '$DATA/$TOPIC-0' && truncate -s $at 00000000000000000000.log &&
        rm -f *.index *.timeindex *.snapshot leader-epoch-checkpoint ../.kafka_cleanshutdown"; }}
"""


def render_script(plan: ReproductionPlan) -> str:
    settings = ", ".join(f"{name}={value}" for name, value in plan.server_settings.items()) + ","
    parts = [HEAD.format(broken=plan.broken, model=plan.model, steps=plan.stages[-1].last, settings=settings)]
    if plan.has_elr:
        parts.append(
            "# kafka-storage.sh format --feature eligible.leader.replicas.version=1 (or a version that has it by default)\n"
        )
    parts.append("\n".join(_create(plan)) + "\n")
    before, held, produced = plan.begin, TrafficBlocks(), 0
    for stage in plan.stages:
        produced += stage.operation == "produce"
        lines = [f"# {number}. {says}" for number, says in enumerate(stage.says, start=stage.first)]
        lines += _flow(held, stage.during, plan) + _operation(stage, before, plan, produced)
        lines += _flow(stage.during, stage.holds, plan) + _wait(stage.target)
        parts.append("\n".join(lines) + "\n")
        before, held = stage.target, stage.holds
    parts.append("\n".join(_end(held, before, plan)) + "\n")
    return "\n".join(parts)


def _create(plan: ReproductionPlan) -> list[str]:
    configs = " ".join(f"--config {name}={value}" for name, value in plan.topic_configs.items())
    assignment = ":".join(map(str, plan.replicas))
    create = f'--create --topic "$TOPIC" --replica-assignment {assignment} {configs}'
    return ["# the beginning", _tool("kafka-topics.sh", create), *_wait(plan.begin)]


def _wait(target: Target) -> list[str]:
    leader = "none" if target.leader is None else str(target.leader)
    isr = ",".join(map(str, target.isr)) or "''"
    lines = [f"wait_for {leader} {isr}"]
    if target.elr:
        lines.append(f"# ELR: {','.join(map(str, target.elr))}")
    logs = "  ".join(f"broker {each}: [{' '.join(f'm{record}' for record in log)}]" for each, log in target.logs.items())
    acknowledged = "; acknowledged " + ", ".join(f"m{each}" for each in target.acknowledged) if target.acknowledged else ""
    return [*lines, f"# logs now, but for m0: {logs}{acknowledged}"]


def _flow(before: TrafficBlocks, now: TrafficBlocks, plan: ReproductionPlan) -> list[str]:
    """Return the lines that block traffic, then those that let it flow again, between two stages."""
    lines = []
    for is_cut, one, other in ((True, now, before), (False, before, now)):
        for follower in [each for each in one.fetches if each not in other.fetches]:
            peers = [each for each in range(1, plan.brokers + 1) if each != follower]
            lines += [f'{"drop" if is_cut else "pass"} {follower} "$(host {each})"' for each in peers]
        for broker in [each for each in brokers_without_metadata(one) if each not in brokers_without_metadata(other)]:
            lines.append(f'for each in $CONTROLLERS; do {"deafen" if is_cut else "undeafen"} {broker} "$each"; done')
        for broker in [each for each in brokers_without_controller(one) if each not in brokers_without_controller(other)]:
            lines.append(f'for each in $CONTROLLERS; do {"drop" if is_cut else "pass"} {broker} "$each"; done')
    return lines


def brokers_without_metadata(holds: TrafficBlocks) -> tuple[int, ...]:
    """Return the brokers that must not learn the controller's decisions."""
    return tuple(sorted({*holds.metadata, *holds.metadata_answers, *holds.metadata_requests, *holds.isr_answers}))


def brokers_without_controller(holds: TrafficBlocks) -> tuple[int, ...]:
    """Return the brokers whose heartbeats or requests must not reach the controller."""
    return tuple(sorted({*holds.heartbeats, *holds.isr_requests}))


def _operation(stage: ReproductionStep, before: Target, plan: ReproductionPlan, produced: int) -> list[str]:
    broker = stage.broker
    match stage.operation:
        case "produce":
            return [f"produce {broker} m{produced} {plan.acks} &"]
        case "lag":
            return [f"produce {stage.argument[0]} m0 1  # unless broker {broker} lacks something anyway"]
        case "move":
            order = [broker, *(each for each in plan.replicas if each != broker)]
            elect = "--election-type preferred --topic $TOPIC --partition 0"
            return [*_reassign(order), _tool("kafka-leader-election.sh", elect)]
        case "reassign":
            return _reassign(list(stage.argument))
        case "cancel":
            return [_tool("kafka-reassign-partitions.sh", "--reassignment-json-file reassignment.json --cancel")]
        case "set-min-isr":
            topic = "--alter --entity-type topics --entity-name $TOPIC"
            return [_tool("kafka-configs.sh", f"{topic} --add-config min.insync.replicas={stage.argument[0]}")]
        case "crash":
            return [f"end {broker} KILL"]
        case "crash-lossy":
            return [f"end {broker} KILL", f"lose_from {broker} m{before.logs[broker][stage.argument[0]]}"]
        case "lose-disk":
            return [
                f"end {broker} KILL",
                f'on {broker} "rm -rf $DATA && kafka-storage.sh format -t $CLUSTER_ID -c server.properties"',
            ]
        case "stop":
            return [f"end {broker} TERM"]
        case "stop-and-take-out":
            return [
                f"end {broker} TERM",
                f"on {broker} \"sed -i '/^log.dirs=/s#$DATA,\\?##' server.properties\"  # it has others",
            ]
        case "assign-directory":
            moved = before.leader or stage.target.running[0]
            places = ["$OTHER" if each == moved else "any" for each in plan.replicas]
            return [f"# OTHER: another of the log.dirs of broker {moved}", *_reassign(list(plan.replicas), places)]
        case "replay":
            return [f"# broker {broker} must get the answer to a fetch that it sent before the last change; sleep 5"]
        case "start":
            return [f"start {broker}"]
    return []


def _reassign(order: list[int], directories: Sequence[str] = ()) -> list[str]:
    """Return the commands of a reassignment; with a log directory for each replica if `directories` are given."""
    places = {"log_dirs": list(directories)} if directories else {}
    partition = {"topic": "TOPIC", "partition": 0, "replicas": order} | places
    document = json.dumps({"version": 1, "partitions": [partition]})
    for name in ("TOPIC", "$OTHER"):
        document = document.replace(f'"{name}"', f'"\'"${name.lstrip("$")}"\'"')
    return [
        f"echo '{document}' > reassignment.json",
        _tool("kafka-reassign-partitions.sh", "--reassignment-json-file reassignment.json --execute"),
    ]


def _tool(name: str, arguments: str) -> str:
    return f'{name} --bootstrap-server "$BOOTSTRAP" {arguments}'


def _end(held: TrafficBlocks, target: Target, plan: ReproductionPlan) -> list[str]:
    """Return the lines that undo every fault and read the partition."""
    dead = [each for each in range(1, plan.brokers + 1) if each not in target.running]
    return [
        "# the end: end every fault, then read the partition from its beginning",
        *_flow(held, TrafficBlocks(), plan),
        *[f"start {each}" for each in dead],
        _tool("kafka-console-consumer.sh", '--topic "$TOPIC" --from-beginning --property print.offset=true --timeout-ms 10000'),
    ]
