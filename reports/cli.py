"""The command line: what there is, and how errors and exit statuses come out.  Each command is one file."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import signal
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Annotated, Any, NoReturn

import typer

COMMANDS = (
    "check",
    "tolerance",
    "atlas",
    "roll",
    "nines",
    "explore",
    "sweep",
    "prove",
    "scenarios",
    "claims",
    "necessity",
    "replay",
    "reproduce",
    "observe",
    "conform",
    "verify",
    "report",
    "lists",
    "explain",
    "man",
)
OF_ALL = ("lists", "man")
"""A file of several commands, and a command that speaks of all."""

SHORT_HELP = """neverlost: can this Kafka configuration lose an acknowledged message, and how?

Four commands to start with:

  neverlost check --describe topics.txt --kafka-version 3.9 --set faults.lossy_crash=1
      a verdict per configuration of your cluster, with what to change
  neverlost tolerance --set kafka.version=4.1 --set min.insync.replicas=2
      what a configuration survives, whatever the number of faults
  neverlost sweep small --out evidence
      a verdict per cell of a matrix, as a page, for CI and to cite
  neverlost explain faults.lossy_crash
      what a key, a fault, a property or a verdict means

neverlost -h lists every command, neverlost COMMAND -h its options."""

TYPER_INTERRUPTED = 130
"""What typer's `main` returns instead of a `KeyboardInterrupt`."""

REMEDY = "ask for less, make more of it free, or keep levels on disk with --state-dir DIR and --memory-limit SIZE"

TYPER_UNREAD = 1
"""The status with which typer's `main` ends where a pipe is closed on it."""

GARBAGE = 100_000
"""Objects made between two collections: imports make many that stay, and looking at them costs a tenth of a short `check`."""

app = typer.Typer(
    name="neverlost",
    help="Can this Kafka configuration lose an acknowledged message, and how?",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(is_wanted: bool) -> None:
    if is_wanted:
        import neverlost

        typer.echo(f"neverlost {neverlost.__version__}")
        raise typer.Exit


@app.callback()
def _common(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="show the version", callback=_show_version, is_eager=True)] = False,
) -> None:
    """What comes before a command's name; without one, how to begin."""
    if context.invoked_subcommand is None:
        typer.echo(SHORT_HELP)


class _Names:
    """Takes commands as the program does, and keeps their names and first lines: all that the list of commands shows."""

    def __init__(self, program: typer.Typer) -> None:
        self._program = program

    def command(self, *given: Any, **named: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """As `typer.Typer.command`, without the options of the command."""

        def take(command: Callable[..., Any]) -> Callable[..., Any]:
            def shown() -> None: ...

            shown.__name__, shown.__doc__ = command.__name__, command.__doc__
            self._program.command(*given, **named)(shown)
            return command

        return take


def _register(words: Sequence[str]) -> None:
    """Let the program know its commands: each takes a millisecond, so only the first word's where that is one."""
    first = words[0] if words else ""
    known: Any = _Names(app) if list(words) in (["-h"], ["--help"]) else app
    for name in (first,) if first in COMMANDS and first not in OF_ALL else COMMANDS:
        importlib.import_module(f"neverlost.reports.commands.{name}").register(known)


def main() -> NoReturn:
    """Run a command; bad usage and bad input are one line and exit 64, our own defects one line and exit 70."""
    gc.set_threshold(GARBAGE)
    from neverlost.reports import exit_status
    from neverlost.specs.errors import InputError

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    warnings.showwarning = _show_warning
    sys.unraisablehook = _leave_unsaid
    try:
        _register(sys.argv[1:])
        status = app(standalone_mode=False)
        if status == TYPER_INTERRUPTED:
            raise KeyboardInterrupt
        sys.exit(status if isinstance(status, int) else exit_status.HOLDS)
    except InputError as problem:
        _fail(str(problem), exit_status.USAGE)
    except KeyboardInterrupt:
        _fail("interrupted", exit_status.INCONCLUSIVE)
    except BrokenPipeError:
        _leave_unread()
    except SystemExit as ended:
        if ended.code == TYPER_UNREAD:
            _leave_unread()
        raise
    except Exception as problem:
        usage = getattr(problem, "format_message", None)
        if usage is not None:
            _fail(usage(), exit_status.USAGE)
        from neverlost.checker.machine.resources import given_out

        with contextlib.suppress(type(problem)):
            _fail(f"{given_out(problem)}: nothing is claimed; {REMEDY}", exit_status.INCONCLUSIVE)
        if os.environ.get("NEVERLOST_DEBUG"):
            raise
        text = f"internal error: {type(problem).__name__}: {problem} (set NEVERLOST_DEBUG=1 for the traceback)"
        _fail(text, exit_status.INTERNAL)


def _leave_unread() -> NoReturn:
    """End where the output is not read to its end: that is no verdict."""
    from neverlost.reports import exit_status

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(exit_status.INCONCLUSIVE)


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    """Ours are a line each, as the whole program speaks; those of libraries are for developers."""
    if category.__module__.partition(".")[0] == "neverlost":
        typer.echo(f"neverlost: warning: {message}", err=True)


def _leave_unsaid(ignored: object) -> None:
    """What Python ignores, as where an object is let go that an interrupt left half made: a user cannot do anything there."""
    if os.environ.get("NEVERLOST_DEBUG"):
        sys.__unraisablehook__(ignored)  # type: ignore[arg-type]


def _fail(message: str, status: int) -> NoReturn:
    print("neverlost: " + " ".join(message.split("\n")), file=sys.stderr)
    sys.exit(status)


if __name__ == "__main__":
    main()
