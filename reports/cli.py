"""The command line's `main`, which turns errors, signals and closed streams into an exit status.  It imports hardly anything
before it begins: until then an interrupt would end in a traceback."""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False  # as in `typing`, which takes as long to import as everything else until `main`
if TYPE_CHECKING:
    from typing import Any, NoReturn, TextIO

TYPER_INTERRUPTED = 130
"""What typer's `main` returns instead of a `KeyboardInterrupt`."""

REMEDY = "ask for less, make more of it free, or keep levels on disk with --state-dir DIR and --memory-limit SIZE"

HELP = os.path.join(os.path.dirname(__file__), "command_line", "help.txt")
"""The list of the commands as typer writes it, whose import alone takes six times as long as Python's start."""

GARBAGE = 100_000
"""Objects made between two collections: imports make many that stay, and looking at them costs a tenth of a short `check`."""


def main() -> NoReturn:
    """Run the command of the command line and exit with its status.  Bad usage and bad input are one line on stderr and status
    64, our own defects one line and 70.  After an interrupt the status is 20, whatever was decided before."""
    _handle_interrupts(_end_at_once)
    if sys.argv[1:2] == ["verify"]:  # it writes nothing, and no bytecode either
        sys.dont_write_bytecode, os.environ["PYTHONDONTWRITEBYTECODE"] = True, "1"
    import gc
    import warnings

    gc.set_threshold(GARBAGE)
    from neverlost.checker.engine.host import interrupts
    from neverlost.reports.output import exit_status

    if not {"verify", "-h", "--help", "--version"} & set(sys.argv):  # `verify` believes no digest that was kept
        from neverlost.checker.engine import kept_digests

        kept_digests.begin()
    if sys.stdout is None:
        sys.exit(
            _print_error(
                "stdout is closed, so an answer has nowhere to go; redirect it to a file or to /dev/null", exit_status.USAGE
            )
        )
    warnings.showwarning = _show_warning
    sys.unraisablehook = _ignore_unraisable
    _ignore_broken_pipes()
    if sys.argv[1:] in (["-h"], ["--help"]):
        with open(HELP, encoding="utf-8") as text:
            sys.exit(print(text.read(), end=""))
    if sys.argv[1:] == ["--version"]:
        import neverlost

        sys.exit(print(f"neverlost {neverlost.__version__}"))
    from neverlost.reports import program

    program.register(sys.argv[1:])
    _handle_interrupts(interrupts.end_command)
    status = _run_command()
    _handle_interrupts(signal.SIG_IGN)  # what was said stands
    if interrupts.have_come():
        signal.setitimer(signal.ITIMER_REAL, 0)
        status = exit_status.INCONCLUSIVE
    gc.freeze()  # as Python ends it would look at every object once more
    sys.exit(status)


def _handle_interrupts(handle: Any) -> None:
    for each in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(each) is not signal.SIG_IGN:  # as where a shell runs it in the background
            signal.signal(each, handle)


def _end_at_once(*_: object) -> NoReturn:
    """End the process at once with status 20: for an interrupt before anything is decided, or when Python can print no more."""
    try:
        os.write(2, b"neverlost: interrupted\n")
    finally:
        os._exit(20)


def _ignore_broken_pipes() -> None:
    """Replace stdout and stderr by streams that drop, without an error, what is written when their reader has gone."""
    import io

    class Stream(io.FileIO):
        def write(self, content: Any) -> int:
            try:
                return super().write(content)
            except OSError as problem:
                os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
                if not isinstance(problem, BrokenPipeError):
                    raise
                return len(content)

    def outliving(stream: TextIO) -> TextIO:
        kept = {name: getattr(stream, name) for name in ("encoding", "errors", "line_buffering", "write_through")}
        return io.TextIOWrapper(io.BufferedWriter(Stream(stream.fileno(), "w", closefd=False)), **kept)

    if sys.__stdout__ is not None and sys.stdout is sys.__stdout__:
        sys.stdout = outliving(sys.stdout)
    if sys.__stderr__ is not None and sys.stderr is sys.__stderr__:
        sys.stderr = outliving(sys.stderr)


def _run_command() -> int:
    """Run the command and return its exit status; print an error as one line (with NEVERLOST_DEBUG raise an internal one)."""
    from neverlost.checker.engine.host import interrupts
    from neverlost.reports import program
    from neverlost.reports.output import exit_status
    from neverlost.specs.errors import InputError

    try:
        found = program.app(standalone_mode=False)
        if found == TYPER_INTERRUPTED:
            raise KeyboardInterrupt
        sys.stdout.flush()
        return found if isinstance(found, int) else exit_status.HOLDS
    except (KeyboardInterrupt, Exception) as problem:
        if interrupts.have_come() or isinstance(problem, KeyboardInterrupt):
            return _print_error("interrupted", exit_status.INCONCLUSIVE)
        usage = getattr(problem, "format_message", None)
        if usage is not None or isinstance(problem, InputError):
            return _print_error(usage() if usage is not None else str(problem), exit_status.USAGE)
        from neverlost.checker.engine.host.resources import classify_exhaustion

        try:
            return _print_error(f"{classify_exhaustion(problem)}: nothing is claimed; {REMEDY}", exit_status.INCONCLUSIVE)
        except type(problem):
            pass
        if os.environ.get("NEVERLOST_DEBUG"):
            raise
        text = f"internal error: {type(problem).__name__}: {problem} (set NEVERLOST_DEBUG=1 for the traceback)"
        return _print_error(text, exit_status.INTERNAL)


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    """Print a warning of our own as one line on stderr; a library's warning is for developers and is not printed."""
    if category.__module__.partition(".")[0] == "neverlost":
        _print_error(f"warning: {message}", 0)


def _ignore_unraisable(ignored: object) -> None:
    """Print nothing of an exception that cannot be raised (as in `__del__` after Ctrl-C), unless NEVERLOST_DEBUG is set."""
    if os.environ.get("NEVERLOST_DEBUG"):
        sys.__unraisablehook__(ignored)  # type: ignore[arg-type]


def _print_error(message: str, status: int) -> int:
    """Print a message as one line without control characters on stderr; return `status` as it is given."""
    from neverlost.checker.engine.host.visible import visible

    if sys.stderr is not None:
        print("neverlost: " + visible(" ".join(message.split("\n"))), file=sys.stderr)
    return status


if __name__ == "__main__":
    main()
