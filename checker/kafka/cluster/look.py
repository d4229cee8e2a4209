"""Queries a running cluster without changing it: topics, partitions, settings, features, brokers and racks.

It needs DESCRIBE and DESCRIBE_CONFIGS on the cluster and on every topic, and no other right.

Source: the AdminClient requests Metadata, DescribeTopicPartitions (3.7 and later), DescribeConfigs, DescribeCluster,
ListPartitionReassignments and ApiVersions, as kafka-python sends them.
"""

from __future__ import annotations

import logging
import re
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any

from neverlost.specs.errors import InputError

SCHEMA = "neverlost.cluster/1"
TRIES, SECONDS_OF_A_TRY = 4, 5
"""How often and how long to try to reach the first broker."""

SECONDS_TO_ASK_AGAIN = 3
SECONDS_TO_CONNECT = 5
TOPICS_AT_ONCE = 500
SETTINGS_OF_TOPICS = (
    "min.insync.replicas",
    "unclean.leader.election.enable",
    "flush.messages",
    "flush.ms",
    "remote.storage.enable",
)
SETTINGS_OF_BROKERS = (
    "min.insync.replicas",
    "unclean.leader.election.enable",
    "log.flush.interval.messages",
    "default.replication.factor",
    "broker.rack",
)
OWN = "DYNAMIC_TOPIC_CONFIG"
"""How Kafka names the source of a setting that a topic has of its own."""

SAME = ("security.protocol", "sasl.mechanism")
PEM = {
    "ssl.ca.location": "ssl_cafile",
    "ssl.certificate.location": "ssl_certfile",
    "ssl.key.location": "ssl_keyfile",
    "ssl.key.password": "ssl_password",
    "ssl.truststore.location": "ssl_cafile",
    "ssl.keystore.location": "ssl_certfile",
}
"""Files of certificates, in librdkafka's names and in Java's; only PEM is read."""

_LOST = re.compile(r"Connection (?:lost|failed): (?:\[Error \d+\] )?(?:\w+Error: )*(.+?)(?: \(_ssl\.c:\d+\))?$")
_LOGIN = re.compile(r"""\b(username|password)\s*=\s*["']([^"']*)["']""")


def import_client() -> Any:
    """Import the client library.  Errors: `InputError` if it is not installed."""
    try:
        import kafka
    except ImportError:
        raise InputError("--bootstrap-server needs a Kafka client; install it: pip install 'neverlost[kafka]'") from None
    return kafka


def look_at_cluster(server: str, command_config: Mapping[str, str], where: str = "") -> dict[str, Any]:
    """Return the present state of a cluster as a JSON document; `command_config` has the settings of Kafka's tools'
    --command-config, and `where` is the name of that file.  Errors: `InputError` for a cluster that cannot be reached, shows no
    topic, or hides settings."""
    kafka = import_client()
    options = convert_settings(command_config, where)
    _require_listener(server)
    with (
        _collect_reasons() as reasons,
        _explain_errors(kafka, server, reasons),
        closing(_Patient(kafka, lambda: _connect(kafka, server, options, reasons))) as admin,
    ):
        brokers = sorted(admin.describe_cluster()["brokers"], key=lambda each: each["broker_id"])
        topics = _describe_topics(kafka, admin)
        return {
            "schema": SCHEMA,
            "server": server,
            "features": _describe_features(kafka, admin),
            "brokers": [_describe_broker(kafka, admin, each) for each in brokers],
            "topics": topics,
        }


class _Patient:
    """A client that repeats a request over a new connection after a retriable error, for `SECONDS_TO_ASK_AGAIN`.  A broker that
    has just gone is listed until it is fenced, so the client may ask it, or take it for the controller."""

    def __init__(self, kafka: Any, connect: Callable[[], Any]) -> None:
        self._kafka, self._connect = kafka, connect
        self._admin = connect()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def asked(*positional: Any, **named: Any) -> Any:
            until = time.monotonic() + SECONDS_TO_ASK_AGAIN
            while True:
                try:
                    return getattr(self._admin, name)(*positional, **named)
                except self._kafka.errors.KafkaError as problem:
                    if not problem.retriable or time.monotonic() > until:
                        raise
                self.close()
                self._admin = self._connect()

        return asked

    def close(self) -> None:
        self._admin.close()


def _connect(kafka: Any, server: str, options: Mapping[str, Any], reasons: Sequence[str]) -> Any:
    """Return a client that has reached a broker; after a timeout try again, `TRIES` times in all, unless there are `reasons`
    why it was refused.  The last timeout, and any other error, is raised."""
    for left in reversed(range(TRIES)):
        try:
            return kafka.KafkaAdminClient(
                bootstrap_servers=[each.strip() for each in server.split(",")],
                bootstrap_timeout_ms=SECONDS_OF_A_TRY * 1000,
                **options,
            )
        except kafka.errors.KafkaTimeoutError:
            if reasons or not left:
                raise
    raise AssertionError("the last try returns or raises")


