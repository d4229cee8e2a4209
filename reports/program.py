"""The commands of the program, and their registration with the command line."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Annotated

import typer

from neverlost.reports.command_line.help import EXAMPLES, GroupedCommand, GroupedProgram
from neverlost.reports.command_line.options import with_shared_options

COMMANDS = {
    "check": "Explore one configuration and decide its properties.",
    "tolerance": "What a configuration survives, whatever the number of faults.",
    "roll": "Which brokers may be stopped now, and in which order; or what a plan of changes risks.",
    "rescue": "A partition is offline: whom to elect, for whom to wait, and which offsets are lost at least and at most.",
    "nines": "A bound of the yearly probability of loss, from what is decided and from rates.",
    "state": "One state of a partition as a figure shows it: what is committed, readable, electable, and what one fault loses.",
    "explore": "Enumerate the reachable states of a model; checks nothing, prints counts.",
    "export": "Write a bound model as a TLA+ module, to be checked by TLC.",
    "sweep": "A verdict per cell of a configuration matrix.",
    "prove": "Decide with Z3: bounded search, or induction.",
    "scenarios": "Run the scenario corpus against its expected verdicts.",
    "claims": "Check the documentation claims.",
    "necessity": "Switch off each guard clause and each mechanism in turn.",
    "replay": "Re-execute a counterexample on the defining interpreter.",
    "reproduce": "Try a counterexample on a real Kafka cluster, started for it on this machine.",
    "observe": "Hold what was seen of a real partition against the model.",
    "conform": "Hold the model's transitions against Kafka's own classes.",
    "verify": "Derive an evidence bundle from its question again, and compare everything.",
    "report": "Render report.md and a self-contained report.html from an --out directory.",
    "models": "List the models, the keys that each reads and what it guarantees.",
    "matrices": "List the shipped configuration matrices, for neverlost sweep.",
    "properties": "List the properties and the models that break them.",
    "explain": "What a key, fault, property, mechanism or verdict means; without a word, all of them.",
}
"""What each command does; it is the function of its name, in the file of its name."""
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
