"""Worked queries over exported states, for any number of replicas, in SQL that both DuckDB and Spark run."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from neverlost.checker.engine.host.whole_files import write_text
from neverlost.model.system import System
from neverlost.reports.page.templating import page_templates

FOLDER = "queries"
CLASSIC = {"leader": "leader", "first_record": "log_end_offset_%s"}
MODERN = {"leader": "follows", "first_record": "log_record_%s_0"}
"""The columns that say whom a broker believes to be leader, and whether it has the first record."""


def worked_queries(system: System) -> dict[str, str]:
    """Return the queries by file name; none for a model with neither family's columns."""
    names = {each.field.name for each in system.slots}
    columns = next((each for each in (MODERN, CLASSIC) if {each["leader"], "high_watermark"} <= names), None)
    replicas = range(sum(each.field.name == "high_watermark" for each in system.slots))
    found = {each.name: each.read_text("utf-8") for each in files(__name__).iterdir() if each.name.endswith(".sql")}
    return (
        {}
        if columns is None
        else {
            name: page_templates().from_string(text).render(replicas=replicas, **columns)
            for name, text in sorted(found.items())
        }
    )


def write(system: System, directory: Path) -> None:
    """Write the queries into a folder of an export."""
    (directory / FOLDER).mkdir()
    for name, text in worked_queries(system).items():
        write_text(directory / FOLDER / name, text)