def _require_listener(server: str) -> None:
    """Try addresses up to the first at which something listens, since without one the client would retry forever.  Errors:
    `InputError` if there is none, and for one tried that is not HOST:PORT."""
    problem: Exception = ValueError("no address")
    for each in filter(None, server.split(",")):
        host, _, port = each.strip().rpartition(":")
        if not host or not port.isdigit():
            raise InputError(f"bad value {each!r} for --bootstrap-server: write HOST:PORT")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=SECONDS_TO_CONNECT).close()
            return
        except (OSError, OverflowError) as refused:
            problem = refused
    raise InputError(f"cannot look at the cluster at {server!r}: {problem}; check --bootstrap-server")


def convert_settings(given: Mapping[str, str], where: str) -> dict[str, Any]:
    """Convert those of Kafka's connection settings that are known here to the client library's; leave out others.  Errors:
    `InputError` for a store of certificates that is not a PEM file, which is all that the client reads."""
    found: dict[str, Any] = {each.replace(".", "_"): given[each] for each in SAME if given.get(each)}
    for key, name in PEM.items():
        if given.get(key):
            _require_pem(key, given, where)
            found[name] = given[key]
    if given.get("ssl.endpoint.identification.algorithm") == "" and "ssl.endpoint.identification.algorithm" in given:
        found["ssl_check_hostname"] = False
    login = dict(_LOGIN.findall(given.get("sasl.jaas.config", "")))
    user = given.get("sasl.username", login.get("username"))
    if user is not None:
        found["sasl_plain_username"] = user
        found["sasl_plain_password"] = given.get("sasl.password", login.get("password", ""))
    return found


def _require_pem(key: str, given: Mapping[str, str], where: str) -> None:
    kind = given.get(f"{key.rpartition('.')[0]}.type", "").upper()
    if "store" in key and kind != "PEM":
        raise InputError(
            f"{key} in {where} is a {kind or 'JKS'} file; only PEM is read here: name the certificates with ssl.ca.location, "
            "ssl.certificate.location and ssl.key.location"
        )


class _Reasons(logging.Handler):
    """A log handler that collects why connections ended, which the library logs for developers only."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Store the reason of a lost connection; a message that it was lost is not a reason."""
        match = _LOST.search(record.getMessage())
        if match is not None and match[1] != "socket disconnected":
            self.found.append(match[1])


@contextmanager
def _collect_reasons() -> Iterator[list[str]]:
    """Yield a list that gets the reasons why connections end while the context is open; the library itself prints nothing."""
    logger, kept = logging.getLogger("kafka"), _Reasons()
    before = logger.level, logger.propagate
    logger.setLevel(logging.ERROR)
    logger.propagate = False
    logger.addHandler(kept)
    try:
        yield kept.found
    finally:
        logger.removeHandler(kept)
        logger.setLevel(before[0])
        logger.propagate = before[1]


@contextmanager
def _explain_errors(kafka: Any, server: str, reasons: Sequence[str]) -> Iterator[None]:
    try:
        yield
    except kafka.errors.KafkaError as problem:
        text = next(iter(reasons), "") or " ".join(str(problem).split()) or type(problem).__name__
        raise InputError(
            f"cannot look at the cluster at {server!r}: {text:.300}; check --bootstrap-server and --command-config"
        ) from None
    except (OSError, ValueError) as problem:
        raise InputError(
            f"cannot look at the cluster at {server!r}: {problem}; check the address and --command-config"
        ) from None


def _require_final(problem: Any) -> None:
    """Raise the exception `problem` if it is retriable; else do nothing, and the caller goes on without an answer: the cluster
    may not know the request."""
    if problem.retriable:
        raise problem


def _describe_features(kafka: Any, admin: Any) -> dict[str, dict[str, int]]:
    """Return by feature its `finalized` level and the highest `supported` by the brokers (0: none); empty if refused."""
    try:
        found = admin.describe_features()
    except kafka.errors.KafkaError as problem:
        _require_final(problem)
        return {}
    return {
        name: {"finalized": each.get("finalized", (0, 0))[1], "supported": each.get("supported", (0, 0))[1]}
        for name, each in sorted(found.items())
    }


