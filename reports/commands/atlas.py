"""`neverlost atlas`: what the shipped answers to common questions cover."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

from neverlost.reports.command_line import options


def atlas(
    action: Annotated[str, typer.Argument(metavar="show", help="what to do")] = "show",
    json: options.JsonTarget = None,
    quiet: options.Quiet = False,
) -> int:
    """Run `neverlost atlas` and return the exit status."""
    from neverlost.reports.output import exit_status
    from neverlost.reports.output.output import Output
    from neverlost.reports.questions.atlas import api
    from neverlost.specs.errors import InputError

    if action != "show":
        raise InputError(
            f"bad value {action!r} for atlas: write atlas show; a checkout builds it: python -m tests.tools.atlas build"
        )
    output = Output(json, None, quiet)
    coverage = api.atlas_coverage()
    output.deliver(coverage.document, lines=lambda document: list(_covered(document))[-1:])
    if output.is_read:
        typer.echo("\n".join(_covered(coverage.document)))
    return exit_status.HOLDS


def _covered(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each chapter, and one for all."""
    if not document["is_of_these_models"]:
        yield "The shipped answers are about models of another meaning: none of them counts."
    if not document["chapters"]:
        yield f"{document['all']['decided']:,} decided; how many are not was not counted"
        return
    for each in (*document["chapters"], {"name": "in all", **document["all"]}):
        share = 100 * each["undecided"] / each["questions"]
        yield f"{each['name']}: {each['questions']:,} questions, {each['decided']:,} decided, {share:.0f} % not decided"
