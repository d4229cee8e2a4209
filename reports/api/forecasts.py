"""What a search will cost before it is run: smaller searches first, and a refusal of what cannot fit this machine."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from neverlost.checker.campaign.forecast import Forecast, Point, Replicas, forecast
from neverlost.checker.campaign.sweep import Sweeper
from neverlost.checker.machine.resources import allowed_memory
from neverlost.checker.search.options import Options, Progress, Reporter
from neverlost.model.any_number import AnyNumber
from neverlost.model.kernel import Configuration
from neverlost.model.limits import AT_ONCE
from neverlost.model.system import System, bind
from neverlost.model.versions import models
from neverlost.reports.documents.forecast import REFUSED, Cost, bytes_text, count_text, estimated, sentence
from neverlost.reports.request import Request
from neverlost.specs.configuration.choose import Chosen
from neverlost.specs.configuration.keys import KEYS
from neverlost.specs.errors import InputError

SECONDS = 10.0
"""How long smaller searches are run for a forecast."""

SHARE = 0.1
"""The part of a time limit that a forecast may take."""

NOTHING = f"not even the smallest sizes were explored in {SECONDS:g} s of processor time"

SHORTEST = 0.5
"""Units: seconds.  Nothing is learned in less."""


REPLICAS, FEW = "replication.factor", 3
"""More than a few replicas are lowered, as long as one more than the minimum ISR is left."""


@dataclass(frozen=True)
class Axis:
    """Keys that are lowered together: the values that they may have, from the least to what was asked for."""

    keys: tuple[str, ...]
    values: tuple[int | AnyNumber, ...]


@dataclass(frozen=True)
class Lowered:
    """Makes the system of a model with smaller bounds and limits; can be sent to another process."""

    model: str
    configurations: tuple[Configuration, ...]
    axes: tuple[Axis, ...]

    @property
    def target(self) -> Point:
        """What was asked for."""
        return tuple(len(each.values) - 1 for each in self.axes)

    def replicas(self, symmetry: bool) -> Replicas:
        """Which axis is that of replicas."""
        for number, each in enumerate(self.axes):
            least, most = each.values[0], each.values[-1]
            if each.keys == (REPLICAS,) and isinstance(least, int) and isinstance(most, int):
                return Replicas(number, least, most, symmetry)
        return Replicas(symmetry=symmetry)

    def __call__(self, point: Point) -> System:
        changes = {key: axis.values[size] for axis, size in zip(self.axes, point, strict=True) for key in axis.keys}
        return bind(models()[self.model], *[dict(each) | changes for each in self.configurations])


def axes_of(model: str, configurations: Sequence[Configuration]) -> tuple[Axis, ...]:
    """The bounds, limits and replicas that can be lowered in all configurations; a log is as long as there are records.

    One kind of fault of any number stays: without any, hardly anything happens, and that says nothing about several together.
    """
    first, found = configurations[0], list[Axis]()
    stays = next((name for name, value in first.items() if isinstance(value, AnyNumber)), None)
    for name in sorted(first, key=REPLICAS.__eq__):
        together: tuple[str, ...] = (name,)
        if name == "bounds.records" and first.get("bounds.log_size") == first[name]:
            together = (name, "bounds.log_size")
        axis = Axis(together, _up_to(name, first))
        is_alike = all(each[key] == first[name] for each in configurations for key in together)
        is_wanted = name != stays and len(axis.values) > 1
        if is_wanted and is_alike and not _contradicts(model, configurations, axis):
            found.append(axis)
    return tuple(found)


def _up_to(name: str, configuration: Configuration) -> tuple[int | AnyNumber, ...]:
    """The values of a key up to its own, each of which allows more than the one before."""
    known, value = KEYS.get(name), configuration[name]
    if name == REPLICAS and value > FEW:
        return tuple(range(configuration.get("min.insync.replicas", 1) + 1, value + 1))
    if known is None or known.table not in ("faults", "bounds") or name == "bounds.log_size":
        return ()
    if isinstance(value, AnyNumber):
        return (0, *[AnyNumber(most) for most in range(1, value.at_once or 1)], value)
    if name == AT_ONCE and FEW < configuration[REPLICAS] <= value + 1:
        return ()  # all but one are no limit with fewer replicas either
    if name == AT_ONCE:
        return tuple(range(1, value + 1))
    return tuple(range(known.low, value + 1)) if isinstance(value, int) else ()


def _contradicts(model: str, configurations: Sequence[Configuration], axis: Axis) -> bool:
    """Whether a configuration is wrong with one of the values."""
    changed = (dict(each) | dict.fromkeys(axis.keys, value) for each in configurations for value in axis.values)
    return any(models()[model].contradiction(each) for each in changed)


def forecast_of(model: str, configurations: Sequence[Configuration], options: Options, seconds: float) -> Forecast | None:
    """The forecast of a search of these configurations together."""
    make = Lowered(model, tuple(dict(each) for each in configurations), axes_of(model, configurations))
    return forecast(make, make.target, make.replicas(options.symmetry), options, seconds)


def before(system: System, request: Request, progress: Reporter | None) -> Forecast | None:
    """The forecast of a search that has limits, announced; None where it is not wanted or nothing was learned."""
    if not is_wanted(request):
        return None
    seconds = time_for(request.time_limit)
    found = forecast_of(system.model.name, system.configurations, request.options(), seconds)
    if found is not None:
        announce(found, request, progress)
    return found


def before_sweep(sweeper: Sweeper, request: Request) -> Forecast | None:
    """The same for a sweep.

    Errors: `InputError` where one of its searches cannot fit.
    """
    if not is_wanted(request):
        return None
    found = of_sweep(sweeper, request, time_for(request.time_limit))
    if found is not None:
        announce(found, request, sweeper.reporter)
    return found


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
        why = refusal(found, axes_of(model, configurations), options, request.engine)
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


def cost_of(chosen: Chosen, request: Request) -> Cost:
    """What the search of a configuration will cost, and nothing else."""
    options = request.options()
    found = forecast_of(chosen.model.name, [chosen.configuration], options, SECONDS)
    if found is None:
        return Cost(None, NOTHING)
    return Cost(found, refusal(found, axes_of(chosen.model.name, [chosen.configuration]), options, request.engine))


def cost_of_sweep(sweeper: Sweeper, request: Request) -> Cost:
    """What all searches of a sweep will cost together at most."""
    try:
        found = of_sweep(sweeper, request, 2 * SECONDS)
    except InputError as problem:
        return Cost(None, str(problem))
    return Cost(found, NOTHING if found is None else None)


def is_wanted(request: Request) -> bool:
    """Whether limits ask for a forecast, and leave time for it."""
    limited = request.time_limit is not None or request.memory_limit is not None
    return limited and request.forecast is not False and not request.resume and time_for(request.time_limit) >= SHORTEST


def announce(found: Forecast, request: Request, progress: Reporter | None) -> None:
    """What it will cost, and whether the time will do, to the one who watches."""
    if progress is None:
        return
    progress(_note(sentence(found)))
    if request.time_limit is not None and found.seconds.low > request.time_limit:
        progress(_note(f"forecast: --time-limit {request.time_limit:g} will probably end it before that"))


def _note(text: str) -> Progress:
    return Progress(level=0, frontier=0, generated=0, distinct=0, seconds=0.0, memory_bytes=0, note=text)


def time_for(time_limit: float | None) -> float:
    """How long a forecast may take.  Units: seconds."""
    return SECONDS if time_limit is None else min(SECONDS, SHARE * time_limit)


def refusal(found: Forecast, axes: Sequence[Axis], options: Options, engine: str = "memory") -> str | None:
    """Why a search cannot fit even if it is as small as the interval allows, and what would; None if it may fit."""
    limit, place = options.limits.memory_bytes, options.state_dir
    advice = _advice(found, axes)
    levels = found.memory.low - found.stored.low
    if engine != "spark" and limit is not None and levels > limit:
        return f"it needs {bytes_text(levels)} for its levels alone, and --memory-limit is {bytes_text(limit)}{advice}"
    if (limit is not None or place is not None) and "://" not in str(place):
        room = shutil.disk_usage(place if place is not None and os.path.isdir(place) else tempfile.gettempdir()).free
        if found.stored.low > room:
            return f"its states take {estimated(found.stored, bytes_text)} on disk, and {bytes_text(room)} are free{advice}"
    machine = allowed_memory()
    if engine != "spark" and limit is None and found.memory.low > machine:
        advice += ", or let it spill to disk (--memory-limit SIZE), or use a cluster (--engine spark)"
        return f"it needs {estimated(found.memory, bytes_text)} of memory, and this machine has {bytes_text(machine)}{advice}"
    return None


def _advice(found: Forecast, axes: Sequence[Axis]) -> str:
    """The size whose lowering helps most."""
    if not found.smaller:
        return ""
    number = min(found.smaller, key=found.smaller.__getitem__)
    axis = axes[number]
    return f"; lower {axis.keys[0]} to {axis.values[-2]} (about {count_text(found.smaller[number])} states)"
