"""The command line: what there is, and how errors and exit statuses come out.  Each command is one file."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from typing import NoReturn

import typer

COMMANDS = (
    "check",
    "explore",
    "sweep",
    "prove",
    "scenarios",
    "claims",
    "necessity",
    "replay",
    "reproduce",
    "observe",
    "verify",
    "report",
    "lists",
)
EXIT_INTERRUPTED, EXIT_USAGE, EXIT_INTERNAL = 20, 64, 70
TYPER_INTERRUPTED = 130
"""What typer's `main` returns instead of a `KeyboardInterrupt`."""

app = typer.Typer(
    name="neverlost",
    help="Can this Kafka configuration lose an acknowledged message, and how?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _register() -> None:
    for name in COMMANDS:
        if importlib.util.find_spec(f"neverlost.reports.commands.{name}") is not None:
            importlib.import_module(f"neverlost.reports.commands.{name}").register(app)


def main() -> NoReturn:
    """Run a command; bad usage and bad input are one line and exit 64, our own defects one line and exit 70."""
    from neverlost.specs.errors import InputError

    _register()
    try:
        status = app(standalone_mode=False)
        if status == TYPER_INTERRUPTED:
            raise KeyboardInterrupt
        sys.exit(status if isinstance(status, int) else 0)
    except InputError as problem:
        _fail(str(problem), EXIT_USAGE)
    except KeyboardInterrupt:
        _fail("interrupted", EXIT_INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception as problem:
        usage = getattr(problem, "format_message", None)
        if usage is not None:
            _fail(usage(), EXIT_USAGE)
        if os.environ.get("NEVERLOST_DEBUG"):
            raise
        _fail(f"internal error: {type(problem).__name__}: {problem} (set NEVERLOST_DEBUG=1 for the traceback)", EXIT_INTERNAL)


def _fail(message: str, status: int) -> NoReturn:
    print("neverlost: " + " ".join(message.split("\n")), file=sys.stderr)
    sys.exit(status)


if __name__ == "__main__":
    main()
