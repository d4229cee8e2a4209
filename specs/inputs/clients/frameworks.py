"""The ways in which frameworks write a client's settings, and the defaults that each framework brings itself.

A dialect finds the producers (or consumers) of a file and gives each its settings under the client's own names.  The
first dialect that recognises a file reads it.

Source: Spring Boot `KafkaProperties`; Spring Cloud Stream `KafkaBinderConfigurationProperties` (`requiredAcks` is 1); SmallRye
`KafkaConnector` (`acks` is 1); Kafka Connect `Worker.baseProducerConfigs` (acks=all, no idempotence); `StreamsConfig`;
librdkafka CONFIGURATION.md (acks -1, no idempotence); `kafka.producer.ProducerConfig` of 0.8 (`request.required.acks` is 0).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from neverlost.specs.errors import InputError, quote
from neverlost.specs.inputs.syntax.known_keys import names
from neverlost.specs.setting import Origin, Setting, Settings

Named = dict[str, Settings]
"""Settings by the name that the file gives a client; `` where it has one only."""


@dataclass(frozen=True)
class Dialect:
    """How one framework writes settings: by what it recognises a file, what it reads there, and what it sets itself."""

    name: str
    recognises: Callable[[Settings], bool]
    clients: Callable[[Settings, str], Named]
    defaults: Mapping[str, str] = field(default_factory=dict)
    has_java_client: bool = True

    def with_defaults(self, settings: Settings) -> Settings:
        """Return the settings with what the framework sets where the file does not."""
        own = {key: Setting(value, f"{self.name}'s default", Origin.DEFAULT) for key, value in self.defaults.items()}
        return own | settings


def _after(settings: Settings, prefix: str) -> Settings:
    """Return the settings whose keys begin with a prefix, without that prefix."""
    return {key[len(prefix) :]: each for key, each in settings.items() if key.startswith(prefix) and len(key) > len(prefix)}


def _has(*starts: str) -> Callable[[Settings], bool]:
    return lambda settings: any(key.startswith(starts) for key in settings)


_RELAXED = {"transactionidprefix": "transactional.id", "enableautocommit": "enable.auto.commit"}
"""Spring's own names that are not the client's with other separators."""


def _relaxed(key: str) -> str:
    """Return Spring's spelling of a key (`isolation-level`, `isolationLevel`) as the client's (`isolation.level`)."""
    plain = re.sub(r"[-_]", "", key).lower()
    dotted = re.sub(r"(?<=[a-z])(?=[A-Z])", ".", key).replace("-", ".").replace("_", ".").lower()
    return _RELAXED.get(plain, dotted)


def _spring(settings: Settings, role: str) -> Named:
    below = _after(settings, f"spring.kafka.{role}.")
    direct = {_relaxed(key): each for key, each in below.items() if not key.startswith("properties.")}
    return {"": _after(settings, "spring.kafka.properties.") | direct | _after(below, "properties.")}


def _spring_cloud(settings: Settings, role: str) -> Named:
    """Return, by binding that has settings, the binder's settings with its own on top; without such a binding, the binder's
    settings under the name ""."""
    binder = _after(settings, "spring.cloud.stream.kafka.binder.")
    required = next((binder[key] for key in ("requiredAcks", "required-acks", "requiredacks") if key in binder), None)
    base: Settings = {"acks": required} if required and role == "producer" else {}
    base |= _spring(settings, role)[""] | _after(binder, "configuration.")
    for name in (f"{role}Properties.", f"{role}-properties."):
        base |= _after(binder, name)
    found: Named = {}
    for key, each in _after(settings, "spring.cloud.stream.kafka.bindings.").items():
        name, separator, rest = key.partition(f".{role}.configuration.")
        if separator:
            found.setdefault(name, {})[rest] = each
    return {name: base | own for name, own in found.items()} or {"": base}


def _quarkus(settings: Settings, role: str) -> Named:
    """Return, by Kafka channel (outgoing for a producer, incoming for a consumer), its settings on top of the common ones; if
    there is no channel, the common ones under the name "".  Of profiles only `%prod.` is read, and it wins."""
    settings = {key: each for key, each in settings.items() if not key.startswith("%")} | _after(settings, "%prod.")
    base = _after(settings, "kafka.") | _after(settings, "mp.messaging.connector.smallrye-kafka.")
    channels: Named = {}
    for key, each in _after(settings, f"mp.messaging.{'outgoing' if role == 'producer' else 'incoming'}.").items():
        channel, separator, rest = _channel(key)
        if separator:
            channels.setdefault(channel, {})[rest] = each
    own = {name: each for name, each in channels.items() if "connector" not in each or "kafka" in each["connector"].value}
    return {name: base | each for name, each in own.items()} or {"": base}


def _channel(key: str) -> tuple[str, str, str]:
    """Return channel (unquoted), dot and key of `"my.channel".acks` or `orders.acks`; dot and key are empty without a dot."""
    quote = re.match(r'"([^"]*)"(\.)(.*)$', key)
    return (quote[1], quote[2], quote[3]) if quote else key.partition(".")


def _connect(settings: Settings, role: str) -> Named:
    """Return, under the name "", the settings that a worker's or a connector's file (also below `config.`) has with the role's
    prefix, such as `producer.acks`, without it; those of `producer.override.` win."""
    for wrapped in ("spec.config.", "config."):
        settings = settings | _after(settings, wrapped)
    own = _after(settings, f"{role}.")
    return {"": {key: each for key, each in own.items() if not key.startswith("override.")} | _after(own, "override.")}


_CONNECT = ("connector.class", "offset.storage.topic", "offset.storage.file.filename", "config.storage.topic", "plugin.path")


def _is_connect(settings: Settings) -> bool:
    plain = {key.removeprefix("spec.").removeprefix("config.") for key in settings}
    return bool(plain & set(_CONNECT)) or any(key.startswith(("producer.override.", "consumer.override.")) for key in plain)


def _streams(settings: Settings, role: str) -> Named:
    prefixes = (f"{role}.", "main.consumer.") if role == "consumer" else (f"{role}.",)
    own: Settings = {key: each for key, each in settings.items() if "." not in key or key in names()[role]}
    for prefix in prefixes:
        own |= _after(settings, prefix)
    guarantee = settings.get("processing.guarantee")
    if role == "producer" and guarantee is not None and guarantee.value.strip().startswith("exactly_once"):
        own["enable.idempotence"] = Setting("true", guarantee.where, guarantee.how)
    return {"": own}


def _is_streams(settings: Settings) -> bool:
    return bool({"application.id", "processing.guarantee", "num.stream.threads"} & set(settings))


_PLAIN = {
    "request.required.acks": "acks",
    "message.send.max.retries": "retries",
    "max.in.flight": "max.in.flight.requests.per.connection",
    "auto.commit.enable": "enable.auto.commit",
}
"""Names of librdkafka (and of the Scala clients) for the Java client's."""


