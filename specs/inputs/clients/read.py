"""Reads a producer's or consumer's settings, in the format and dialect in which their framework writes them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from neverlost.specs.errors import InputError, quote
from neverlost.specs.inputs.clients.frameworks import CONNECT, Dialect, dialect_of
from neverlost.specs.inputs.syntax.documents import looks_like_json, parse_json, parse_yaml
from neverlost.specs.inputs.syntax.known_keys import DECISIVE, known_to, meant, unknown_keys
from neverlost.specs.inputs.syntax.properties import parse_properties
from neverlost.specs.inputs.syntax.text import Path, lines_of, read_text, shown_name
from neverlost.specs.setting import Notice, NoticeKind, Origin, Setting, Settings

_YAML_LINE = re.compile(r"""---\s*$|\s*(- )?["']?[\w%.\[\]-]+["']?:\s*(#.*)?$|\s+["']?[\w.\[\]-]+["']?:\s""")
"""A document mark, a key with its value below it, or an indented key: what properties files do not have."""
_PLACEHOLDER = re.compile(r"\$\{|\$\(|\{\{|%\(|^@.*@$")


@dataclass(frozen=True)
class Client:
    """One producer or consumer: what the file calls it, how it writes settings, and the settings in the client's names."""

    name: str
    dialect: Dialect
    settings: Settings
    where: str
    notices: tuple[Notice, ...] = ()

    @property
    def shown(self) -> str:
        """What sentences call the client: its name in the file, if it has one, and the file."""
        return f"{quote(self.name)} in {self.where}" if self.name else self.where


def read_clients(path: Path, role: str) -> list[Client]:
    """Return the clients of a file; `role` is `producer` or `consumer`.

    Errors: `InputError` for a file that cannot be read or (but for Connect's workers) has no setting of such a client, for a
    mistyped key, and for a placeholder as the value of a decisive key.
    """
    name = shown_name(path)
    settings = flat_settings(read_text(path, f"--{role}-properties", encoding="iso-8859-1"), name)
    dialect = dialect_of(settings)
    found = [_client(each, dialect, own, role, name) for each, own in dialect.clients(settings, role).items()]
    _require_everything_read(settings, found, role, dialect)
    _require_known(settings, found, role, name, dialect)
    return found


def flat_settings(text: str, name: str) -> Settings:
    """Return the settings of a text by dotted key; its looks, not its name, say if it is JSON, YAML or properties.

    Errors: `InputError` for malformed text, and for YAML documents that set a key differently, but for a profile's name.
    """
    if looks_like_json(text):
        return parse_json(_utf8(text), name).settings()
    if any(_YAML_LINE.match(line) for line in lines_of(text)):
        found: Settings = {}
        for document in parse_yaml(_utf8(text), name):
            _merge(found, document.settings())
        return found
    return parse_properties(text, name)


def _utf8(text: str) -> str:
    """Return a text that was read as ISO 8859-1, as properties are, read as UTF-8; unchanged if it is not that."""
    try:
        return text.encode("iso-8859-1").decode("utf-8")
    except UnicodeError:
        return text


def _merge(found: Settings, more: Settings) -> None:
    """Effect: add more settings to `found`.  Errors: `InputError` for a key that has another value there, unless the key is
    that of a profile's name."""
    for key, each in more.items():
        if key in found and found[key].value != each.value and key.rpartition(".")[2] not in ("on-profile", "profiles"):
            raise InputError(
                f"{quote(key)} is {quote(found[key].value)} in {found[key].where} and {quote(each.value)} in {each.where}; "
                "give the document of the profile that runs"
            )
        found[key] = each


def _client(called: str, dialect: Dialect, own: Settings, role: str, name: str) -> Client:
    """Return one client, if a producer with what its framework sets by default, and a notice of the keys that Kafka does not
    know (none for Kafka Streams).

    Errors: `InputError` for a mistyped key, or a decisive value that is a placeholder.
    """
    for key in DECISIVE[role]:
        if key in own and _PLACEHOLDER.search(own[key].value.strip()):
            raise InputError(
                f"{key} in {own[key].where} is the placeholder {quote(own[key].value.strip())}; write the value that is used"
            )
    strange = unknown_keys(own, role) if dialect.name != "Kafka Streams" else {}
    settings = dialect.with_defaults(own) if role == "producer" else own
    return Client(called, dialect, settings, name, tuple(_ignored(strange, role)))


def _ignored(strange: Settings, role: str) -> Iterable[Notice]:
    """Yield one notice of the keys that Kafka's client does not know, if there are any: plug-ins and serializers read them."""
    if strange:
        keys = ", ".join(map(quote, list(strange)[:5])) + (", ..." if len(strange) > 5 else "")
        says = f"{len(strange)} key{'s' * (len(strange) > 1)} that Kafka's {role} does not know: {keys}"
        yield Notice(NoticeKind.IGNORED, says, next(iter(strange.values())).where)


def _require_everything_read(settings: Settings, found: list[Client], role: str, dialect: Dialect) -> None:
    """Errors: `InputError` for a key that resembles a decisive one and that the framework does not read."""
    clients = [each.settings for each in found]
    clients += [own for other in ("producer", "consumer") for own in dialect.clients(settings, other).values()]
    read = {id(each) for own in clients for each in own.values()}
    for key, each in settings.items():
        concerns = "." not in key or key in DECISIVE[role] or re.search(rf"kafka|{role}", key)
        is_left = concerns and id(each) not in read and not key.startswith("%")
        suggestion = meant(key, role) if is_left and not _is_overridden(key, each, role, dialect) else None
        if suggestion is not None:
            example = _example(dialect, role, suggestion)
            raise InputError(f"{quote(key)} in {each.where} is not read by {dialect.name}; write {example}")


def _is_overridden(key: str, setting: Setting, role: str, dialect: Dialect) -> bool:
    """Return True if a framework would read the setting if it stood alone: what the framework reads in its place is another."""
    return any(setting is each for own in dialect.clients({key: setting}, role).values() for each in own.values())


def _example(dialect: Dialect, role: str, key: str) -> str:
    """Return a key as a dialect writes it, such as `spring.kafka.producer.acks`; the key alone for a dialect without prefix."""
    start = {
        "Spring": f"spring.kafka.{role}.",
        "Spring Cloud Stream": f"spring.cloud.stream.kafka.binder.{role}-properties.",
        "Quarkus (SmallRye)": f"mp.messaging.{'outgoing' if role == 'producer' else 'incoming'}.CHANNEL.",
        "Kafka Connect": f"{role}.override.",
    }.get(dialect.name, "")
    return f"{start}{key}"


def _require_known(settings: Settings, found: list[Client], role: str, name: str, dialect: Dialect) -> None:
    """Errors: `InputError` for a file in which no client of the role has a known setting.  A Connect worker's producers need
    none, as Connect sets acks itself."""
    if any(key in known_to(role) for client in found for key, each in client.settings.items() if each.how == Origin.FILE):
        return
    if role == "producer" and dialect.name == CONNECT and "connector.class" not in settings:
        return  # a worker of defaults, which sets acks=all itself
    other = "consumer" if role == "producer" else "producer"
    if any(key in known_to(other) for key in settings):
        raise InputError(f"{name} has no setting of a {role} but those of a {other}; give it with --{other}-properties")
    raise InputError(
        f"{name} has no setting that a Kafka {role} knows (such as {DECISIVE[role][0]}=...): known are the Java client's and "
        "librdkafka's names, and how Spring, Quarkus, Connect and Streams write them"
    )
