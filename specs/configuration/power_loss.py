"""A loss of power where every record is flushed before it is acknowledged: no record is lost, but the broker stops.

In the models a loss of power takes an unflushed suffix of a log, so with `flush.messages=1` it never happens there.  What is
asked instead is what it does to a cluster: a kill.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from neverlost.model.any_number import AnyNumber
from neverlost.model.faults import CRASH, DATA_LOSS, KILL, LOSSY_CRASH, OUT
from neverlost.model.kernel import Configuration, Model
from neverlost.model.limits import MOST
from neverlost.specs.errors import InputError

FLUSH = "flush.messages"
ANY = AnyNumber()


def add_kills(model: Model, configuration: Configuration) -> dict[str, Any]:
    """Return the configuration with a kill for each loss of power that loses nothing.

    Kills take the place of `faults.lossy_crash`, and stand beside `faults.data_loss`, which loses disks too.

    Errors: `InputError` for limits of several faults that no limit of kills stands for.
    """
    key = next((each.key for each in (LOSSY_CRASH, DATA_LOSS) if configuration.get(each.key)), None)
    if key is None or configuration.get(FLUSH) != "1" or _are_asked(configuration, key):
        return dict(configuration)
    kills = _count_kills(configuration, key)
    found = {**configuration, KILL.key: kills, **({key: 0} if key == LOSSY_CRASH.key else {})}
    if kills is None or model.contradiction(found) is not None:
        raise InputError(
            f"{key}={configuration[key]} with {FLUSH}=1: a power loss loses nothing then and counts as a kill; "
            f"{_suggest_instead(configuration, key)}"
        )
    return found


def _are_asked(configuration: Configuration, key: str) -> bool:
    """Return True if the limit of kills allows at least as many as there are power losses."""
    kill, counted = configuration[KILL.key], AnyNumber(counts_as=key.removeprefix("faults."))
    return ANY in (kill, configuration[CRASH.key]) or kill == counted or (key == DATA_LOSS.key and _may_be_out(configuration))


def _may_be_out(configuration: Configuration) -> bool:
    """Return True if a killed broker counts as out, and may be out wherever it may lose data."""
    out = configuration.get(OUT.key)
    beside = out.beside if isinstance(out, AnyNumber) else ()
    is_out = bool(beside) and configuration[KILL.key] == AnyNumber(counts_as=OUT.name)
    return is_out and all(fewer > more for fewer, more in pairwise(beside))


def _count_kills(configuration: Configuration, key: str) -> int | AnyNumber | None:
    """Return the limit of kills that allows the asked-for kills and one for each power loss, if there is one."""
    limit, kill = configuration[key], configuration[KILL.key]
    if configuration[CRASH.key]:
        return None
    if limit == ANY:
        return ANY
    if key == DATA_LOSS.key:
        return AnyNumber(counts_as=DATA_LOSS.name) if not kill and not isinstance(limit, int) else None
    if isinstance(limit, int) and isinstance(kill, int):
        return limit + kill if limit + kill <= MOST else None
    return limit if isinstance(limit, AnyNumber) and not kill else None


def _suggest_instead(configuration: Configuration, key: str) -> str:
    """Return what to ask where no limit of kills says the same."""
    beside = next((each.key for each in (CRASH, KILL) if configuration[each.key]), None)
    if key == LOSSY_CRASH.key:
        return f"leave it out, and count power losses in {beside or KILL.key} too"
    return f"use {key}=any:N" if beside is None else f"use {beside}=any"
