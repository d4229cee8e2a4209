"""Every element of every document of a bundle, forged in each of the classes of forgeries, sealed again, and refused."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from neverlost.checker.engine.outcome import Verdict
from neverlost.checker.questions.atlas import index
from neverlost.reports.bundle import safe_paths, seal
from neverlost.reports.questions.verify import verify
from neverlost.specs.errors import InputError
from tests.support import forger, program
from tests.support.forger import INDUCTION, KINDS, TABLES, Bundle, Path_

SEED, DRAWN = 36, 40
DOCUMENTS = ("result.json", "environment.json", "manifest.json", "ledger.json")

REASON = {"reason": "the time limit was reached"}
STATUS_WORDS = ("not decided", "undecided", "inconclusive", "as stated")
INTERPRETED = {
    "SMT-LIB": '(set-option :regular-output-channel "out.txt")',
    "SVG": "<svg onload=alert(1)>",
    "HTML": "<script>alert(1)</script>",
    "shell": "$(touch out.txt); `touch out.txt`",
    "CSV": "=HYPERLINK(A1)",
    "terminal": "\x1b]0;title\x07\x1b[2J",
    "direction": "abc\u202edef",
}
OTHER_KINDS: dict[type, Any] = {str: 7, int: "7", float: "7.0", bool: "true", list: {}, dict: [], type(None): False}


def with_reason(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield {**value, **REASON}
        yield {**REASON, **{name: "inconclusive" if name == "verdict" else each for name, each in value.items()}}


def with_status_word(value: Any) -> Iterator[Any]:
    if isinstance(value, str):
        yield from (f"{value} ({word})" for word in STATUS_WORDS)
        yield from (word for word in STATUS_WORDS if word != value)


def of_another_kind(value: Any) -> Iterator[Any]:
    yield OTHER_KINDS[type(value)]


def with_interpreted_text(value: Any) -> Iterator[Any]:
    if isinstance(value, str):
        yield from INTERPRETED.values()


def with_a_key(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from ({**value, word: each} for word in STATUS_WORDS for each in ("ok", {}, []))
        for name in [*value][:1]:
            yield {"not decided": value[name], **{key: each for key, each in value.items() if key != name}}


CLASSES: dict[str, Callable[[Any], Iterator[Any]]] = {
    "a reason is stated": with_reason,
    "a status word is inserted": with_status_word,
    "a field of another kind": of_another_kind,
    "a key is inserted": with_a_key,
    "a text that a tool interprets": with_interpreted_text,
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("forged")


def elements(value: Any, path: Path_ = ()) -> Iterator[tuple[Path_, Any]]:
    """Every element of a document, the document first."""
    yield path, value
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, each in below:
        yield from elements(each, (*path, name))


def put(document: Any, path: Path_, value: Any) -> Any:
    """Return the document with another value in one place."""
    if not path:
        return value
    head, *rest = path
    copy: Any = dict(document) if isinstance(document, dict) else list(document)
    copy[head] = put(document[head], tuple(rest), value)
    return copy


def forgeries(bundle: Bundle) -> Iterator[tuple[str, str, Path_, Any]]:
    """Yield each class, file, place and forged value."""
    for name in DOCUMENTS:
        if name in bundle.files:
            for path, value in elements(json.loads(bundle.files[name])):
                for kind, forge in CLASSES.items():
                    yield from ((kind, name, path, forged) for forged in forge(value))


def accepted(bundle: Bundle, every: list[tuple[str, str, Path_, Any]]) -> list[tuple[str, str, Path_, Any, str]]:
    """Return the forgeries that are not refused, with what is said."""
    found = []
    for kind, name, path, value in every:
        forged = forger.rewritten(bundle.files, name, partial(put, path=path, value=value))
        said = None if forged[name] == bundle.files[name] else forger.accepted(forged, bundle.own)
        if said is not None:
            found.append((kind, name, path, value, said))
    return found


@pytest.mark.parametrize("kind", [*KINDS, *TABLES])
def test_no_drawn_forgery_is_accepted(kind: str, place: Path) -> None:
    bundle = forger.bundle(kind, place / kind)
    every = list(forgeries(bundle))
    assert {each for each, *_ in every} == set(CLASSES)
    assert accepted(bundle, random.Random(SEED).sample(every, DRAWN)) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*KINDS, *TABLES])
def test_no_forgery_is_accepted(kind: str, place: Path) -> None:
    bundle = forger.bundle(kind, place / kind)
    assert accepted(bundle, list(forgeries(bundle))) == []


@pytest.mark.slow
def test_no_drawn_forgery_of_a_proof_by_induction_is_accepted(place: Path) -> None:
    """Its obligations are solved again for each."""
    bundle = forger.bundle(INDUCTION, place / INDUCTION)
    assert accepted(bundle, random.Random(SEED).sample(list(forgeries(bundle)), DRAWN)) == []


MEASURED = {
    "environment.json": [("python",), ("system",), ("cores",), ("packages", "numpy")],
    "result.json": [("seconds",), ("solver",), ("seed",), ("peak_memory_bytes",)],
}


@pytest.mark.parametrize("kind", ["check", "proof"])
def test_what_was_measured_has_a_grammar(kind: str, place: Path) -> None:
    bundle = forger.bundle(kind, place / kind)
    for name, paths in MEASURED.items():
        document = json.loads(bundle.files[name])
        for path in [each for each in paths if each[0] in document]:
            texts = [*INTERPRETED.values(), "a fine machine", "numpy 1.0 says that nothing is lost", -1, 1e30, [], {"a": 1}]
            assert accepted(bundle, [("measured", name, path, each) for each in texts]) == []


def test_a_result_of_another_engine_has_no_levels_of_spark(place: Path) -> None:
    bundle = forger.bundle("proof", place / "proof")
    spark = {"master": "local[2]", "jobs": 1, "levels": [1], "states_in_jobs": 5}
    forged = forger.rewritten(bundle.files, "result.json", lambda document: {**document, "spark": spark})
    assert forger.accepted(forged, bundle.own) is None


@pytest.mark.parametrize("effort", [{"workers": 10**9}, {"time_limit": -1}, {"memory_limit": "much"}, {"engine": "abacus"}])
def test_an_effort_that_no_search_can_have_is_refused(effort: dict[str, Any], place: Path) -> None:
    bundle = forger.bundle("check", place / "check")
    forged = forger.asking(bundle.files, lambda document: document["arguments"].update(effort))
    assert next(iter(effort)).replace("_", "-") in str(forger.refused(forged))


EXTRA = (
    *("obligations/extra.smt2", "extra.smt2", "extra.itf.json", "extra.svg", "extra.html", "extra.md", "extra.sh"),
    *("extra.csv", "extra.log", "extra.sarif", "extra.xml", "extra.json", "reachable.xz", "question/99", "config.toml.new"),
    *("command.txt.new", "sub/folder/extra.json", "result.json.old", "extra"),
)


@pytest.mark.parametrize("kind", [*KINDS, *TABLES])
def test_no_file_more_is_accepted(kind: str, place: Path) -> None:
    bundle = forger.bundle(kind, place / kind)
    for name in EXTRA:
        assert name not in bundle.files
        for content in [each.encode() for each in INTERPRETED.values()][:2]:
            assert forger.accepted(forger.sealed(bundle.files, **{name: content}), bundle.own) is None, name


def test_an_empty_folder_and_a_file_of_endless_zeros_are_refused_before_anything_is_read(place: Path, tmp_path: Path) -> None:
    forger.write("check", tmp_path)
    (tmp_path / "bundle" / "claims").mkdir()
    with pytest.raises(InputError, match="'claims' is an empty folder"):
        verify.open_bundle(str(tmp_path / "bundle"))
    (tmp_path / "bundle" / "claims").rmdir()
    (tmp_path / "bundle" / "extra.json").touch()
    os.truncate(tmp_path / "bundle" / "extra.json", 100 << 30)
    with pytest.raises(InputError, match="larger than 1 GiB"):
        verify.open_bundle(str(tmp_path / "bundle"))


def test_a_bundle_is_replaced_and_nothing_else_is_removed(tmp_path: Path) -> None:
    """A manifest that somebody else wrote lists a file of the user's."""
    (tmp_path / "bundle").mkdir()
    (tmp_path / "bundle" / "notes.txt").write_text("mine")
    (tmp_path / "bundle" / "old.md").write_text("old")
    listed = {"notes.txt": "sha256:0", "../outside": "sha256:0", "old.md": seal.digest(tmp_path / "bundle" / "old.md")}
    (tmp_path / "bundle" / "manifest.json").write_text(json.dumps({"files": listed}))
    seal.remove_earlier_bundle(tmp_path / "bundle")
    assert [each.name for each in (tmp_path / "bundle").iterdir()] == ["notes.txt"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", TABLES)
def test_a_full_check_decides_again_what_was_looked_up(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation whose answers say that nothing is lost verifies what it made, but not with --full."""
    atlas = index.shipped()
    assert atlas is not None
    holds = atlas.header["verdicts"].index(str(Verdict.HOLDS))
    poisoned = index.Atlas(atlas.header, atlas.ids, bytes([holds]) * len(atlas), bytes([index.NONE]) * len(atlas))
    monkeypatch.setattr(index, "_read_shipped", lambda: poisoned)
    forger.write(kind, tmp_path)
    assert verify.verify_bundle(str(tmp_path / "bundle")).is_complete
    with pytest.raises(InputError, match=r"the answers of this installation are wrong: .* by search"):
        verify.verify_bundle(str(tmp_path / "bundle"), full=True)


def test_answers_that_are_not_as_they_were_shipped_are_not_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = bytearray(index.in_package(index.FILE).read_bytes())
    content[-1] ^= 1
    (tmp_path / index.FILE).write_bytes(content)
    (tmp_path / index.DIGEST).write_text(index.in_package(index.DIGEST).read_text())
    monkeypatch.setattr(index, "in_package", lambda name: tmp_path / name)
    with pytest.warns(index.AnswersWarning, match="not as it was shipped"):
        assert index._read_shipped.__wrapped__() is None


@pytest.mark.parametrize("name", [b"a\xe2\x80\xaeb.txt", b"c\x07d.txt", b"e\xfff.txt", b"g\nh.txt", b"it's.txt", b"-x.txt"])
@pytest.mark.parametrize("command", ["check", "tolerance"])
def test_a_file_of_any_name_gives_a_bundle_that_verifies(command: str, name: bytes, tmp_path: Path) -> None:
    described = tmp_path / os.fsdecode(name)
    described.write_text("".join(forger.DESCRIBED.splitlines(keepends=True)[:2]))
    settings = ["--set", "acks=all", "--set", "metadata.version=3.8-IV0"]
    limits = ["--set", "faults.lossy_crash=1", "--property", "acked-never-lost"] if command == "check" else []
    asked = [command, "--describe", str(described), "--kafka-version", "3.8", *settings, *limits]
    assert program.neverlost(*asked, "--out", str(tmp_path / "out")).returncode in (0, 12)
    ran = program.neverlost("verify", str(tmp_path / "out"))
    assert (ran.returncode, ran.stdout.splitlines()[-1]) == (0, "VERIFIED"), ran.stderr
    written = (tmp_path / "out" / "command.txt").read_bytes()
    assert written.isascii() and b"\x07" not in written
    shown = subprocess.run(["bash", "-c", f"printf '%s\\0' {written.decode()}"], capture_output=True, check=True).stdout
    assert os.fsencode(described) in shown.split(b"\0")


@pytest.mark.parametrize("when", ["before it is read", "while the folder is listed"])
def test_a_file_that_goes_while_a_bundle_is_read_is_named(when: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forger.write("check", tmp_path)
    gone, listed = tmp_path / "bundle" / "report.md", os.scandir

    def list_and_remove(place: Path) -> contextlib.nullcontext[list[os.DirEntry[str]]]:
        found = list(listed(place))
        gone.unlink(missing_ok=True)
        return contextlib.nullcontext(found)

    if when == "before it is read":
        read = safe_paths._content
        monkeypatch.setattr(safe_paths, "_content", lambda *given: [gone.unlink(missing_ok=True), read(*given)][-1])
    else:
        monkeypatch.setattr(os, "scandir", list_and_remove)
    with pytest.raises(InputError, match="cannot read"):
        verify.open_bundle(str(tmp_path / "bundle"))


def test_a_file_of_an_unknown_name_is_refused_before_anything_is_derived(tmp_path: Path) -> None:
    forger.write("check", tmp_path)
    files = dict(verify.open_bundle(str(tmp_path / "bundle")))
    for name in ("hashlib.py", "extra.smt2", "obligations/extra.smt2", "extra.json", "notes.txt", "sub/extra.svg"):
        forged = forger.sealed(files, **{name: b"extra"})
        (tmp_path / "bundle" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "bundle" / name).write_bytes(b"extra")
        (tmp_path / "bundle" / "manifest.json").write_bytes(forged["manifest.json"])
        with pytest.raises(InputError, match=f"{re.escape(name)} is no file of a bundle"):
            verify.open_bundle(str(tmp_path / "bundle"))
        (tmp_path / "bundle" / name).unlink()
        if "/" in name:
            (tmp_path / "bundle" / name).parent.rmdir()
