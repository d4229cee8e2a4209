"""`neverlost man`: the manual page, made of the help of every command."""

from __future__ import annotations

from typing import Any

import typer


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("man", help="Print the manual page, for man -l -.")(man)


def man(context: typer.Context, quiet: bool = typer.Option(False, "--quiet", help="print nothing else")) -> int:
    """Run the command."""
    import neverlost

    root = context.find_root().command
    lines = [f'.TH NEVERLOST 1 "" "neverlost {neverlost.__version__}"', ".SH NAME", f"neverlost \\- {_plain(root.help)}"]
    lines += [".SH SYNOPSIS", ".B neverlost", "COMMAND [OPTIONS]", ".SH COMMANDS"]
    for name, command in sorted(root.commands.items()):  # type: ignore[attr-defined]
        lines += [f".SS {name}", _plain(command.help)]
        for option in command.params:
            lines += [".TP", _spelled(option), _plain(getattr(option, "help", None))]
    lines += [".SH EXIT STATUS", *_statuses()]
    typer.echo("\n".join(lines))
    return 0


def _spelled(option: Any) -> str:
    """An option as it is typed."""
    names = ", ".join((*option.opts, *option.secondary_opts))
    kind = "" if getattr(option, "is_flag", False) else f" {option.metavar or option.name.upper()}"
    is_argument = option.param_type_name == "argument"
    return f"\\fB{_plain(option.metavar or option.name)}\\fR" if is_argument else f"\\fB{_plain(names)}\\fR{_plain(kind)}"


def _statuses() -> list[str]:
    from neverlost.reports import exit_status

    known = (
        (exit_status.HOLDS, "every property holds"),
        (exit_status.VIOLATED, "a safety property is violated"),
        (exit_status.UNAVAILABLE, "a recovery or availability property is violated"),
        (exit_status.INCONCLUSIVE, "inconclusive: a limit was reached"),
        (exit_status.UNEXPECTED, "the verdicts differ from the expected ones"),
        (exit_status.ENGINES_DISAGREE, "engines disagree"),
        (exit_status.USAGE, "bad usage or bad input"),
        (exit_status.INTERNAL, "internal error"),
    )
    return [part for number, says in known for part in (".TP", f"\\fB{number}\\fR", says)]


def _plain(text: str | None) -> str:
    """Text that roff takes as it stands."""
    return (text or "").replace("\\", "\\\\").replace("-", "\\-").replace("\n", " ").lstrip(".'")
