"""From the user's TOML file and `--set` options to a model and its complete configuration."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from model.catalogue import models
from model.kernel import Configuration, Model
from specs import keys
from specs.errors import InputError, unknown

Given = dict[str, tuple[Any, str]]
"""Raw values by key, each with the place that it came from, for messages."""

TABLES = ("topic", "producer", "consumer", "cluster", "faults", "start", "bounds", "mechanism")
PREFIXED = ("faults", "start", "bounds", "mechanism")
LARGEST_FILE = 64 * 1024 * 1024
"""Units: bytes.  The description of a cluster of 100,000 partitions takes about 10 MiB."""

DEFAULT_VERSION = "4.1"
"""The Kafka version that is meant where neither a model nor a version is named."""


@dataclass(frozen=True)
class Chosen:
    """A model with one complete configuration, and for whom it speaks (topics, for Kafka's own files).

    `release` is the Kafka version that was asked for, where no key departs from its mechanisms.
    """

    model: Model
    configuration: Configuration
    subjects: tuple[str, ...] = ()
    release: str | None = None


def read_bytes(path: Path | str, option: str = "", largest: int = LARGEST_FILE) -> bytes:
    """A user's file of at most so many bytes; `option` is what named it.

    Errors: `InputError` for a file that is missing, unreadable, a directory or too large.
    """
    named = f"{option} {str(path)!r}".lstrip()
    try:
        with open(path, "rb") as file:
            content = file.read(largest + 1)
    except IsADirectoryError:
        raise InputError(f"{named} is a directory; name a file") from None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise InputError(f"cannot read {named}: {reason}") from None
    if len(content) > largest:
        raise InputError(f"{named} is larger than {largest >> 20} MiB, more than is read; give a part of it")
    return content


def read_text(path: Path | str) -> str:
    """A user's text file.

    Errors: `InputError` as for bytes, and for what is not UTF-8.
    """
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise InputError(f"{str(path)!r} is not UTF-8 text (byte {problem.start}); save it as UTF-8") from None


def read_json(path: Path | str) -> dict[str, Any]:
    """A JSON document, ours or one that a user changed.

    Errors: `InputError` as for text, and for what is no JSON object.
    """
    try:
        found = json.loads(read_text(path))
    except (ValueError, RecursionError) as problem:
        raise InputError(f"{str(path)!r} is not JSON: {problem}") from None
    if not isinstance(found, dict):
        raise InputError(f"{str(path)!r} is not a document of ours: it is no JSON object")
    return found


def parsed_toml(text: str, where: str) -> dict[str, Any]:
    """A TOML document.

    Errors: `InputError` for what is none.
    """
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as problem:
        hint = "; what kafka-topics.sh prints goes with --describe" if text.startswith("Topic:") else ""
        raise InputError(f"malformed TOML in {where!r}: {problem}{hint}") from None


def read_toml(path: Path | str) -> Given:
    """The keys of a configuration file.

    Errors: `InputError` for malformed TOML, unknown tables, and keys in the wrong table.
    """
    document = parsed_toml(read_text(path), str(path))
    found: Given = {}
    for name, value in document.items():
        if not isinstance(value, dict):
            found[name] = (value, str(path))
            continue
        if name == "kafka":
            found |= {f"kafka.{key}": (each, str(path)) for key, each in _flat(value)}
            continue
        if name not in TABLES:
            raise unknown("table", name, TABLES, str(path))
        for key, each in _flat(value):
            full = f"{name}.{key}" if name in PREFIXED else key
            found[full] = (each, f"[{name}] of {path}")
            known = keys.KEYS.get(full)
            if known is not None and known.table != name:
                raise InputError(f"{full} in [{name}] of {str(path)!r} belongs in [{known.table}]")
    return found


def _flat(table: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    """Keys of nested tables joined by dots: TOML reads a bare `min.insync.replicas` as three tables."""
    for name, value in table.items():
        if isinstance(value, dict):
            yield from ((f"{name}.{rest}", each) for rest, each in _flat(value))
        else:
            yield name, value


def read_settings(settings: Iterable[str]) -> Given:
    """The keys of `--set KEY=VALUE` options."""
    found: Given = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or not name.strip():
            raise InputError(f"bad --set {setting!r}: write KEY=VALUE")
        found[name.strip()] = (value.strip(), "--set")
    return found


def read_given(config: str | None, settings: Iterable[str]) -> Given:
    """The keys of a configuration file, if there is one, and of the `--set` options, which win."""
    return (read_toml(config) if config else {}) | read_settings(settings)


def choose(
    given: Given,
    model_name: str | None = None,
    subjects: tuple[str, ...] = (),
    offered: Mapping[str, tuple[Any, str]] | None = None,
) -> Chosen:
    """The model that the keys name, with everything else defaulted.

    `offered` are a cluster's own settings: the given keys win over them, and those that the model does not read are left out.

    Errors: `InputError` for an unknown model, key or value.
    """
    given = dict(given)
    name, where = given.pop("model", (model_name, "the command line"))
    version, version_where = given.pop("kafka.version", (None, ""))
    if version is None and name is None and not offered:
        version, version_where = DEFAULT_VERSION, "the defaults"
    if version is not None:
        return _of_version(str(version), version_where, name, given, subjects, offered or {})
    name = _modern(dict(offered or {}) | given) if name is None else str(name)
    if name not in models():
        raise unknown("model", name, models(), where)
    model = models()[name]
    return Chosen(model, keys.configuration(model, _read_by(model, offered or {}) | given), subjects)


def chosen_of(cell: Mapping[str, Any]) -> Chosen:
    """The model and configuration of a cell of a result document."""
    stated = cell["config"] | cell["bounds"]
    return choose({str(key): (value, "result.json") for key, value in stated.items() if value != ""}, str(cell["model"]))


def _read_by(model: Model, offered: Mapping[str, tuple[Any, str]]) -> Given:
    """The offered keys that a model reads."""
    return {key: each for key, each in offered.items() if key in model.keys}


def _modern(given: Given) -> str:
    """The modern model for a cluster's files where neither a model nor a version is named."""
    has_elr = str(given.get("eligible.leader.replicas", ("false", ""))[0]).lower() == "true"
    return "kraft-elr" if has_elr and "kraft-elr" in models() else "kraft"


def _of_version(
    version: str,
    where: str,
    name: Any,
    given: Given,
    subjects: tuple[str, ...],
    offered: Mapping[str, tuple[Any, str]],
) -> Chosen:
    """The modern model with the mechanisms of a Kafka version; explicit keys win."""
    from model.mechanisms import mechanisms_of, model_of

    if name is not None:
        raise InputError(f"give model or kafka.version, not both ({name!r} and {version!r})")
    try:
        settings = mechanisms_of(version)
    except ValueError as problem:
        raise InputError(f"bad value {version!r} for kafka.version in {where}: {problem}") from None
    model = models()[model_of(version, dict(offered) | given)]
    defaults = {key: (value, f"Kafka {version}") for key, value in settings.items() if key in model.keys}
    configuration = keys.configuration(model, defaults | _read_by(model, offered) | given)
    release = ".".join(version.split(".")[:2])
    return Chosen(model, configuration, subjects, release if is_release(release, model, configuration) else None)


def is_release(version: str, model: Model, configuration: Configuration) -> bool:
    """Whether a model and configuration have exactly the mechanisms of a Kafka version, written as X.Y."""
    from model.mechanisms import mechanisms_of, model_of, parsed

    found, given = parsed(version), {key: (value, "") for key, value in configuration.items()}
    if found is None or version != ".".join(map(str, found)) or model.name != model_of(version, given):
        return False
    return all(configuration.get(key, value) == value for key, value in mechanisms_of(version).items())
