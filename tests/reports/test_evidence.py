"""Bundles verify; each thing that can be changed in one is refused by name.  Certificates admit one set of states only."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from neverlost.checker.engine.host.visible import UNSEEN
from neverlost.checker.engine.host.whole_files import as_json
from neverlost.reports.bundle import seal as bundle
from neverlost.reports.bundle.question import BundleQuestion
from neverlost.reports.bundle.seal import configuration_toml
from neverlost.reports.counterexample.itf import read_itf
from neverlost.reports.documents.sweep_and_baseline import read_baseline
from neverlost.reports.questions.verify import verify as verification
from neverlost.reports.questions.verify.derive import derive
from neverlost.specs.configuration.choose import choose, read_toml
from neverlost.specs.errors import InputError
from tests.checker.search.test_sweep import MATRIX
from tests.support import forger
from tests.support.program import neverlost
from tests.support.wheel import unpacked

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("check")
    done = neverlost("check", "--set", "model=truncate-to-hw", "--set", "replication.factor=2", "--out", str(place / "b"))
    assert done.returncode == 12, done.stderr
    return place / "b"


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("sweep")
    (place / "m.toml").write_text(MATRIX.replace('"0..2"', "0"))
    done = neverlost("sweep", "m.toml", "--out", "b", cwd=place)
    assert done.returncode == 0, done.stderr
    assert {each["verdict"] for each in json.loads((place / "b" / "result.json").read_text())["cells"]} == {"holds", "violated"}
    return place / "b"


def opened(folder: Path) -> dict[str, bytes]:
    return dict(verification.open_bundle(str(folder)))


def test_bundles_of_check_and_sweep_verify(checked: Path, swept: Path) -> None:
    done = neverlost("verify", str(checked))
    assert done.returncode == 0 and "1 counterexample re-executed" in done.stdout, done.stderr
    assert done.stdout.endswith("VERIFIED\n")
    found = verification.verify_bundle(str(swept))
    assert found.is_complete and any("every field is the same" in each for each in found.confirmed)
    assert {"junit.xml", "results.sarif", "report.html", "environment.json"} <= {each.name for each in swept.iterdir()}


def test_a_bundle_verifies_on_another_checkout(checked: Path, swept: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    environment = os.environ | {"PYTHONPATH": str(unpacked(tmp_path))}
    for source in (checked, swept):
        shutil.copytree(source, elsewhere)
        command = [sys.executable, "-P", "-m", "neverlost", "verify", "elsewhere", "--json", "-"]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert found["verdict"] == "verified" and found["verified"] is True and found["unchecked"] == []
        shutil.rmtree(elsewhere)


@pytest.mark.slow
def test_what_takes_too_long_is_sampled_named_and_never_called_verified(swept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = opened(swept)
    question = BundleQuestion.of(files)
    brief = derive(question, 1e-6)
    ids = [each["id"] for each in json.loads(files["result.json"])["cells"]]
    found = verification.compare_bundle(files, brief, seconds=0.0)
    assert found.verdict == "partly verified" and [each.split(":")[0] for each in found.unchecked] == [*ids, "searches"]
    drawn = verification.compare_bundle(files, brief, seed=7)
    assert [each.split(":")[0] for each in drawn.unchecked] == ["searches"]
    forged = json.loads(files["result.json"])
    cell = next(each for each in forged["cells"] if each["verdict"] == "violated")
    cell["properties"][0] = {"name": "acked-never-lost", "verdict": "holds", "how": "explored"}
    files["result.json"] = as_json(forged).encode()
    with pytest.raises(InputError, match=r"states that acked-never-lost is holds; derived, acked-never-lost is violated"):
        verification.compare_bundle(files, brief, seed=7)


def test_what_a_bundle_leaves_open_and_is_decided_here_is_refused(tmp_path: Path) -> None:
    small = ["--set", "model=kip-320", "--set", "replication.factor=2"]
    arguments = ["check", *small, "--time-limit", "0.000001", "--out", "b"]
    assert neverlost(*arguments, cwd=tmp_path).returncode == 20
    done = neverlost("verify", "b", cwd=tmp_path)
    said = "undecided ('the time limit of 1e-06 s was reached'), which is decided here: weak-isr holds, strong-isr holds"
    assert done.returncode == 64 and said in done.stderr and not done.stdout


def test_a_search_that_is_cut_short_here_too_is_not_called_verified(tmp_path: Path) -> None:
    small = ["--set", "model=kip-320", "--set", "replication.factor=2"]
    assert neverlost("check", *small, "--time-limit", "0.000001", "--out", "b", cwd=tmp_path).returncode == 20
    found = verification.verify_bundle(str(tmp_path / "b"), seconds=1e-6)
    assert found.verdict == "partly verified" and "the time limit of 1e-06 s was reached" in found.unchecked[0]


@pytest.mark.parametrize(
    "version", ["9.9\x1b]0;owned\x07", "9.9; touch owned", "$(touch owned)", "9.9\u202e", "9.9\nVERIFIED", "--help"]
)
def test_another_version_is_shown_and_never_obeyed(version: str, checked: Path, tmp_path: Path) -> None:
    forged = forger.asking(opened(checked), lambda question: question.update(version=version))
    for name, content in forged.items():
        (tmp_path / "b" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "b" / name).write_bytes(content)
    done = neverlost("verify", "b", cwd=tmp_path)
    assert done.returncode == 64 and done.stderr.count("\n") == 1 and not UNSEEN.search(done.stderr)
    assert "which is no version" in done.stderr and "checkout" not in done.stderr
    assert "verify it with a checkout or a wheel of 9.9.1" in str(
        forger.refused(forger.asking(opened(checked), lambda q: q.update(version="9.9.1")))
    )


def test_a_sweep_that_decides_nothing_is_written_and_ends_undecided(tmp_path: Path) -> None:
    done = neverlost("sweep", "small", "--time-limit", "0.000001", "--out", "b", cwd=tmp_path)
    assert done.returncode == 20, done.stderr
    document = json.loads((tmp_path / "b" / "result.json").read_text())
    assert document["verdict"] == "inconclusive" and document["boundary"] == []


def test_altered_removed_and_added_files_are_named(checked: Path, tmp_path: Path) -> None:
    folder = tmp_path / "b"
    shutil.copytree(checked, folder)
    trace = next(folder.glob("*.itf.json"))
    whole = bytearray(trace.read_bytes())
    whole[len(whole) // 2] ^= 1
    trace.write_bytes(whole)
    (folder / "environment.json").unlink()
    (folder / "more.txt").write_text("more")
    done = neverlost("verify", str(folder))
    assert done.returncode == 64
    for said in (f"{trace.name} was altered", "environment.json was removed", "more.txt was added"):
        assert said in done.stderr


def test_a_second_bundle_in_one_directory_leaves_nothing_of_the_first(tmp_path: Path) -> None:
    keys = ["check", "--set", "replication.factor=2", "--out", "b"]
    assert neverlost(*keys, "--set", "model=truncate-to-hw", cwd=tmp_path).returncode == 12
    (tmp_path / "b" / ".report.md.ab12cd34").write_text("a writer was killed here")
    assert neverlost(*keys, "--set", "model=kip-320", cwd=tmp_path).returncode == 0
    assert not list((tmp_path / "b").glob("*.itf.json")) and not list((tmp_path / "b").glob(".*"))
    found = verification.verify_bundle(str(tmp_path / "b"))
    assert found.is_complete and "refuted" not in (tmp_path / "b" / "ledger.json").read_text()


def test_the_walk_shares_no_code_with_the_engines() -> None:
    """Only the definition is loaded: the model with its ints interpreter, and the properties."""
    code = "import sys, neverlost.checker.engine.evidence.reachable_states; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    ours = {each for each in loaded if each.startswith("neverlost.checker")}
    assert ours == {
        f"neverlost.checker{each}" for each in ("", ".engine", ".engine.evidence", ".engine.evidence.reachable_states")
    }
    assert not {"numpy", "pyspark", "pyarrow", "z3", "neverlost.model.interpreters.columns"} & loaded


@pytest.mark.parametrize("name", ["kip-320", "kraft", "kraft-elr"])
def test_configurations_are_written_as_they_are_read(name: str, tmp_path: Path) -> None:
    chosen = choose({"replication.factor": (4, "test")}, name)
    (tmp_path / "c.toml").write_text(configuration_toml(chosen.model, chosen.configuration))
    again = choose(read_toml(tmp_path / "c.toml"))
    assert (again.model, again.configuration) == (chosen.model, chosen.configuration)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON: Expecting property name"),
        ("[" * 100_000, "is not JSON: maximum recursion depth"),
        ("[" * 100 + "]" * 100, "its values are nested more than 64 deep"),
        ("9" * 5000, "is not JSON: the number 9+... is too large"),
        ('{"a": 1e400}', "is not JSON: the number 1e400 is too large"),
        ('{"a": NaN}', "is not JSON: NaN is no number"),
        ('{"a": 1, "b": {"c": 2, "c": 3}}', "is not JSON: an object has 'c' twice"),
        ("[]", "is not a document of ours: it is no JSON object"),
    ],
)
def test_what_is_no_document_is_refused_wherever_it_is_read(text: str, message: str, tmp_path: Path) -> None:
    for name in ("manifest.json", "result.json", "trace.itf.json"):
        (tmp_path / name).write_text(text)
    place = str(tmp_path)
    for reader in (verification.verify_bundle, lambda path: bundle.render_again(path, None, {})):
        with pytest.raises(InputError, match=message):
            reader(place)
    for one in (read_itf, read_baseline):
        with pytest.raises(InputError, match=message):
            one(f"{place}/trace.itf.json")


@pytest.mark.parametrize("arguments", [["verify", "nowhere"], ["verify", "."], ["report", "."]])
def test_directories_that_are_no_bundles_are_refused(arguments: list[str], tmp_path: Path) -> None:
    done = neverlost(*arguments, cwd=tmp_path)
    assert done.returncode == 64 and len(done.stderr.splitlines()) == 1
