"""`neverlost explain`: what a word means, its values, its default and its source."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neverlost.reports.command_line import options

if TYPE_CHECKING:
    from neverlost.reports.questions.explain.glossary import Word


def explain(
    names: Annotated[list[str] | None, typer.Argument(metavar="[WORD]...", show_default=False)] = None,
    json: options.JsonTarget = None,
    quiet: options.Quiet = False,
) -> int:
    from neverlost.reports.output.output import Output
    from neverlost.reports.questions.explain import glossary

    output = Output(json, quiet=quiet)
    found = [glossary.find_word(each) for each in names] if names else list(glossary.all_words().values())
    output.deliver({"schema": "neverlost.words/1", "words": [each.document() for each in found]}, lines=_names)
    if output.is_read and names:
        _show(found)
    elif output.is_read:
        _show_all(found)
    return 0


def _names(document: dict[str, Any]) -> list[str]:
    return [each["name"] for each in document["words"]]


def _show(found: list[Word]) -> None:
    from rich.text import Text

    from neverlost.reports.terminal.results import console, show_below

    out = console()
    for each in found:
        out.print(Text.assemble((each.name, "bold"), f" ({each.kind})"))
        for line in (each.says, *(f"{label}: {text}" for label, text in each.more)):
            show_below(out, Text(line))


def _show_all(found: list[Word]) -> None:
    from rich.text import Text

    from neverlost.reports.terminal.results import console, show_below

    out = console()
    for kind, group in groupby(found, key=lambda each: each.kind):
        out.print(Text("properties" if kind == "property" else f"{kind}s", "bold"))
        for each in group:
            show_below(out, Text.assemble((each.name, "cyan"), f"  {each.says}"))
