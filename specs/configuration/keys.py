"""The configuration keys of the command line contract: names, values, defaults, and what is wrong with a value.

Kafka's own names where Kafka has one.  In TOML they sit in tables; with `--set` the key stands alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from neverlost.model.any_number import AnyNumber
from neverlost.model.faults import FAULTS
from neverlost.model.kernel import Configuration, Model
from neverlost.model.kraft.mechanisms import PREFIX
from neverlost.model.limits import AT_ONCE, MOST, parsed
from neverlost.model.toml_beside import read_toml_beside
from neverlost.model.transactions.state import FAULTS as TRANSACTION_FAULTS
from neverlost.specs.defects import FIXES
from neverlost.specs.errors import InputError, listed, unknown

MECHANISM = PREFIX
"""How the keys of mechanisms begin."""


@dataclass(frozen=True)
class Key:
    """One configuration key.

    `kind` is `number` (from `low` to `high`, inclusive), `limit` (of a fault), `flag`, `choice` (`spellings` maps each text
    that is accepted, in lower case, to the value that it means) or `names` (a comma separated list).
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
            return f"a whole number from {self.low} to {self.high} (in all), any, or any:N (any number, N brokers at a time)"
        if self.kind == "flag":
            return "true or false" if not self.name.startswith(MECHANISM) else "on or off"
        if self.kind == "choice":
            return " or ".join(sorted(set((self.spellings or {}).values())))
        return "a comma separated list of names"


def _read_keys() -> Iterator[Key]:
    """Yield the keys of `keys.toml`, in its order, and one for the limit of each fault: the partition's faults come before
    `faults.at_once`, the transactions' before `bounds.producers`."""
    for name, each in read_toml_beside(__name__).items():
        if name == AT_ONCE:
            yield from (Key(fault.key, "faults", "limit", 0, f"how many times {fault.says}", 0, MOST) for fault in FAULTS)
        if name == "bounds.producers":
            for fault, says in TRANSACTION_FAULTS.items():
                yield Key(f"faults.{fault}", "faults", "number", 0, f"how many times in all {says}", 0, MOST)
        default = () if each["kind"] == "names" else each.pop("default")
        choices = {choice: choice for choice in each.pop("choices", ())} | each.pop("spellings", {})
        yield Key(name, **{**each, "default": default}, spellings=choices or None)


KEYS = {each.name: each for each in _read_keys()}
"""Every key; `bounds.log_size` has no default of its own."""

GROWING = tuple(each.key for each in FAULTS if not each.is_structural)
"""Budgets that only a guard and their own countdown read: a larger one has every behaviour of a smaller one, and more."""


def key_of(name: str, where: str, available: tuple[str, ...] | None = None) -> Key:
    """Return the key of a name.

    Errors: `InputError` for a name that does not exist, or is not in `available`.  Where that is None any name that begins
    with `mechanism.` passes.
    """
    if name.startswith(MECHANISM) and (available is None or name in available):
        return Key(name, "mechanism", "flag", True, "one mechanism of the modern model")
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
    """Return True for a key that an operator chooses: for any but those of faults, the initial state (`start.`) and bounds."""
    return not key.startswith(("faults.", "start.", "bounds."))


def is_without_faults(configuration: Mapping[str, Any]) -> bool:
    """Return True if a configuration has limits of faults (`faults.at_once` does not count) and all of them are zero."""
    budgets = [value for name, value in configuration.items() if name.startswith("faults.") and name != AT_ONCE]
    return bool(budgets) and not any(budgets)


def shown(value: Any) -> Any:
    """Return a configuration value as JSON and text show it: a limit without a total as text (`any`), names joined by commas,
    any other value unchanged."""
    if isinstance(value, AnyNumber):
        return str(value)
    return ",".join(value) if isinstance(value, tuple) else value
