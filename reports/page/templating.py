"""The templates of pages and reports, which escape what users wrote."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from neverlost.checker.engine.host.visible import plain_markdown
from neverlost.reports.wording.merged_rows import where_violated
from neverlost.reports.wording.sentences import say_left_out


def page_templates() -> Environment:
    """Return the templates' environment, in which `.html` templates escape every value, and others escape nothing."""
    found = Environment(
        loader=PackageLoader("neverlost.reports.page", "templates"),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {"where": where_violated, "left_out": say_left_out}
    return found


def markdown_templates() -> Environment:
    """Return the templates' environment that escapes every text for Markdown, and no other value."""
    return page_templates().overlay(finalize=lambda value: plain_markdown(value) if isinstance(value, str) else value)
