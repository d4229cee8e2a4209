"""`--forecast`: say what a search will cost, and search nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from neverlost.reports import exit_status
from neverlost.reports.api import forecasts
from neverlost.reports.api.keywords import Checking
from neverlost.reports.documents import forecast
from neverlost.reports.documents.result import question
from neverlost.reports.output import Output
from neverlost.reports.request import Request
from neverlost.reports.terminal import results as terminal
from neverlost.reports.terminal.forecast import show_cost
from neverlost.specs.configuration.choose import Chosen


def foretell(every: Sequence[Chosen], output: Output, **search: Unpack[Checking]) -> int:
    """Of each configuration; returns the exit status."""
    costs = []
    for chosen in every:
        costs.append(forecasts.cost_of(chosen, Request(**search)))
        if output.is_read:
            show_cost(terminal.console(), terminal.summary(chosen.configuration), costs[-1])
    documents = [question(each.model, each.configuration) | cost.document() for each, cost in zip(every, costs, strict=True)]
    output.deliver({"schema": forecast.SCHEMA, **(documents[0] if len(documents) == 1 else {"cells": documents})})
    return exit_status.HOLDS if all(each.fits for each in costs) else exit_status.INCONCLUSIVE
