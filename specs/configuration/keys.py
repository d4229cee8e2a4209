"""The configuration keys of the command line contract: names, values, defaults, and what is wrong with a value.

Kafka's own names where Kafka has one.  In TOML they sit in tables; with `--set` the key stands alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from neverlost.model.any_number import AnyNumber
from neverlost.model.faults import FAULTS
from neverlost.model.kernel import Configuration, Model
from neverlost.model.kraft.mechanisms import PREFIX
from neverlost.model.limits import AT_ONCE, MOST, NO_LIMIT, parsed
from neverlost.model.transactions.state import FAULTS as TRANSACTION_FAULTS
from neverlost.model.transactions.store import RESULTS, TRANSACTION
from neverlost.specs.defects import FIXES
from neverlost.specs.errors import InputError, listed, unknown

MECHANISM = PREFIX
"""How the keys of mechanisms begin."""


@dataclass(frozen=True)
class Key:
    """One configuration key.

    `kind` is `number` (with inclusive bounds), `flag`, `choice` (the values are the keys of `spellings`,
    which maps every accepted spelling to the canonical one) or `names` (a comma separated list).
    """

    name: str
    table: str
    kind: str
    default: Any
    says: str
    low: int = 0
    high: int = 1
    spellings: Mapping[str, str] | None = None

    def parse(self, raw: Any, where: str) -> Any:
        """Return the value of a text (or of a TOML value).

        Errors: `InputError` with the value, the place and what is allowed.
        """
        text = ",".join(map(str, raw)) if isinstance(raw, list) else str(raw).strip()
        found = getattr(self, f"_parse_{self.kind}")(text)
        if found is None:
            raise InputError(f"bad value {text!r} for {self.name} in {where}: use {self.allowed}")
        return found

    def _parse_number(self, text: str) -> int | None:
        if len(text) > 9 or not (text.isascii() and text.isdigit()):
            return None
        return int(text) if self.low <= int(text) <= self.high else None

    def _parse_limit(self, text: str) -> int | AnyNumber | None:
        return parsed(text)

    def _parse_flag(self, text: str) -> bool | None:
        return {"true": True, "on": True, "false": False, "off": False}.get(text.lower())

    def _parse_choice(self, text: str) -> str | None:
        return (self.spellings or {}).get(text.lower())

    def _parse_names(self, text: str) -> tuple[str, ...] | None:
        names = tuple(part.strip() for part in text.split(",")) if text else ()
        return names if all(names) else None

    @property
    def allowed(self) -> str:
        """What a value may be, for error messages."""
        if self.kind == "number":
            return f"a whole number from {self.low} to {self.high}"
        if self.kind == "limit":
            return f"a whole number from {self.low} to {self.high}, any, or any:N for N brokers at once"
        if self.kind == "flag":
            return "true or false" if not self.name.startswith(MECHANISM) else "on or off"
        if self.kind == "choice":
            return " or ".join(sorted(set((self.spellings or {}).values())))
        return "a comma separated list of names"


def _number(name: str, table: str, default: int, low: int, high: int, says: str) -> Key:
    return Key(name, table, "number", default, says, low, high)


def _flag(name: str, table: str, default: bool, says: str) -> Key:
    return Key(name, table, "flag", default, says)


def _choice(name: str, table: str, default: str, says: str, *choices: str, **aliases: str) -> Key:
    return Key(name, table, "choice", default, says, spellings={each: each for each in choices} | aliases)


KEYS: dict[str, Key] = {
    each.name: each
    for each in (
        _number("replication.factor", "topic", 3, 1, 7, "replicas of the partition"),
        _number("quorum.voters", "cluster", 3, 1, 5, "controllers that vote (their number in controller.quorum.voters)"),
        _number("quorum.observers", "cluster", 0, 0, 3, "controllers that do not vote at first and may be added"),
        _number("min.insync.replicas", "topic", 1, 1, 7, "ISR size below which acks=all writes are refused"),
        Key(
            "acks",
            "producer",
            "choice",
            "all",
            "when the producer is answered",
            spellings={
                "0": "0",
                "1": "1",
                "all": "all",
                "-1": "all",
                "min.insync.replicas": "min.insync.replicas",
                "-2": "min.insync.replicas",
            },
        ),
        _flag("unclean.leader.election.enable", "topic", False, "a replica outside the ISR may be elected"),
        _flag("eligible.leader.replicas", "cluster", False, "eligible leader replicas (KIP-966)"),
        _choice(
            "election.policy",
            "cluster",
            "any",
            "which eligible replica the controller picks; proposed: by its log; fenced: of enough that refuse older epochs",
            "any",
            "preferred",
            "longest-log",
            "fenced-longest-log",
        ),
        _choice(
            "flush.messages",
            "topic",
            "default",
            "1: every record is on disk before it is acknowledged; a power loss loses nothing then",
            "1",
            "default",
        ),
        _flag("enable.idempotence", "producer", True, "the broker removes duplicates of retries"),
        _choice(
            "consumer.commit",
            "consumer",
            "after-processing",
            "when the consumer commits its offset",
            "after-processing",
            "before-processing",
        ),
        _choice("defects", "cluster", "shipped", "whether the known defects of the version are in", "shipped", "fixed"),
        Key("broker.rack", "cluster", "names", (), "one rack per replica, such as a,a,b"),
        *[Key(each.key, "faults", "limit", 0, f"how many times {each.says}", 0, MOST) for each in FAULTS],
        _number(AT_ONCE, "faults", NO_LIMIT, NO_LIMIT, MOST, "how many brokers may be impaired at once (0: no limit)"),
        _number("start.outside_isr", "start", 0, 0, 6, "replicas outside the ISR when the search begins, which may come back"),
        Key(
            "start.replicas", "start", "names", (), "how each replica stands when the search begins: leader, isr, elr, out, ..."
        ),
        _number("start.stored", "start", 0, 0, 9, "acknowledged records at most that are stored when the search begins"),
        _choice(
            "transaction.version", "cluster", "2", "2: every transaction ends with a new producer epoch (KIP-890)", "1", "2"
        ),
        _choice(
            "isolation.level",
            "consumer",
            "read_committed",
            "which records consumers of the results read",
            "read_committed",
            "read_uncommitted",
        ),
        _choice("results", "consumer", TRANSACTION, "where the application writes its results and its offset", *RESULTS),
        *[
            _number(f"faults.{name}", "faults", 0, 0, MOST, f"how many times {says}")
            for name, says in TRANSACTION_FAULTS.items()
        ],
        _number(
            "bounds.producers", "bounds", 2, 1, 4, "producers with one transactional.id, each started after the one before"
        ),
        _number("bounds.partitions", "bounds", 2, 1, 3, "partitions that a transaction writes results to"),
        _number("bounds.transactions", "bounds", 2, 1, 4, "transactions that may be begun"),
        _number("bounds.records", "bounds", 2, 1, 9, "records that may be produced"),
        _number("bounds.voter_changes", "bounds", 0, 0, 4, "voters of the controller quorum that may be added or removed"),
        _number("bounds.log_size", "bounds", 0, 1, 12, "slots of a log (default: bounds.records)"),
        _number("bounds.max_leader_epoch", "bounds", 2, 0, 30, "highest leader epoch"),
    )
}
"""Every key; `bounds.log_size` has no default of its own."""

GROWING = tuple(each.key for each in FAULTS if not each.is_structural)
"""Budgets that only a guard and their own countdown read: a larger one has every behaviour of a smaller one, and more."""


def key_of(name: str, where: str, available: tuple[str, ...] | None = None) -> Key:
    """Return the key of a name.

    Errors: `InputError` for a name that does not exist, or that the model does not read.
    """
    if name.startswith(MECHANISM) and (available is None or name in available):
        return _flag(name, "mechanism", True, "one mechanism of the modern model")
    if available is not None and name not in available:
        if name in KEYS:
            raise InputError(f"{name} in {where} is not read by this model; {listed(available, before='it reads: ')}")
        raise unknown("key", name, available, where)
    if name not in KEYS:
        raise unknown("key", name, KEYS, where)
    return KEYS[name]


def configuration(model: Model, given: Mapping[str, tuple[Any, str]]) -> Configuration:
    """Return a complete configuration of a model from raw values with the place of each.

    Errors: `InputError` for unknown keys, values out of range, and values that contradict each other.
    """
    values: dict[str, Any] = {}
    for name, (raw, where) in given.items():
        values[name] = key_of(name, where, model.keys).parse(raw, where)
    if values.get("defects") == "fixed":
        values |= _fixes(values, given)
    for name in model.keys:
        if name not in values:
            default = key_of(name, "defaults").default
            values[name] = model.defaults.get(name, default) if name != "bounds.log_size" else values_log_size(model, values)
    complete = {name: values[name] for name in model.keys}
    wrong = model.contradiction(complete)
    if wrong is not None:
        raise InputError(wrong)
    return complete


def _fixes(values: Mapping[str, Any], given: Mapping[str, tuple[Any, str]]) -> dict[str, bool]:
    """Return the keys of all known defects' fixes, switched on. Errors: `InputError` where one is switched off by name."""
    for name in FIXES:
        if values.get(name) is False:
            raise InputError(f"{name}=off in {given[name][1]} contradicts defects=fixed: leave one of them out")
    return dict.fromkeys(FIXES, True)


def values_log_size(model: Model, values: Mapping[str, Any]) -> int:
    """Return the default number of log slots: one for each record."""
    return int(values.get("bounds.records", model.defaults.get("bounds.records", KEYS["bounds.records"].default)))


def is_setting(key: str) -> bool:
    """Return True for a key that an operator chooses; faults, the initial state and bounds are not chosen."""
    return not key.startswith(("faults.", "start.", "bounds."))


def is_without_faults(configuration: Mapping[str, Any]) -> bool:
    """Return True if a configuration has fault limits and all of them are zero."""
    budgets = [value for name, value in configuration.items() if name.startswith("faults.") and name != AT_ONCE]
    return bool(budgets) and not any(budgets)


def shown(value: Any) -> Any:
    """Return a configuration value as JSON and text show it."""
    if isinstance(value, AnyNumber):
        return str(value)
    return ",".join(value) if isinstance(value, tuple) else value
