"""Reads rates and durations: `0.5 .. 2 /year`, `30 s .. 5 min`, `1.6 %` of disks a year, `2 TB`, `100 MB/s`."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from os import PathLike
from typing import Any

from neverlost.specs.configuration.input import parse_toml, read_text
from neverlost.specs.defects import DEFECTS
from neverlost.specs.errors import InputError, unknown

YEAR = 365.25 * 24 * 3600
"""Seconds in a year."""

BROKER, RACK, SITE, CONTROLLER = "broker", "rack", "site", "controller"
"""What an episode strikes: one broker, every broker of a rack, every broker, or the controllers and no replica."""

LOST, UNFLUSHED, KILLED, OUT = "lost", "unflushed", "killed", "out"
"""What an episode does to a replica: records are gone; what was not flushed is gone; its process died without notice; it is
only out of sync."""


@dataclass(frozen=True)
class EpisodeKind:
    """A kind of episode: what it strikes, what it does there, and a sentence.  If it `is_announced`, writes go on at once; else
    they stop until a broker's silence is noticed."""

    strikes: str
    effect: str
    says: str
    is_announced: bool = False


KINDS: Mapping[str, EpisodeKind] = {
    "process_crash": EpisodeKind(BROKER, KILLED, "the process of a broker dies"),
    "power_loss": EpisodeKind(BROKER, UNFLUSHED, "a broker loses power"),
    "disk_failure": EpisodeKind(BROKER, LOST, "a disk fails"),
    "planned_restart": EpisodeKind(BROKER, OUT, "a broker is restarted", is_announced=True),
    "slow_follower": EpisodeKind(BROKER, OUT, "a replica falls behind", is_announced=True),
    "network_cut": EpisodeKind(BROKER, OUT, "a broker is cut off"),
    "rack_power": EpisodeKind(RACK, UNFLUSHED, "a rack loses power"),
    "rack_network": EpisodeKind(RACK, OUT, "a rack is cut off"),
    "site_power": EpisodeKind(SITE, UNFLUSHED, "all racks lose power"),
    "controller_outage": EpisodeKind(CONTROLLER, OUT, "no controller is available"),
}
"""Every kind of episode."""

_NUMBER = r"(\d+(?:\.\d+)?(?:e-?\d{1,3})?)"
_TIMES = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}
_RATES = {"/h": YEAR / 3600, "/day": 365.25, "/week": 365.25 / 7, "/month": 12.0, "/year": 1.0}
_SIZES = {"MB": 1e6, "GB": 1e9, "TB": 1e12}
_SPEEDS = {"MB/s": 1e6, "GB/s": 1e9}
_SHARES = {"%": 0.01}
_RECORDS = {"records/s": 1.0, "records/min": 1 / 60, "records/h": 1 / 3600}
TAIL = ("written", "unflushed", "behind")
"""What a table [tail] has; there is none among the shipped rates."""

SHORTEST, LONGEST = 1 / YEAR, 100.0
"""How long an episode lasts at least and at most, in years: what a chain's numbers are right for."""

ALTERNATIVES = {"rate", "afr"}
"""How often something happens: a rate, or the probability of at least once a year."""

NAMES = tuple(each.name for each in DEFECTS)
"""The known defects whose races may have a rate."""


@dataclass(frozen=True)
class Range:
    """A value that lies between two; `low` is the smaller number.  Of a rate or a duration that is the end better for data."""

    low: float
    high: float

    def at(self, end: str) -> float:
        """Return the high value if `end` is `high`, else the low one."""
        return self.high if end == "high" else self.low


CERTAINLY_NOT = Range(0.0, 0.0)


@dataclass(frozen=True)
class Episode:
    """One kind of episode: how often a year it strikes each broker, rack, ... of its kind, and how many years its mark lasts.

    If it strikes racks, `common` is the probability that it strikes all other racks too; one that `waits` begins only while
    every replica is in sync.
    """

    name: str
    rate: Range
    duration: Range
    source: str
    common: Range = CERTAINLY_NOT
    waits: bool = False

    @property
    def kind(self) -> EpisodeKind:
        """The kind, which says what the episode strikes and what it does there."""
        return KINDS[self.name]


@dataclass(frozen=True)
class Window:
    """The race of a known defect: an episode of `first`, and then one of `then`, at most `within` years later.
    `of_same_broker`: both strike one broker. Otherwise they may strike any two of the replicas, or one of them twice."""

    first: tuple[str, ...]
    then: tuple[str, ...]
    within: Range
    of_same_broker: bool
    source: str