def _joined(settings: Iterable[tuple[str, Setting]]) -> Settings:
    """Return pairs of name and setting as a dictionary.  Errors: `InputError` where a name has two different values."""
    found: Settings = {}
    for name, each in settings:
        if name in found and found[name].value.strip() != each.value.strip():
            raise InputError(
                f"{name} is {quote(found[name].value)} in {found[name].where} and {quote(each.value)} in {each.where}; "
                "keep one of them"
            )
        found[name] = each
    return found


def _librdkafka(settings: Settings, role: str) -> Named:
    return {"": _joined((_PLAIN.get(key, key), each) for key, each in settings.items())}


def _is_librdkafka(settings: Settings) -> bool:
    """Return True if a key is one that only librdkafka knows.  Errors: `InputError` if another is one that only Java knows."""
    own, java = _only("librdkafka-", ""), _only("", "librdkafka-")
    theirs, others = [key for key in settings if key in own], [key for key in settings if key in java]
    if theirs and others:
        raise InputError(
            f"{quote(theirs[0])} in {settings[theirs[0]].where} is librdkafka's and {quote(others[0])} in "
            f"{settings[others[0]].where} the Java client's; give the file of one client"
        )
    return bool(theirs)


def _only(has: str, lacks: str) -> frozenset[str]:
    """Return the client keys that one library knows and another does not; `names` tells them by a prefix, "librdkafka-" or ""
    for Java's."""
    every = names()
    return (every[f"{has}producer"] | every[f"{has}consumer"]) - (every[f"{lacks}producer"] | every[f"{lacks}consumer"])


def _prefixed(settings: Settings, role: str) -> Named:
    """Return, under the name "", the settings without the other role's: the role's prefix is removed (`producer.acks`, `acks`).
    Errors: as `_joined`."""
    other = "consumer." if role == "producer" else "producer."
    return {"": _joined((key.removeprefix(f"{role}."), each) for key, each in settings.items() if not key.startswith(other))}


CONNECT = "Kafka Connect"
DIALECTS: tuple[Dialect, ...] = (
    Dialect("Spring Cloud Stream", _has("spring.cloud.stream.kafka."), _spring_cloud, {"acks": "1"}),
    Dialect("Spring", _has("spring.kafka."), _spring),
    Dialect("Quarkus (SmallRye)", _has("mp.messaging.", "%prod.mp.messaging."), _quarkus, {"acks": "1"}),
    Dialect(CONNECT, _is_connect, _connect, {"acks": "all", "enable.idempotence": "false"}),
    Dialect("Kafka Streams", _is_streams, _streams),
    Dialect("the Scala producer", _has("producer.type", "serializer.class"), _librdkafka, {"acks": "0"}),
    Dialect("prefixed", _has("producer.", "consumer."), _prefixed),
    Dialect("librdkafka", _is_librdkafka, _librdkafka, {"acks": "all", "enable.idempotence": "false"}, has_java_client=False),
)
JAVA = Dialect("Java", lambda settings: True, lambda settings, role: {"": settings})


def dialect_of(settings: Settings) -> Dialect:
    """Return the first dialect that recognises the settings; else Java's.  Errors: `InputError` for two libraries' names."""
    return next((each for each in DIALECTS if each.recognises(settings)), JAVA)
