"""What a search will cost, as a document and in sentences; and afterwards, what was predicted beside what was found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from neverlost.checker.campaign.forecast import Estimate, Forecast

SCHEMA = "neverlost.forecast/1"
REFUSED = "refused, because it cannot fit"

HELD, OF, MEASURED_BY = 29, 29, "python -m tests.bench.forecast --large"
"""For how many searches intervals held, of how many (`reports/published/forecast.md`), and what measures it."""


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
        "intervals": {"held": HELD, "of": OF, "measured_by": MEASURED_BY},
    }


def _rounded(found: Estimate, digits: int = 0) -> dict[str, float]:
    return {
        name: round(value, digits) if digits else int(value)
        for name, value in (("low", found.low), ("likely", found.likely), ("high", found.high))
    }


def sentence(found: Forecast) -> str:
    """The forecast in a line."""
    sampled = f"from {found.samples} smaller searches in {found.sampled_seconds:.0f} s"
    basis = "explored already" if found.exact else f"{sampled}; intervals held for {HELD} of {OF} searches"
    return (
        f"forecast: {estimated(found.states, count_text)} states, {estimated(found.seconds, seconds_text)}, "
        f"{estimated(found.memory, bytes_text)} of memory, if nothing is violated before ({basis})"
    )


def afterwards(found: Mapping[str, Any], count: int, was_cut: bool) -> str:
    """Predicted against found, in a sentence."""
    states = found["states"]
    if was_cut:
        return f"forecast {count_text(states['likely'])} states for all of it; this search ended before that"
    within = "inside" if states["low"] <= count <= states["high"] else "OUTSIDE"
    expected = f"forecast {count_text(states['likely'])} states and {seconds_text(found['seconds']['likely'])}"
    interval = f"{within} the interval of {count_text(states['low'])} to {count_text(states['high'])}"
    return f"{expected}: {states['likely'] / count:.2f} of the states found, {interval}"


def estimated(found: Estimate, shown: Callable[[float], str]) -> str:
    """An estimate with its interval."""
    likely = shown(found.likely)
    return f"about {likely} ({shown(found.low)} to {shown(found.high)})" if found.low < found.high else likely


def count_text(value: float) -> str:
    """A count as people say it."""
    for size, name in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if value >= size:
            return f"{value / size:.3g} {name}"
    return f"{value:,.0f}"


def seconds_text(value: float) -> str:
    """A time as people say it."""
    if value < 120:
        return f"{value:.2g} s" if value < 10 else f"{value:.0f} s"
    return f"{value / 60:.0f} min" if value < 7200 else f"{value / 3600:.1f} h"


def bytes_text(value: float) -> str:
    """A size as people say it."""
    for size, name in ((1e12, "TB"), (1e9, "GB")):
        if value >= size:
            return f"{value / size:.3g} {name}"
    return f"{value / 1e6:.0f} MB"


@dataclass(frozen=True)
class Cost:
    """What was foretold of a search; `why` says why it cannot fit, or why nothing could be foretold."""

    forecast: Forecast | None
    why: str | None

    @property
    def fits(self) -> bool | None:
        """Whether it fits; None where that is not known."""
        return None if self.forecast is None else self.why is None

    def document(self) -> dict[str, Any]:
        """The answer to `--forecast`."""
        return {"forecast": self.forecast and document(self.forecast), "fits": self.fits, "reason": self.why}
