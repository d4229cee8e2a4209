"""The glossary: what each key, fault, property, mechanism, model, defect, verdict and file means."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from neverlost.model.faults import CONSUMER_CRASH, FAULTS, NOTHING, PRODUCER_RETRY, RACK, Fault
from neverlost.model.kraft.mechanisms import MECHANISMS, Mechanism, version_text
from neverlost.model.protocols import models
from neverlost.model.quorum.mechanisms import LATER, LEARN_COMMITTED, QUORUM_MECHANISMS
from neverlost.model.system import bind
from neverlost.model.transactions.mechanisms import MECHANISMS as OF_TRANSACTIONS
from neverlost.reports.command_line.commands import COMMANDS
from neverlost.reports.output import exit_status
from neverlost.specs.configuration.choose import choose_each, read_settings
from neverlost.specs.configuration.keys import KEYS, Key, shown
from neverlost.specs.configuration.metadata_version import LEVELS, METADATA
from neverlost.specs.configuration.version_defaults import RELEASES, list_defaults
from neverlost.specs.configuration.version_defaults import shown as version_shown
from neverlost.specs.defects import DEFECTS, Defect
from neverlost.specs.errors import InputError, nearest
from neverlost.specs.inputs.recognise import readers
from neverlost.specs.inputs.sources import NOT_MODELLED
from neverlost.specs.properties import properties
from neverlost.specs.property import AVAILABILITY, RECOVERY, Property


@dataclass(frozen=True)
class Word:
    """A glossary entry: its kind, its meaning, and further lines such as values, default and source."""

    name: str
    kind: str
    says: str
    more: tuple[tuple[str, str], ...] = ()

    def document(self) -> dict[str, object]:
        return {"name": self.name, "kind": self.kind, "says": self.says, **dict(self.more)}


@cache
def all_words() -> dict[str, Word]:
    """Return every glossary entry by name; a fault or mechanism stands under its key, such as `faults.kill`."""
    found = [*_keys(), *_faults(), *_properties(), *_mechanisms(), *_models(), *_defects(), _described()]
    left_out = [Word(key, "key, not modelled", says, (("try", TRY_KEYS),)) for key, says in NOT_MODELLED.items()]
    return {each.name: each for each in [*found, *left_out, *_words()]}


@cache
def _other_forms() -> dict[str, str]:
    """Return the name of an entry by each form of it, folded: upper case, hyphens and underscores make no difference."""
    also = {form: name for name, entry in _read_words().items() for form in entry.get("also", ())}
    return {_fold(form): name for form, name in [*also.items(), *((name, name) for name in all_words())]}


def _fold(name: str) -> str:
    return name.lower().replace("-", " ").replace("_", " ")


def _read_words() -> dict[str, dict[str, Any]]:
    return tomllib.loads((files(__package__) / "words.toml").read_text(encoding="utf-8"))


def _words() -> list[Word]:
    left = ("kind", "says", "also")
    return [
        Word(name, each.get("kind", "word"), each["says"], tuple((key, text) for key, text in each.items() if key not in left))
        for name, each in _read_words().items()
    ]


def find_word(name: str) -> Word:
    """Return the glossary entry of a name or of another form of it; the prefix `faults.` or `mechanism.` may be left out.
    Errors: `InputError` for an unknown name, with the nearest known one if one is near."""
    text = name.strip().partition("=")[0]
    for each in (text, f"faults.{text}", f"mechanism.{text}"):
        if each in all_words():
            return all_words()[each]
    for each in (text, text.removesuffix("s")):
        if _fold(each) in _other_forms():
            return all_words()[_other_forms()[_fold(each)]]
    if text in COMMANDS:
        return Word(text, "command", COMMANDS[text], (("options", f"neverlost {text} --help"),))
    near = nearest(text.lower(), all_words())
    hint = f"did you mean {near!r}? " if near else ""
    raise InputError(f"there is nothing to explain about {name!r}; {hint}neverlost explain lists all words")


def _keys() -> list[Word]:
    special = {each.key for each in FAULTS}
    return [
        Word(key.name, "key", key.says, (("values", key.allowed), *_defaults(key), ("try", _try_key(key.name, _value(key)))))
        for key in KEYS.values()
        if key.name not in special
    ] + [
        _word(
            "kafka.version",
            "key",
            "the Kafka version, such as 3.9 or 3.9.0, for mechanisms and defaults (--kafka-version); not given: the newest",
            values=f"0.8 to {version_shown(max(RELEASES))}",
            try_=TRY_KEYS,
        ),
        _word(
            METADATA,
            "key",
            "the finalized feature level of the cluster, which decides some mechanisms whatever version the brokers run",
            values=f"{LEVELS[0]} to {LEVELS[-1]}",
            default="the newest of kafka.version",
            try_=f"{TRY_KEYS} --set {METADATA}=3.4-IV0",
        ),
        _word("model", "key", "the protocol, instead of a Kafka version", values=", ".join(models()), try_="neverlost models"),
    ]


KAFKA = "--set kafka.version=4.3"
TRY_KEYS = f"neverlost tolerance {KAFKA}"


def _word(name: str, kind: str, says: str, **more: str) -> Word:
    """Return an entry with those of its further lines that are not empty."""
    return Word(name, kind, says, tuple((key.strip("_").replace("_", " "), text) for key, text in more.items() if text))


def _defaults(key: Key) -> tuple[tuple[str, str], ...]:
    """Return Kafka's default of a key, and what commands take where it is not set, if that is something else."""
    default, taken = _default(key.name, key.default), _shown(key.default)
    is_kafkas = default == taken or f"{taken} from " in default
    return (("default", default), *([] if is_kafkas else [("commands take", f"{taken}, where it is not given")]))


