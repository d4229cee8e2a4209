"""`neverlost models`, `neverlost properties` and `neverlost matrices`: lists of what there is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neverlost.reports.command_line import options

if TYPE_CHECKING:
    from neverlost.model.kraft.mechanisms import Mechanism


def _mechanism(each: Mechanism) -> dict[str, Any]:
    since = None if each.since is None else ".".join(map(str, each.since))
    return {"name": each.name, "since": since, "source": each.source, "says": each.says}


def _names(document: dict[str, Any]) -> list[str]:
    """Return the names in a document of models, properties or matrices; `--quiet` prints them."""
    return [each["name"] for name in ("models", "properties", "matrices") for each in document.get(name, ())]


def models(json: options.JsonTarget = None, quiet: options.Quiet = False) -> int:
    from neverlost.model.kraft.mechanisms import MECHANISMS
    from neverlost.model.protocols import models as catalogue
    from neverlost.reports.output.output import Output
    from neverlost.reports.terminal import results as terminal

    listed = [
        {
            "name": each.name,
            "summary": each.summary,
            "keys": list(each.keys),
            "guarantees": list(each.guarantees),
            "source": each.source,
        }
        for each in catalogue().values()
    ]
    brought = [_mechanism(each) for each in MECHANISMS]
    output = Output(json, quiet=quiet)
    output.deliver({"schema": "neverlost.models/1", "models": listed, "mechanisms": brought}, lines=_names)
    if output.is_read:
        out = terminal.console()
        for entry in listed:
            out.print(f"[bold]{entry['name']}[/bold]: {entry['summary']}")
            out.print(f"  keys: {', '.join(entry['keys'])}")
            out.print(f"  guarantees: {', '.join(entry['guarantees'])}")
        out.print("[bold]mechanisms[/bold] of the modern models, with the Kafka version that brought each:")
        for each in brought:
            out.print(f"  {each['name']} ({each['since'] or 'in no version'}; {each['source']}): {each['says']}")
    return 0


def properties(json: options.JsonTarget = None, quiet: options.Quiet = False) -> int:
    from neverlost.reports.output.output import Output
    from neverlost.reports.terminal import results as terminal
    from neverlost.specs.properties import properties as catalogue

    listed = [
        {"name": each.name, "says": each.says, "kind": each.kind, "violated_by": each.violated_by, "source": each.source}
        for each in catalogue().values()
    ]
    output = Output(json, quiet=quiet)
    output.deliver({"schema": "neverlost.properties/1", "properties": listed}, lines=_names)
    if output.is_read:
        out = terminal.console()
        for entry in listed:
            out.print(f"[bold]{entry['name']}[/bold]: {entry['says']} ({entry['kind']}; broken by {entry['violated_by']})")
    return 0


def matrices(json: options.JsonTarget = None, quiet: options.Quiet = False) -> int:
    from neverlost.reports.output.output import Output
    from neverlost.reports.terminal import results as terminal
    from neverlost.specs.configuration.matrix import read_matrix, shipped

    found = [read_matrix(name) for name in shipped()]
    listed = [{"name": each.name, "says": each.says, "cells": len(each.cells), "varying": list(each.varying)} for each in found]
    output = Output(json, quiet=quiet)
    output.deliver({"matrices": listed}, lines=_names)
    if output.is_read:
        out = terminal.console()
        for each in listed:
            out.print(f"[bold]{each['name']}[/bold] ({each['cells']} cells): {each['says']}")
    return 0