@dataclass(frozen=True)
class Tail:
    """How many records one loss can take: how many are acknowledged a second, for how many seconds a record is not flushed, and
    for how many it is on its leader alone.  The upper ends of the ranges bound a loss."""

    written: Range
    unflushed: Range
    behind: Range


@dataclass(frozen=True)
class Rates:
    """Every episode, and (`detection`) how many years pass until a leader that stopped without notice is replaced.  By the name
    of a known defect, `defects` has how often a year its race happens to a partition, if that is given, and `windows` the
    window from which it is computed if not.  A defect may be in neither."""

    episodes: tuple[Episode, ...]
    detection: Range
    defects: Mapping[str, Range]
    windows: Mapping[str, Window]
    tail: Tail | None = None

    def episode(self, name: str) -> Episode:
        return next(each for each in self.episodes if each.name == name)

    def prices(self, defect: str) -> bool:
        """Return True if a known defect, by its name, has a rate or a window, so that `race` can answer."""
        return defect in self.defects or defect in self.windows

    def race(self, defect: str, end: str, replicas: int) -> float:
        """Return an upper bound of how often a defect's race happens in a year to a partition with `replicas` replicas.

        `end` is `low` or `high`, for all ranges.  Of a defect without a rate it is how often both events fall into its window
        by chance.  Errors: `KeyError` for a defect that has neither.
        """
        if defect in self.defects:
            return self.defects[defect].at(end)
        window = self.windows[defect]
        first, then = (sum(self.episode(each).rate.at(end) for each in names) for names in (window.first, window.then))
        return replicas * first * then * (1 if window.of_same_broker else replicas) * window.within.at(end)


def rates(path: str | PathLike[str] | None = None) -> Rates:
    """Return the shipped rates; where the file of `path` has a value, that one instead.  Errors: `InputError` for unknown
    tables and keys, values without a unit, negative ones, ranges that begin above their end."""
    shipped = tomllib.loads((files(__package__) / "default_rates.toml").read_text(encoding="utf-8"))
    if path is None:
        return _rates(shipped, "the shipped rates")
    given = parse_toml(read_text(path), str(path))
    windows = _own_windows(shipped.pop("windows"), given.pop("windows", {}), str(path))
    tail = _tail(given.pop("tail"), str(path)) if "tail" in given else None
    for table, values in given.items():
        if table not in shipped:
            raise unknown("table", table, [*shipped, "tail"], str(path))
        if not isinstance(values, dict):
            raise InputError(f"bad value {values!r} for {table} in {path}: write it as a table, [{table}]")
        for key in values:
            allowed = NAMES if table == "defects" else _keys(shipped[table])
            if key not in allowed:
                raise unknown("key", f"{table}.{key}", [f"{table}.{each}" for each in allowed], str(path))
        if values.keys() >= ALTERNATIVES:
            raise InputError(f"{table} in {path} has a rate and an afr: give one of them")
    defects = given.pop("defects", {})
    tables = {name: _over(shipped[name], given.get(name, {})) for name in shipped}
    return replace(_rates(tables | {"defects": defects, "windows": windows}, str(path)), tail=tail)


def _tail(given: Any, path: str) -> Tail:
    """Return a user's table [tail] as a `Tail`; `InputError` unless it has exactly the keys of `TAIL`."""
    if not isinstance(given, dict) or given.keys() != set(TAIL):
        raise InputError(f'bad table [tail] in {path}: give {", ".join(TAIL)}, each once, such as behind = "1 s .. 30 s"')
    units = (_RECORDS, _TIMES, _TIMES)
    return Tail(*(_read(given, "tail", key, each, path) for key, each in zip(TAIL, units, strict=True)))


def _own_windows(shipped: Mapping[str, Any], given: Any, path: str) -> dict[str, Any]:
    """Return the shipped windows with a user's `within` and `source`; `InputError` for unknown windows, or other changes."""
    for name, values in given.items() if isinstance(given, dict) else [("windows", given)]:
        if name not in shipped or not isinstance(values, dict):
            raise unknown("table", f"windows.{name}", [f"windows.{each}" for each in shipped], path)
        for key, value in values.items():
            if key not in ("within", "source") and value != shipped[name].get(key):
                raise InputError(f"windows.{name}.{key} in {path} is not yours to set: only within and source are")
    return {name: {**table, **given.get(name, {})} for name, table in shipped.items()}


def _keys(shipped: Mapping[str, Any]) -> list[str]:
    """Return the keys that a user's table may have in place of this shipped one."""
    return sorted({*shipped, "source"} | (ALTERNATIVES if ALTERNATIVES & shipped.keys() else set()))