def _try_key(key: str, value: str) -> str:
    """Return a command to try a key with, at this value."""
    if key == "filesystem.ordered":
        given = ("kafka.version=3.9", f"{key}=false", "replication.factor=2", "faults.leader_move=2", "faults.lossy_crash=1")
        return f"neverlost check {' '.join(f'--set {each}' for each in given)} --set defects=fixed --property acked-never-lost"
    if key in models()["kraft-elr"].keys and not key.startswith("mechanism."):
        return f"neverlost tolerance {KAFKA} --set {key}={value or 'a,b,c'}"
    name = next(name for name, each in models().items() if key in each.keys)
    return f"neverlost explore {name} --set {key}={value}"


def _value(key: Key) -> str:
    """Return a key's default as text; of a number the lowest that may be given, where the default is below that."""
    return _shown(max(key.default, key.low) if key.kind == "number" else key.default)


def _shown(value: object) -> str:
    plain = str(shown(value))
    return {"True": "true", "False": "false"}.get(plain, plain)


def _default(name: str, ours: object) -> str:
    """Return Kafka's default of a setting, by version where it changed; `ours` where no version has one."""
    changes: list[str] = []
    for version in sorted(RELEASES):
        value = list_defaults(version).get(name)
        if value is not None and (not changes or changes[-1].partition(" ")[0] != value.value):
            changes.append(f"{value.value} from {version_shown(version)}")
    if len(changes) == 1:
        return changes[0].partition(" ")[0]
    return ", ".join(changes) or _shown(ours)


def _allowed(fault: Fault) -> str:
    key = KEYS[fault.key]
    if fault.is_of_one_rack:
        return "0, any, or any:N (any number, N brokers at a time)"
    if fault.impairs != NOTHING:
        return key.allowed
    return f"a whole number from {key.low} to {key.high} (in all)" + " or any" * (fault not in (PRODUCER_RETRY, CONSUMER_CRASH))


def _faults() -> list[Word]:
    return [
        _word(
            each.key,
            "fault",
            f"how many times {each.says}",
            values=_allowed(each),
            default="0",
            loses_data="yes" if each.loses_data else "no",
            stands_for=", ".join(each.of or ()) + ", which share this limit" * bool(each.of),
            try_=_try_fault(each),
        )
        for each in FAULTS
    ]


