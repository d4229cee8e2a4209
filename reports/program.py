"""The commands of the program, and their registration with the command line."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Annotated

import typer

from neverlost.reports.command_line.commands import COMMANDS
from neverlost.reports.command_line.help import EXAMPLES, GroupedCommand, GroupedProgram
from neverlost.reports.command_line.options import with_shared_options

SHARED_FILES = {"models": "lists", "matrices": "lists", "properties": "lists"}
"""The file of each command that is not in a file of its own."""

SHORT_HELP = """neverlost: can this Kafka configuration lose an acknowledged message, and how?

Four commands to start with:

  neverlost tolerance --describe topics.txt --kafka-version 3.9 --set acks=all
      what your topics survive, whatever the number of faults, and what to change
  neverlost check --describe topics.txt --kafka-version 3.9 --set faults.lossy_crash=1
      a verdict per configuration of your cluster, step by step where a record is lost
  neverlost sweep small --out evidence
      a verdict per cell of a matrix, as a page, for CI and to cite
  neverlost explain faults.lossy_crash
      what a key, a fault, a property or a verdict means

neverlost -h lists every command, neverlost COMMAND -h its options."""

app = typer.Typer(
    name="neverlost",
    cls=GroupedProgram,
    help="Can this Kafka configuration lose an acknowledged message, and how?",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _common(
    context: typer.Context, version: Annotated[bool, typer.Option("--version", help="show the version")] = False
) -> None:
    """Handle options before a command's name; without a command print how to begin."""
    if version:
        import neverlost

        typer.echo(f"neverlost {neverlost.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(SHORT_HELP)


def register(words: Sequence[str]) -> None:
    """Register the commands; building one takes a millisecond, so if the first word names a command, only that one is built."""
    first = words[0] if words else ""
    for name in (first,) if first in COMMANDS else COMMANDS:
        file = importlib.import_module(f"neverlost.reports.commands.{SHARED_FILES.get(name, name)}")
        kind = GroupedCommand if name in EXAMPLES else None
        app.command(name, cls=kind, help=COMMANDS[name])(with_shared_options(getattr(file, name)))
