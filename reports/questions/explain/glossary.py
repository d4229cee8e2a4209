"""The glossary: what each key, fault, property, mechanism, model, defect, verdict and file means."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from neverlost.checker.engine.outcome import Verdict
from neverlost.model.faults import FAULTS
from neverlost.model.kraft.mechanisms import MECHANISMS, Mechanism, version_text
from neverlost.model.protocols import models
from neverlost.model.quorum.mechanisms import LEARN_COMMITTED, QUORUM_MECHANISMS
from neverlost.model.transactions.mechanisms import MECHANISMS as OF_TRANSACTIONS
from neverlost.reports.output import exit_status
from neverlost.specs.configuration.keys import KEYS, shown
from neverlost.specs.configuration.metadata_version import LEVELS, METADATA
from neverlost.specs.configuration.version_defaults import RELEASES, list_defaults
from neverlost.specs.configuration.version_defaults import shown as version_shown
from neverlost.specs.defects import DEFECTS
from neverlost.specs.errors import InputError, nearest
from neverlost.specs.inputs.recognise import readers
from neverlost.specs.properties import properties
from neverlost.specs.property import AVAILABILITY, RECOVERY


@dataclass(frozen=True)
class Word:
    """A glossary entry: its kind, its meaning, and further lines such as values, default and source."""

    name: str
    kind: str
    says: str
    more: tuple[tuple[str, str], ...] = ()

    def document(self) -> dict[str, object]:
        return {"name": self.name, "kind": self.kind, "says": self.says, **dict(self.more)}


SCREEN_WORDS = {
    "tolerance": "a table of what a configuration survives: so many brokers lose data at once while so many others are out",
    "cell": "a place of that table: [1,2] is one broker that loses data while two others are out",
    "out": "of a broker: slow, cut off (fenced) or stopped, with its disk intact",
    "data loss": "of a broker: it comes back without records that it had, after a power loss or with a new disk",
    "writes stop": "producers with acks=all get NotEnoughReplicas; nothing that was acknowledged is lost",
    "region": "the cells of a table in which nothing is lost; nines bounds how often a cluster leaves it",
    "nines": "how small the probability of loss in a year is, as -log10: 3 nines are 1 in 1,000",
    "ELR": "eligible leader replicas (KIP-966, from 4.1): replicas outside the ISR that have every committed record",
    "ISR": "in-sync replicas: those that an acks=all write waits for; in sync is not on disk",
    "HW": "high watermark: the offset below which records are committed, and consumers read",
    "LEO": "log end offset: where a replica's next record goes",
    "designed": "Kafka as its design promises it, with every known bug mended: defects=fixed",
    "shipped": "Kafka as released, with its known bugs: defects=shipped, the default",
    "waive": "leave a known bug out of Kafka as released: --waive NAME",
    "rack": "brokers that lose power, or are cut off, together: broker.rack",
    "state": "logs, ISR and leader as a figure shows them; neverlost state FILE: what is committed and what one fault loses",
    "atlas": "the shipped results, in which common questions are looked up; --again computes them",
}
"""The words that screens and tables use."""


@cache
def all_words() -> dict[str, Word]:
    """Return every glossary entry by name; a fault or mechanism also stands under the name of its key."""
    found = [*_keys(), *_faults(), *_properties(), *_mechanisms(), *_models(), *_defects(), *_verdicts(), _described()]
    found += [Word(name, "word", says) for name, says in SCREEN_WORDS.items()]
    return {each.name: each for each in found}


def find_word(name: str) -> Word:
    """Return the glossary entry of a name, whose prefix `faults.` or `mechanism.` may be left out.  Errors: `InputError` for
    an unknown name, with the nearest known one."""
    text = name.strip().partition("=")[0]
    for each in (text, text.lower(), text.upper(), f"faults.{text}", f"mechanism.{text}"):
        if each in all_words():
            return all_words()[each]
    near = nearest(text.lower(), all_words())
    hint = f"did you mean {near!r}? " if near else ""
    raise InputError(f"there is nothing to explain about {name!r}; {hint}neverlost explain lists all words")


def _keys() -> list[Word]:
    special = {each.key for each in FAULTS}
    return [
        Word(key.name, "key", key.says, (("values", key.allowed), ("default", _default(key.name, key.default))))
        for key in KEYS.values()
        if key.name not in special
    ] + [
        Word(
            "kafka.version",
            "key",
            "the Kafka version, for mechanisms and defaults (--kafka-version)",
            (("values", f"0.8 to {version_shown(max(RELEASES))}"),),
        ),
        Word(
            METADATA,
            "key",
            "the finalized level, which decides some mechanisms whatever version the brokers run",
            (("values", f"{LEVELS[0]} to {LEVELS[-1]}"), ("default", "the newest of kafka.version")),
        ),
        Word("model", "key", "the protocol, instead of a Kafka version", (("values", ", ".join(models())),)),
    ]


def _default(name: str, ours: object) -> str:
    """Return Kafka's default of a setting, by version where it changed."""
    changes: list[str] = []
    for version in sorted(RELEASES):
        value = list_defaults(version).get(name)
        if value is not None and (not changes or changes[-1].partition(" ")[0] != value.value):
            changes.append(f"{value.value} from {version_shown(version)}")
    if len(changes) == 1:
        return changes[0].partition(" ")[0]
    plain = str(shown(ours))
    return ", ".join(changes) or {"True": "true", "False": "false"}.get(plain, plain)