def _try_fault(fault: Fault) -> str:
    name = next(name for name, each in models().items() if fault.key in each.keys)
    asked = f"{KAFKA} --property acked-never-lost" if name.startswith("kraft") else f"--set model={name}"
    where = "--set broker.rack=a,b,c " if fault.impairs == RACK else ""
    return f"neverlost check {where}--set {fault.key}={'any' if fault.is_of_one_rack else '1'} {asked}"


def _properties() -> list[Word]:
    status = {AVAILABILITY: exit_status.UNAVAILABLE, RECOVERY: exit_status.UNAVAILABLE}
    return [
        _word(
            each.name,
            "property",
            each.says,
            kind_=each.kind,
            exit_status=f"{status.get(each.kind, exit_status.VIOLATED)} if it is broken",
            broken_by=f"{'some configuration of' if each.violated_by in models() else 'the mutant'} {each.violated_by}",
            source=each.source or "",
            try_=_try_property(each),
        )
        for each in properties().values()
    ]


def _try_property(found: Property) -> str:
    """Return a command that asks for a property, of the first model that has what it reads."""
    asked = next(each for each in _QUESTIONS if {*found.needs} <= _fields(each))
    return f"neverlost check {asked} --property {found.name}"


_QUESTIONS = (
    f"{KAFKA} --set faults.kill=1",
    f"{KAFKA} --set faults.consumer_crash=1",
    "--set kafka.version=4.0 --set eligible.leader.replicas=true --set faults.lossy_crash=2",
    *(f"--set model={each}" for each in models()),
)
"""Options of `check`: a property is tried with the first of these whose states have all that it reads."""


@cache
def _fields(asked: str) -> frozenset[str]:
    """Return the fields that states have in every configuration about which these options of `check` ask."""
    every = [bind(each.model, each.configuration) for each in choose_each(read_settings(asked.split()[1::2]))]
    return frozenset.intersection(*(frozenset(each.places) for each in every))


def _mechanisms() -> list[Word]:
    return [
        _word(
            each.key,
            "mechanism",
            each.says,
            values="on or off; not given: as the version or model has it (with defects=fixed on, if it mends a defect)",
            versions=_versions(each),
            source=each.source,
            try_=_try_key(each.key, "on" if each in LATER else "off"),
        )
        for each in (*MECHANISMS, *QUORUM_MECHANISMS, LEARN_COMMITTED, *OF_TRANSACTIONS)
    ]


def _versions(mechanism: Mechanism) -> str:
    if mechanism.since is None:
        return "none has it"
    until = f", gone in {version_text(mechanism.until)}" if mechanism.until else ""
    return f"from {version_text(mechanism.since)} on{until}"


def _models() -> list[Word]:
    return [
        Word(each.name, "model", each.summary, (("source", each.source), ("try", f"neverlost explore {each.name}")))
        for each in models().values()
    ]


def _defects() -> list[Word]:
    mended = ", where it is mended"
    return [
        _word(
            each.name,
            "defect",
            each.says,
            versions=each.versions + mended * (" until " in each.versions),
            report=each.report,
            mended_by=each.mends,
            avoided_by=each.avoid or "a release without it" * (" until " in each.versions) or "no setting that is known here",
            try_=_try_defect(each),
        )
        for each in DEFECTS
    ]


def _try_defect(defect: Defect) -> str:
    """Return a command about the newest version that has a defect, with this defect mended."""
    newest = max(each for each in RELEASES if len(each) == 2 and defect.is_in(version_shown(each)))
    return f"neverlost tolerance --set kafka.version={version_shown(newest)} --set {defect.mechanism.key}=on"


def _described() -> Word:
    says = "what describes a cluster: files for --describe or --configs (each takes every format), recognised by their content"
    formats = "; ".join(each.NAME for each in readers().values())
    return _word(
        "describe", "file", says, formats=formats, try_="neverlost tolerance --describe topics.txt --kafka-version 4.3"
    )
