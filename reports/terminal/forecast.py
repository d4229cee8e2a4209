"""What a search will cost, at a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from neverlost.reports.documents.forecast import MEASURED_BY, REFUSED, Cost, afterwards, sentence


def show_cost(out: Console, subject: str, cost: Cost) -> None:
    """A forecast, and whether it fits."""
    out.print(Text(subject, "dim"))
    if cost.forecast is not None:
        out.print(Text(sentence(cost.forecast), "bold"))
        if not cost.forecast.exact:
            out.print(Text(f"how often intervals held is measured by {MEASURED_BY}", "dim"))
    if cost.why is not None:
        out.print(Text(f"{'no forecast' if cost.forecast is None else REFUSED}: {cost.why}", "bold yellow"))


def show_afterwards(out: Console, document: Mapping[str, Any]) -> None:
    """What was predicted, beside what was found."""
    if "forecast" in document:
        searches = document.get("searches", [document])
        was_cut = any(each.get("reason") or each["states"]["left"] for each in searches)
        distinct = sum(each["states"]["distinct"] for each in searches)
        out.print(Text(afterwards(document["forecast"], distinct, was_cut), "dim"))