def _faults() -> list[Word]:
    return [
        Word(
            each.key,
            "fault",
            f"how many times {each.says}",
            (
                ("values", KEYS[each.key].allowed),
                ("default", "0"),
                ("loses data", "yes" if each.loses_data else "no"),
                *([("stands for", ", ".join(each.of))] if each.of else []),
            ),
        )
        for each in FAULTS
    ]


def _properties() -> list[Word]:
    status = {AVAILABILITY: exit_status.UNAVAILABLE, RECOVERY: exit_status.UNAVAILABLE}
    return [
        Word(
            each.name,
            "property",
            each.says,
            (
                ("kind", each.kind),
                ("exit status", str(status.get(each.kind, exit_status.VIOLATED))),
                ("broken by", each.violated_by),
                *([("source", each.source)] if each.source else []),
            ),
        )
        for each in properties().values()
    ]


def _mechanisms() -> list[Word]:
    return [
        Word(
            each.key, "mechanism", each.says, (("values", "on or off"), ("versions", _versions(each)), ("source", each.source))
        )
        for each in (*MECHANISMS, *QUORUM_MECHANISMS, LEARN_COMMITTED, *OF_TRANSACTIONS)
    ]


def _versions(mechanism: Mechanism) -> str:
    if mechanism.since is None:
        return "none has it"
    until = f" until {version_text(mechanism.until)}" if mechanism.until else ""
    return f"from {version_text(mechanism.since)}{until}"


def _models() -> list[Word]:
    return [Word(each.name, "model", each.summary, (("source", each.source),)) for each in models().values()]


def _defects() -> list[Word]:
    return [
        Word(each.name, "defect", each.says, (("versions", each.versions), ("report", each.report), ("mended by", each.mends)))
        for each in DEFECTS
    ]


def _described() -> Word:
    return Word(
        "describe",
        "file",
        "what describes a cluster: files for --describe and --configs, recognised by their content",
        (("formats", "; ".join(each.NAME for each in readers().values())),),
    )


def _verdicts() -> list[Word]:
    return [
        Word(
            str(Verdict.HOLDS),
            "verdict",
            "every state that the faults and bounds allow was visited, and the property is true in all of them",
            (("exit status", str(exit_status.HOLDS)),),
        ),
        Word(
            str(Verdict.VIOLATED),
            "verdict",
            "there is a behaviour that breaks the property; the shortest one is shown, re-executed on the defining interpreter",
            (("exit status", f"{exit_status.VIOLATED}, or {exit_status.UNAVAILABLE} where only availability is lost"),),
        ),
        Word(
            str(Verdict.INCONCLUSIVE),
            "verdict",
            "a limit was reached, or the search stopped at another property's violation; nothing is claimed",
            (("exit status", str(exit_status.INCONCLUSIVE)),),
        ),
    ]