def _describe_broker(kafka: Any, admin: Any, broker: Mapping[str, Any]) -> dict[str, Any]:
    """Return a broker's `id`, `rack` and `settings`: effective `SETTINGS_OF_BROKERS` by name, or None if it does not answer."""
    number = broker["broker_id"]
    try:
        settings = _describe_settings(kafka, admin, "BROKER", [str(number)], SETTINGS_OF_BROKERS)[str(number)]
        _require_shown(settings, f"broker {number}", "the cluster")
    except kafka.errors.KafkaError:
        return {"id": number, "rack": broker.get("rack"), "settings": None}
    return {"id": number, "rack": broker.get("rack"), "settings": {name: each[0] for name, each in settings.items()}}


def _describe_settings(
    kafka: Any, admin: Any, kind: str, names: Sequence[str], keys: Sequence[str]
) -> dict[str, dict[str, tuple[str, str]]]:
    """Return the effective value and its source, by entity and key; a key without a value is left out."""
    resources = [kafka.admin.ConfigResource(kind, name, list(keys)) for name in names]
    found = admin.describe_configs(resources, config_filter="all").get(kind.lower(), {})
    return {
        name: {
            key: (each["value"], each["config_source"])
            for key, each in found.get(name, {}).items()
            if each["value"] is not None
        }
        for name in names
    }


def _require_shown(settings: Mapping[str, Any], what: str, where: str) -> None:
    """Raise `InputError` if `settings`, of one broker or topic, is empty: each has some, so they are hidden from this user."""
    if not settings:
        raise InputError(f"{what} shows no settings: DESCRIBE_CONFIGS on {where} is missing; {_ALLOW}")


_ALLOW = "kafka-acls.sh --add --operation Describe --operation DescribeConfigs --cluster --topic '*' allows it"


def _describe_topics(kafka: Any, admin: Any) -> list[dict[str, Any]]:
    """Return every topic with its partitions and its own settings.  Errors: `InputError` where no topic is shown."""
    listed = sorted(admin.describe_topics(), key=lambda each: str(each["name"]))
    names = [str(each["name"]) for each in listed]
    if not names:
        raise InputError(f"the cluster shows no topics: it has none, or DESCRIBE on topics is missing; {_ALLOW}")
    candidates = _find_eligible(kafka, admin, names)
    moving = _find_reassigned(kafka, admin)
    found = []
    for start in range(0, len(names), TOPICS_AT_ONCE):
        chosen = names[start : start + TOPICS_AT_ONCE]
        configs = _describe_settings(kafka, admin, "TOPIC", chosen, SETTINGS_OF_TOPICS)
        for topic in listed[start : start + TOPICS_AT_ONCE]:
            name = str(topic["name"])
            _require_shown(configs[name], f"topic {name!r}", "topics")
            found.append(
                {
                    "name": name,
                    "configs": {key: value for key, (value, source) in configs[name].items() if source == OWN},
                    "partitions": [
                        _describe_partition(each, candidates.get((name, each["partition_index"]), []))
                        | moving.get((name, each["partition_index"]), {"adding": [], "removing": []})
                        for each in sorted(topic["partitions"], key=lambda each: int(each["partition_index"]))
                    ],
                }
            )
    return found


def _describe_partition(partition: Mapping[str, Any], eligible: Sequence[int]) -> dict[str, Any]:
    return {
        "partition": partition["partition_index"],
        "leader": partition["leader_id"],
        "replicas": list(partition["replica_nodes"]),
        "isr": list(partition["isr_nodes"]),
        "elr": list(eligible),
    }


def _find_eligible(kafka: Any, admin: Any, names: Sequence[str]) -> dict[tuple[str, int], list[int]]:
    """Return the eligible leader replicas of each partition that has some; empty before 3.7, which has no request for them."""
    found: dict[tuple[str, int], list[int]] = {}
    cursor = None
    while names:
        try:
            page = admin.describe_topic_partitions(list(names), cursor=cursor)
        except kafka.errors.KafkaError as problem:
            _require_final(problem)
            return found
        for topic in page["topics"]:
            for each in topic["partitions"]:
                if each["eligible_leader_replicas"]:
                    found[topic["name"], each["partition_index"]] = each["eligible_leader_replicas"]
        cursor = page["next_cursor"]
        if cursor is None:
            return found
    return found


def _find_reassigned(kafka: Any, admin: Any) -> dict[tuple[str, int], dict[str, list[int]]]:
    """Return, by topic and partition, the replicas that a reassignment is adding and removing; none if the cluster refuses."""
    try:
        found = admin.list_partition_reassignments()
    except kafka.errors.KafkaError as problem:
        _require_final(problem)
        return {}
    return {
        (place.topic, place.partition): {name: list(each[f"{name}_replicas"]) for name in ("adding", "removing")}
        for place, each in found.items()
    }
