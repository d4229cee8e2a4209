"""Forecasts before a run: what may be lowered, what fits this machine, and what a forecast says; honest afterwards."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rich.console import Console
from rich.text import Text

from neverlost.checker.campaign.forecast import Estimate, Forecast, Point, forecast
from neverlost.checker.campaign.sweep import Sweeper
from neverlost.checker.outcome import Outcome
from neverlost.checker.search.options import Options
from neverlost.model.catalogue import models
from neverlost.model.kernel import Configuration
from neverlost.model.system import System, bind
from neverlost.reports import exit_status
from neverlost.reports import request as run
from neverlost.reports.documents import result
from neverlost.reports.request import Request
from neverlost.reports.terminal import results as terminal
from neverlost.specs.configuration.choose import Chosen
from neverlost.specs.configuration.keys import KEYS
from neverlost.specs.errors import InputError
from neverlost.specs.property import Property

SECONDS = 10.0
"""How long smaller searches are run for a forecast."""

SHARE = 0.1
"""The part of a time limit that a forecast may take."""

SCHEMA = "neverlost.forecast/1"
REFUSED = "refused, because it cannot fit"

NOTHING = f"not even the smallest sizes were explored in {SECONDS:g} s of processor time"

SHORTEST = 0.5
"""Units: seconds.  Nothing is learned in less."""


@dataclass(frozen=True)
class Axis:
    """Keys that are lowered together, from their value down to a floor."""

    keys: tuple[str, ...]
    floor: int
    value: int


@dataclass(frozen=True)
class Lowered:
    """Makes the system of a model with smaller bounds and budgets; can be sent to another process."""

    model: str
    configurations: tuple[Configuration, ...]
    axes: tuple[Axis, ...]

    def __call__(self, point: Point) -> System:
        changes = {key: size for axis, size in zip(self.axes, point, strict=True) for key in axis.keys}
        return bind(models()[self.model], *[dict(each) | changes for each in self.configurations])


def axes_of(configurations: Sequence[Configuration]) -> tuple[Axis, ...]:
    """The budgets and bounds that can be lowered in all configurations; a log is as long as there are records."""
    found = []
    first = configurations[0]
    for name, value in first.items():
        known = KEYS.get(name)
        if known is None or known.table not in ("faults", "bounds") or name == "bounds.log_size":
            continue
        together = (name,)
        if name == "bounds.records" and first.get("bounds.log_size") == value:
            together = (name, "bounds.log_size")
        if (
            isinstance(value, int)
            and value > known.low
            and all(each[key] == value for each in configurations for key in together)
        ):
            found.append(Axis(together, known.low, value))
    return tuple(found)


def forecast_of(model: str, configurations: Sequence[Configuration], options: Options, seconds: float) -> Forecast | None:
    """The forecast of a search of these configurations together."""
    axes = axes_of(configurations)
    make = Lowered(model, tuple(dict(each) for each in configurations), axes)
    return forecast(make, tuple(each.floor for each in axes), tuple(each.value for each in axes), options, seconds)


def search(system: System, asked: Sequence[Property], request: Request) -> tuple[Outcome, dict[str, Any]]:
    """Run the engine; where limits are given, say first what it will cost, and refuse what cannot fit.

    Before it refuses it searches as long as the forecast took: a violation may be near.
    Returns the outcome, and `{"forecast": ...}` for its document.
    """
    options = request.options()
    found = None
    if is_wanted(request):
        found = forecast_of(system.model.name, system.configurations, options, time_for(request.time_limit))
    if found is None:
        return run.search(system, asked, request), {}
    tell(found, request)
    why = refusal(found, axes_of(system.configurations), options, request.engine)
    if why is None:
        return run.search(system, asked, request), {"forecast": document(found)}
    outcome = run.search(system, asked, replace(request, time_limit=time_for(request.time_limit)))
    if outcome.reason is not None:
        outcome = replace(outcome, reason=f"{REFUSED}: {why} (--no-forecast runs it anyway)")
    return outcome, {"forecast": document(found)}


def of_sweep(sweeper: Sweeper, request: Request, seconds: float) -> Forecast | None:
    """What the searches of a sweep cost together: at most, for what one search settles the next need not search.

    Errors: `InputError` where one of them cannot fit.
    """
    options, whole = request.options(), None
    groups = sweeper.groups()
    ended = time.monotonic() + seconds
    for number, members in enumerate(groups):
        model = sweeper.cells[members[0]][0].name
        configurations = [sweeper.cells[each][1] for each in members]
        share = max(SHORTEST, ended - time.monotonic()) / (len(groups) - number)
        found = forecast_of(model, configurations, options, share)
        if found is None:
            return None
        why = refusal(found, axes_of(configurations), options, request.engine)
        if why is not None:
            raise InputError(
                f"{REFUSED}: in the search of {len(members)} cells of {model}, {why} (--no-forecast runs it anyway)"
            )
        whole = found if whole is None else _together(whole, found)
    return whole


def _together(one: Forecast, other: Forecast) -> Forecast:
    """One search after the other: memory is that of the larger."""
    larger = max(one, other, key=lambda each: each.memory.likely)
    return replace(
        larger,
        states=one.states.plus(other.states),
        generated=one.generated.plus(other.generated),
        seconds=one.seconds.plus(other.seconds),
        samples=one.samples + other.samples,
        sampled_seconds=one.sampled_seconds + other.sampled_seconds,
        exact=one.exact and other.exact,
    )


def is_wanted(request: Request) -> bool:
    """Whether limits ask for a forecast, and leave time for it."""
    limited = request.time_limit is not None or request.memory_limit is not None
    return limited and request.forecast is not False and not request.resume and time_for(request.time_limit) >= SHORTEST


def tell(found: Forecast, request: Request) -> None:
    """The forecast on stderr, and whether the time will do."""
    err = Console(stderr=True, highlight=False, soft_wrap=True)
    err.print(Text(sentence(found), "cyan"))
    if request.time_limit is not None and found.seconds.low > request.time_limit:
        err.print(Text(f"forecast: --time-limit {request.time_limit:g} will probably end it before that", "yellow"))


def only(every: Sequence[Chosen], request: Request) -> int:
    """`--forecast`: say what it will cost, and whether it fits; returns the exit status."""
    options = request.options()
    documents = []
    for chosen in every:
        found = forecast_of(chosen.model.name, [chosen.configuration], options, SECONDS)
        about = result.question(chosen.model, chosen.configuration)
        if found is None:
            why: str | None = NOTHING
            documents.append(about | {"forecast": None, "fits": None, "reason": why})
        else:
            why = refusal(found, axes_of([chosen.configuration]), options, request.engine)
            documents.append(about | {"forecast": document(found), "fits": why is None, "reason": why})
        if request.json != "-":
            shown_forecast(terminal.console(), terminal.summary(chosen.configuration), found, why)
    whole = documents[0] if len(documents) == 1 else {"cells": documents}
    run.deliver({"schema": SCHEMA, **whole}, request)
    return exit_status.HOLDS if all(each["fits"] for each in documents) else exit_status.INCONCLUSIVE


def shown_forecast(out: Console, subject: str, found: Forecast | None, why: str | None) -> None:
    """A forecast for people."""
    out.print(Text(subject, "dim"))
    if found is not None:
        out.print(Text(sentence(found), "bold"))
    if why is not None:
        out.print(Text(f"{REFUSED}: {why}" if found is not None else f"no forecast: {why}", "bold yellow"))


def only_sweep(sweeper: Sweeper, name: str, request: Request) -> int:
    """`sweep --forecast`: say what all searches together will cost at most; returns the exit status."""
    found, why = None, NOTHING
    try:
        found = of_sweep(sweeper, request, 2 * SECONDS)
    except InputError as problem:
        why = str(problem)
    if request.json != "-":
        subject = f"{name}: {len(sweeper.cells)} cells, at most {len(sweeper.groups())} searches"
        shown_forecast(terminal.console(), subject, found, None if found else why)
    told = {"forecast": document(found) if found else None, "fits": found is not None, "reason": None if found else why}
    run.deliver({"schema": SCHEMA, "matrix": name, "cells": len(sweeper.cells), **told}, request)
    return exit_status.HOLDS if found is not None else exit_status.INCONCLUSIVE


def before_sweep(sweeper: Sweeper, request: Request) -> dict[str, Any]:
    """The forecast of a sweep that has limits, for its document."""
    found = of_sweep(sweeper, request, time_for(request.time_limit)) if is_wanted(request) else None
    if found is None:
        return {}
    tell(found, request)
    return {"forecast": document(found)}


def show_afterwards(out: Console, cost: Mapping[str, Any], distinct: int, was_cut: bool) -> None:
    """Predicted against found."""
    if cost:
        out.print(Text(afterwards(cost["forecast"], distinct, was_cut), "dim"))


def time_for(time_limit: float | None) -> float:
    """How long a forecast may take.  Units: seconds."""
    return SECONDS if time_limit is None else min(SECONDS, SHARE * time_limit)


def refusal(found: Forecast, axes: Sequence[Axis], options: Options, engine: str = "memory") -> str | None:
    """Why a search cannot fit even if it is as small as the interval allows, and what would; None if it may fit."""
    limit, place = options.limits.memory_bytes, options.state_dir
    advice = _advice(found, axes)
    levels = found.memory.low - found.stored.low
    if engine != "spark" and limit is not None and levels > limit:
        return f"it needs {_bytes(levels)} for its levels alone, and --memory-limit is {_bytes(limit)}{advice}"
    if (limit is not None or place is not None) and "://" not in str(place):
        room = shutil.disk_usage(place if place is not None and os.path.isdir(place) else tempfile.gettempdir()).free
        if found.stored.low > room:
            return f"its states take {_estimated(found.stored, _bytes)} on disk, and {_bytes(room)} are free{advice}"
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if engine != "spark" and limit is None and found.memory.low > machine:
        advice += ", or let it spill to disk (--memory-limit SIZE), or use a cluster (--engine spark)"
        return f"it needs {_estimated(found.memory, _bytes)} of memory, and this machine has {_bytes(machine)}{advice}"
    return None


def _advice(found: Forecast, axes: Sequence[Axis]) -> str:
    """The size whose lowering helps most."""
    if not found.smaller:
        return ""
    number = min(found.smaller, key=found.smaller.__getitem__)
    axis = axes[number]
    return f"; lower {axis.keys[0]} to {axis.value - 1} (about {_count(found.smaller[number])} states)"


def document(found: Forecast) -> dict[str, Any]:
    """The forecast in a result document."""
    return {
        "states": _rounded(found.states),
        "generated": _rounded(found.generated),
        "seconds": _rounded(found.seconds, 2),
        "memory_bytes": _rounded(found.memory),
        "stored_bytes": _rounded(found.stored),
        "samples": found.samples,
        "sampled_seconds": round(found.sampled_seconds, 2),
        "exact": found.exact,
    }


def _rounded(found: Estimate, digits: int = 0) -> dict[str, float]:
    return {
        name: round(value, digits) if digits else int(value)
        for name, value in (("low", found.low), ("likely", found.likely), ("high", found.high))
    }


def sentence(found: Forecast) -> str:
    """The forecast in a line."""
    basis = "explored already" if found.exact else f"from {found.samples} smaller searches in {found.sampled_seconds:.0f} s"
    return (
        f"forecast: {_estimated(found.states, _count)} states, {_estimated(found.seconds, _seconds)}, "
        f"{_estimated(found.memory, _bytes)} of memory, if nothing is violated before ({basis})"
    )


def afterwards(found: Mapping[str, Any], count: int, was_cut: bool) -> str:
    """Predicted against found, in a sentence."""
    states = found["states"]
    if was_cut:
        return f"forecast {_count(states['likely'])} states for all of it; this search ended before that"
    within = "inside" if states["low"] <= count <= states["high"] else "OUTSIDE"
    expected = f"forecast {_count(states['likely'])} states and {_seconds(found['seconds']['likely'])}"
    interval = f"{within} the interval of {_count(states['low'])} to {_count(states['high'])}"
    return f"{expected}: {states['likely'] / count:.2f} of the states found, {interval}"


def _estimated(found: Estimate, shown: Any) -> str:
    likely = shown(found.likely)
    return f"about {likely} ({shown(found.low)} to {shown(found.high)})" if found.low < found.high else str(likely)


def _count(value: float) -> str:
    for size, name in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if value >= size:
            return f"{value / size:.3g} {name}"
    return f"{value:,.0f}"


def _seconds(value: float) -> str:
    if value < 120:
        return f"{value:.2g} s" if value < 10 else f"{value:.0f} s"
    return f"{value / 60:.0f} min" if value < 7200 else f"{value / 3600:.1f} h"


def _bytes(value: float) -> str:
    for size, name in ((1e12, "TB"), (1e9, "GB")):
        if value >= size:
            return f"{value / size:.3g} {name}"
    return f"{value / 1e6:.0f} MB"