def _over(shipped: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a shipped table with the user's values in place of its own; a user's rate removes a shipped `afr`, and an `afr` a
    shipped rate.  Where a user gives values but no source, that is "your own"."""
    kept = {key: value for key, value in shipped.items() if not (key in ALTERNATIVES and ALTERNATIVES & set(given))}
    return {**kept, **({"source": "your own"} if given else {}), **given}


def _rates(tables: Mapping[str, Mapping[str, Any]], where: str) -> Rates:
    copying = tables["copying"]
    size, speed = _read(copying, "copying", "broker", _SIZES, where), _read(copying, "copying", "bandwidth", _SPEEDS, where)
    if not speed.low:
        raise InputError(f"bad value {copying['bandwidth']!r} for copying.bandwidth in {where}: nothing is ever copied")
    copied = Range(size.low / speed.high / YEAR, size.high / speed.low / YEAR)
    found = tuple(_episode(name, tables[name], copied, where) for name in KINDS)
    seconds = _read(tables["detection"], "detection", "session", _TIMES, where)
    defects = {name: _read(tables["defects"], "defects", name, _RATES, where) for name in tables["defects"]}
    windows = {name: _window(name, table, where) for name, table in tables["windows"].items()}
    return Rates(found, Range(seconds.low / YEAR, seconds.high / YEAR), defects, windows)


def _window(name: str, table: Mapping[str, Any], where: str) -> Window:
    seconds = _read(table, f"windows.{name}", "within", _TIMES, where)
    within = Range(seconds.low / YEAR, seconds.high / YEAR)
    return Window(tuple(table["first"]), tuple(table["then"]), within, table["of"] == "the same broker", table["source"])


def _episode(name: str, table: Mapping[str, Any], copied: Range, where: str) -> Episode:
    lasts = _read(table, name, "duration", _TIMES, where)
    duration = Range(lasts.low / YEAR, lasts.high / YEAR)
    if name == "disk_failure":
        duration = Range(duration.low + copied.low, duration.high + copied.high)
    if not SHORTEST <= duration.low <= duration.high <= LONGEST:
        limits = f"at least 1 s and at most 100 years{', the copying included' if name == 'disk_failure' else ''}"
        raise InputError(f"bad value {table['duration']!r} for {name}.duration in {where}: it lasts {limits}")
    rate = _rate(name, table, where)
    if rate.high > 1 / SHORTEST:
        raise InputError(f"bad value {table['rate']!r} for {name}.rate in {where}: more than once a second")
    waits = table.get("waits", False)
    if not isinstance(waits, bool):
        raise InputError(f"bad value {waits!r} for {name}.waits in {where}: write true or false")
    common = _probability(table, name, "common", where) if "common" in table else CERTAINLY_NOT
    return Episode(name, rate, duration, str(table.get("source", "your own")), common, waits)


def _rate(name: str, table: Mapping[str, Any], where: str) -> Range:
    """Return how often a year; an `afr`, the probability of at least one a year, is converted: `InputError` if it is 1."""
    if "afr" not in table:
        return _read(table, name, "rate", _RATES, where)
    share = _probability(table, name, "afr", where)
    if share.high == 1:
        raise InputError(f"bad value {table['afr']!r} for {name}.afr in {where}: what is certain has no rate")
    return Range(-math.log1p(-share.low), -math.log1p(-share.high))


def _probability(table: Mapping[str, Any], name: str, key: str, where: str) -> Range:
    found = _read(table, name, key, _SHARES, where)
    if found.high > 1:
        raise InputError(f"bad value {table[key]!r} for {name}.{key} in {where}: a probability is at most 100 %")
    return found


def _read(table: Mapping[str, Any], name: str, key: str, units: Mapping[str, float], where: str) -> Range:
    """Return the value of a key, times the factor of its unit; `InputError` for another text, unit, or order of a range."""
    text = table[key]
    match = re.fullmatch(rf"{_NUMBER}\s*(\S*)(?:\s*\.\.\s*{_NUMBER}\s*(\S+))?", str(text).strip(), re.ASCII)
    last = (match[4] or match[2]) if match else ""
    if not match or last not in units or (match[2] or last) not in units:
        allowed = ", ".join(units)
        raise InputError(f"bad value {text!r} for {name}.{key} in {where}: write a number that is not negative and {allowed}")
    low = float(match[1]) * units[match[2] or last]
    high = float(match[3]) * units[last] if match[3] else low
    if not (low <= high and math.isfinite(high)):
        raise InputError(f"bad value {text!r} for {name}.{key} in {where}: a range begins with its lower end")
    return Range(low, high)
