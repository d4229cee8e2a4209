"""One word for one thing, the field's own: words that were retired do not come back, in code, documents or sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from neverlost.model.protocols import models

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("model", "specs", "checker", "reports", "tests")
KINDS = (".py", ".md", ".toml", ".ipynb", ".j2", ".html", ".js", ".css", ".sql")

RETIRED = {
    r"tells?|told|telling|hears?|heard|hearing|news": "reports, notifies, shows, distinguishes; learns, knows; event",
    r"nobody|somebody|someone|anybody|everybody|whoever": "no broker, no client, none; a broker, the leader; each",
    r"zombies?": "stale leader, stale follower; a task that was replaced",
    r"stor(?:y|ies)": "counterexample, behaviour, timeline",
    r"nought": "zero",
    r"into the void": "lost in transit",
    r"(?:takes?|took) itself": "believes it is leader",
    r"newest leader": "current leader",
    r"(?:take|takes|took|taken|taking)[ _]over": "applies its leadership, leads, continues",
    r"parts? from|parted|partings?|parts? ways": "diverges",
    r"gets? through|got through": "is blocked, is delivered",
    r"(?:unclean|lossy)[ _-]restarts?": "unclean shutdown; unclean shutdown that loses unflushed data",
    r"stretch(?:es)?|cohorts?|doomed|heal(?:s|ed|ing)?": "interval, offset group, losing states, recovery",
    r"electable disks?": "eligible copies",
    r"is gone where it must be|not always:": "is lost; violated:",
}
"""What was retired, as regular expressions, and what the field says instead."""

WHOLE_WORD = re.compile("|".join(rf"(?P<w{n}>(?<![A-Za-z])(?:{words})(?![A-Za-z]))" for n, words in enumerate(RETIRED)), re.I)

NOT_OURS = (
    "tests/data",
    "reports/published/reproductions/",
    "reports/published/necessity-kraft-elr.md",
    "tests/house/test_words.py",
)
"""Files of others, records of what was run, and this list."""

QUOTED = dict.fromkeys(("specs/claims/confluent-replication.toml", "reports/published/claims.md"), ("takes over",))
"""Where the words of a source are given as they stand."""


def texts() -> Iterator[tuple[str, str]]:
    """Each file's place in the repository and its text."""
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in KINDS]
    for path in sorted([*files, *ROOT.glob("*.md"), ROOT / "pyproject.toml"]):
        place = path.relative_to(ROOT).as_posix()
        if not place.startswith(NOT_OURS) and "__pycache__" not in place:
            yield place, path.read_text(encoding="utf-8")


def retired(text: str) -> Iterator[tuple[int, str, str]]:
    """Line, word and what to say instead, for each retired word of a text."""
    for found in WHOLE_WORD.finditer(text):
        number = int(str(found.lastgroup)[1:])
        yield text.count("\n", 0, found.start()) + 1, found[0], list(RETIRED.values())[number]


def test_retired_words_are_found_in_prose_and_in_names() -> None:
    said = "The leader is TOLD so.\nhas_taken_over = somebody(story)\nhealth, storage and intelligence stay\n"
    assert [(line, word) for line, word, _ in retired(said)] == [(1, "TOLD"), (2, "taken_over"), (2, "somebody"), (2, "story")]


def test_no_retired_word_is_used() -> None:
    found = [
        f"{place}:{line}: {word!r}; say {instead}"
        for place, text in texts()
        for line, word, instead in retired(text)
        if word.lower() not in QUOTED.get(place, ())
    ]
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize("name", sorted(models()))
def test_every_action_says_why_it_is_so(name: str) -> None:
    """In its own words, with the class, KIP or module that it is taken from in them or at the head of its file."""
    for each in models()[name].actions:
        comment = each.body.__doc__ or ""
        assert comment, each.name
        file = Path(each.source[0]).read_text(encoding="utf-8")
        assert "Source:" in comment or "Source:" in file.split('"""')[1], each.name
