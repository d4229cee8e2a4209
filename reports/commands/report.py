"""`neverlost report`: write Markdown and a self-contained HTML page from a directory with a result."""

from __future__ import annotations

from typing import Annotated

import typer


def report(
    bundle: Annotated[str, typer.Argument(metavar="BUNDLE|SWEEP_DIR", help="the --out directory of check or sweep")],
    out: Annotated[
        str | None, typer.Option("--out", metavar="DIR", help="where to write (default: into the directory)")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="print nothing")] = False,
) -> int:
    from neverlost.reports.bundle.seal import render_again
    from neverlost.reports.questions.table_reports import TABLE_REPORTS
    from neverlost.reports.terminal.results import console

    written = render_again(bundle, out, TABLE_REPORTS)
    for path in () if quiet else written:
        console().print(f"wrote {path}", markup=False)
    return 0
