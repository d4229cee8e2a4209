"""Published pages: each is made by the one command or is a record, and the first page says of which models they speak."""

from __future__ import annotations

from tests.tools.publish import __main__ as publish


def test_every_published_file_is_made_by_the_command_or_recorded() -> None:
    pages = {name for each in publish.PAGES for name in (each.name, *each.beside)}
    named = pages | {each.rstrip("/") for each in publish.RECORDED} | {"README.md"}
    assert {each.name for each in publish.PUBLISHED.iterdir()} <= named


def test_the_index_says_what_was_made_when() -> None:
    assert (publish.PUBLISHED / "README.md").read_text() == "\n".join(publish.index(publish.known())) + "\n"


def test_a_page_of_prose_gets_the_counterexamples_of_its_questions() -> None:
    asked = "--set model=majority --set faults.lossy_crash=1 --set bounds.records=1 --property acked-never-lost"
    page = f"Before.\n\n`neverlost check {asked}`\n\n```text\nan old trace\n```\n\nAfter.\n"
    made = publish.with_traces(page)
    assert made.startswith("Before.\n") and made.endswith("```\n\nAfter.\n") and "an old trace" not in made
    assert " 1  leader 1 receives" in made and "violates acked-never-lost: acknowledged record m1 is lost" in made
    assert publish.with_traces(made) == made
