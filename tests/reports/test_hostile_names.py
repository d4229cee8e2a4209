"""Names that others chose: what a terminal, Markdown or HTML would obey is shown, in every output."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.text import Text

import neverlost
from neverlost.checker.engine.host.visible import UNSEEN, plain_markdown, visible
from neverlost.checker.engine.host.whole_files import as_json
from neverlost.reports.terminal.results import Visible
from tests.support.forger import MATRIX

HOSTILE = "a\u202eb\u2066c\x1b[31md <img src=x onerror=alert(1)> ![x](http://h) [y](z) | `e`"


def test_every_character_that_is_obeyed_is_an_escape() -> None:
    assert visible("tab\tand\nline") == "tab\tand\nline"
    assert visible("\u202e\x07\u2028\x9b\ud800") == r"\u202e\u0007\u2028\u009b\ud800"
    assert json.loads(as_json({"name": HOSTILE})) == {"name": HOSTILE} and not UNSEEN.search(as_json({"name": HOSTILE}))
    assert plain_markdown("<b>![i](u)[t](u) a|b <= c") == "&lt;b>!\\[i]\\(u)[t]\\(u) a\\|b <= c"


def test_a_terminal_gets_no_order_from_a_name() -> None:
    out = io.StringIO()
    Visible(file=out, force_terminal=True, width=200).print(Text(HOSTILE))
    assert "\u202e" not in out.getvalue() and "\x1b[31md" not in out.getvalue() and r"\u001b[31md" in out.getvalue()


def test_no_file_of_a_bundle_obeys_the_words_of_a_matrix(tmp_path: Path) -> None:
    text = MATRIX.replace("an example", json.dumps(HOSTILE)[1:-1].replace("\\u001b", "\\u001B"))
    (tmp_path / "m.toml").write_text(text)
    neverlost.sweep(tmp_path / "m.toml", out=tmp_path / "b")
    for path in sorted((tmp_path / "b").rglob("*")):
        if path.is_file() and path.parent.name != "question":
            assert not UNSEEN.search(path.read_text()), path
    for name in ("report.md", "summary.md"):
        report = (tmp_path / "b" / name).read_text()
        assert "<img" not in report and "![x]" not in report, name
    assert "<img src=x" not in (tmp_path / "b" / "report.html").read_text()
    assert neverlost.verify(tmp_path / "b").verified


@pytest.mark.parametrize("kind", ["link", "pipe", "folder of links", "hidden", "upper"])
def test_only_plain_files_of_plain_names_are_read(kind: str, tmp_path: Path) -> None:
    import os

    bundle = tmp_path / "b"
    neverlost.check({"model": "kip-320", "replication.factor": 2, "bounds.records": 1}, properties=["weak-isr"], out=bundle)
    if kind == "link":
        (bundle / "report.md").rename(tmp_path / "elsewhere")
        (bundle / "report.md").symlink_to(tmp_path / "elsewhere")
    elif kind == "pipe":
        (bundle / "report.md").unlink()
        os.mkfifo(bundle / "report.md")
    elif kind == "folder of links":
        (bundle / "traces").symlink_to(tmp_path)
    elif kind == "hidden":
        (bundle / ".hidden").write_text("")
    else:
        (bundle / "REPORT.md").write_bytes((bundle / "report.md").read_bytes())
    with pytest.raises(neverlost.InputError, match=r"is refused: .*(a link|a pipe|no name of a file|two spellings)"):
        neverlost.verify(bundle)
