"""`neverlost models` and `neverlost properties`: what there is."""

from __future__ import annotations

import typer

from reports import options


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("models", help="List the models, the keys that each reads and what it guarantees.")(models)
    app.command("properties", help="List the properties and the models that break them.")(properties)


def models(json: options.JsonTarget = None) -> int:
    """List the models."""
    from model.catalogue import models as catalogue
    from reports import run, terminal

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
    run.deliver({"schema": "neverlost.models/1", "models": listed}, run.Request(json=json))
    if json != "-":
        out = terminal.console()
        for entry in listed:
            out.print(f"[bold]{entry['name']}[/bold]: {entry['summary']}")
            out.print(f"  keys: {', '.join(entry['keys'])}")
            out.print(f"  guarantees: {', '.join(entry['guarantees'])}")
    return 0


def properties(json: options.JsonTarget = None) -> int:
    """List the properties."""
    from reports import run, terminal
    from specs.property import properties as catalogue

    listed = [
        {"name": each.name, "says": each.says, "violated_by": each.violated_by, "source": each.source}
        for each in catalogue().values()
    ]
    run.deliver({"schema": "neverlost.properties/1", "properties": listed}, run.Request(json=json))
    if json != "-":
        out = terminal.console()
        for entry in listed:
            out.print(f"[bold]{entry['name']}[/bold]: {entry['says']} (broken by {entry['violated_by']})")
    return 0
