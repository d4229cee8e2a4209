"""Published pages: each is made by the one command or is a record, and what they depend on is known."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.program import ROOT
from tests.tools.publish import __main__ as publish
from tests.tools.publish.pages import FIGURES, PAGES, RECORDED


def test_every_published_file_is_made_by_the_command_or_recorded() -> None:
    pages = {name.partition("/")[0] for each in PAGES for name in (each.name, *each.beside)}
    named = pages | {each.rstrip("/") for each in RECORDED} | {"README.md"}
    assert {each.name for each in publish.PUBLISHED.iterdir()} <= named
    conform = {each.name for each in (publish.PUBLISHED / "conform").iterdir()} - {"README.md"}
    assert conform <= {each.path.name for each in (*PAGES, *FIGURES) if "conform/" in each.name}


def test_nothing_published_is_older_than_what_it_depends_on(capsys: pytest.CaptureFixture[str]) -> None:
    """Pages and figures of the guide: `python -m tests.tools.publish` makes a page again, `--measured` stamps a figure."""
    status = publish.check([*PAGES, *FIGURES])
    assert (status, capsys.readouterr().out) == (0, "")


def test_the_index_says_what_was_made_when() -> None:
    assert (publish.PUBLISHED / "README.md").read_text() == "\n".join(publish.index(publish.known())) + "\n"


def test_a_page_of_prose_gets_the_counterexamples_of_its_questions() -> None:
    asked = "--set model=majority --set faults.lossy_crash=1 --set bounds.records=1 --property acked-never-lost"
    page = f"Before.\n\n`neverlost check {asked}`\n\n```text\nan old trace\n```\n\nAfter.\n"
    made = publish.with_traces(page)
    assert made.startswith("Before.\n") and made.endswith("```\n\nAfter.\n") and "an old trace" not in made
    assert " 1  leader 1 receives" in made and "violates acked-never-lost: acknowledged record m1 is lost" in made
    assert publish.with_traces(made) == made


def test_a_changed_clause_names_the_pages_that_depend_on_it_and_no_other(tmp_path: Path) -> None:
    """In a copy whose pages are of now, kip-320's fence of fetches is changed; then one property, which one page asks."""
    copy = tmp_path / "copy"
    left_out = shutil.ignore_patterns("__pycache__", ".git", ".venv", ".*_cache", "decisions", "node_modules")
    shutil.copytree(ROOT, copy, symlinks=True, ignore=left_out)
    for each in PAGES:
        (copy / "reports" / "published" / each.name).touch()
    made = copy / "reports" / "published" / "made.json"
    made.write_text(json.dumps({each.name: {"made_of": each.made_of()} for each in (*PAGES, *FIGURES)}))
    assert older(copy) == (0, set())
    change(
        copy / "model/protocols/kip320.py",
        '"fetch epoch matches", s.leader_epoch[follower] ==',
        '"fetch epoch matches", True |',
    )
    of_kip_320 = {"necessity-kip-320.md", "proofs.md", "claims.md", "bundles", "guide/figures.md", "guide/tlc.md"}
    assert older(copy) == (21, of_kip_320)
    shutil.copy(ROOT / "model/protocols/kip320.py", copy / "model/protocols/kip320.py")
    change(copy / "specs/matrices/stretched.toml", "properties", "# changed\nproperties")
    assert older(copy) == (21, {"stretched.md"})


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert text.count(old) == 1, f"{old!r} in {file}"
    file.write_text(text.replace(old, new))


def older(copy: Path) -> tuple[int, set[str]]:
    """The exit status of `--check` in a copy, and the pages that it names."""
    environment = os.environ | {"PYTHONPATH": f"{copy / '.package'}{os.pathsep}{copy}"}
    command = [sys.executable, "-m", "tests.tools.publish", "--check"]
    done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
    assert not done.stderr, done.stderr
    return done.returncode, {line.partition(": older than ")[0] for line in done.stdout.splitlines()}
