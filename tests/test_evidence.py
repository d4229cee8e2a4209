"""Bundles verify; each thing that can be changed in one is refused by name.  Certificates admit one set of states only."""

from __future__ import annotations

import json
import lzma
import shutil
from pathlib import Path
from typing import Any

import pytest

from checker import reachable
from model.catalogue import models
from model.system import bind
from reports import bundle
from reports.bundle import configuration_toml, digest
from reports.configuration import choose, read_toml
from specs.errors import InputError
from specs.keys import configuration
from specs.property import properties
from tests.test_cli import neverlost
from tests.test_sweep import MATRIX


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("check")
    done = neverlost("check", "--set", "model=truncate-to-hw", "--set", "replication.factor=2", "--out", str(place / "b"))
    assert done.returncode == 12, done.stderr
    return place / "b"


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("sweep")
    (place / "m.toml").write_text(MATRIX.replace('"0..2"', "1"))
    done = neverlost("sweep", "m.toml", "--out", "b", cwd=place)
    assert done.returncode == 0, done.stderr
    return place / "b"


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("certificate") / "b"
    done = neverlost("check", "--set", "model=kip-320", "--set", "replication.factor=2", "--certificate", "--out", str(place))
    assert done.returncode == 0, done.stderr
    return place


def resealed(folder: Path) -> None:
    """A forger's manifest: the digests fit whatever is there."""
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"] = {name: digest(folder / name) for name in bundle._files(folder)}
    (folder / "manifest.json").write_text(json.dumps(manifest))


def edited(folder: Path, name: str, change: Any) -> None:
    document = json.loads((folder / name).read_text())
    change(document)
    (folder / name).write_text(json.dumps(document))
    resealed(folder)


def copy(source: Path, target: Path) -> Path:
    shutil.copytree(source, target)
    return target


def test_bundles_of_check_and_sweep_verify(checked: Path, swept: Path) -> None:
    done = neverlost("verify", str(checked))
    assert done.returncode == 0 and "1 counterexample re-executed" in done.stdout and "1 of 1 explored again" in done.stdout
    confirmed = bundle.verify(str(swept), full=True)
    assert any("24 of 24 explored again" in each for each in confirmed)
    assert {"junit.xml", "results.sarif", "report.html", "environment.json"} <= {each.name for each in swept.iterdir()}


def test_altered_removed_and_added_files_are_named(checked: Path, tmp_path: Path) -> None:
    folder = copy(checked, tmp_path / "b")
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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["properties"].__setitem__(0, d["properties"][0] | {"steps": 7}), "is not the counterexample"),
        (lambda d: d["config"].update({"replication.factor": 3}), "does not belong to its configuration"),
        (lambda d: d["bounds"].update({"bounds.records": 1}), "does not belong to its configuration"),
        (lambda d: d.update(model="kip-320"), "another version of model kip-320"),
        (lambda d: d.update(model_digest="sha256:0"), "another version of model truncate-to-hw"),
        (lambda d: d["properties"].pop(0), "does not belong to its configuration"),
    ],
)
def test_a_forged_result_is_refused(checked: Path, tmp_path: Path, change: Any, message: str) -> None:
    folder = copy(checked, tmp_path / "b")
    edited(folder, "result.json", change)
    with pytest.raises(InputError) as problem:
        bundle.verify(str(folder))
    assert message in str(problem.value)


def test_a_changed_count_is_refused(certified: Path, tmp_path: Path) -> None:
    folder = copy(certified, tmp_path / "b")
    (folder / "reachable.xz").unlink()
    edited(folder, "result.json", lambda document: document["states"].update(distinct=5972))
    with pytest.raises(InputError, match=r"distinct of nl-.* is 5973, not 5972"):
        bundle.verify(str(folder))


def test_a_swapped_configuration_is_refused(checked: Path, tmp_path: Path) -> None:
    folder = copy(checked, tmp_path / "b")
    text = (folder / "config.toml").read_text()
    (folder / "config.toml").write_text(text.replace("replication.factor = 2", "replication.factor = 3"))
    resealed(folder)
    with pytest.raises(InputError, match=r"config.toml of .* is not the configuration"):
        bundle.verify(str(folder))


def test_a_flipped_verdict_of_a_sweep_is_refused(swept: Path, tmp_path: Path) -> None:
    folder = copy(swept, tmp_path / "b")

    def flip(document: dict[str, Any]) -> None:
        cell = next(each for each in document["cells"] if each["verdict"] == "violated")
        cell["verdict"] = cell["properties"][0]["verdict"] = "holds"
        cell["properties"][0]["trace"] = None

    edited(folder, "result.json", flip)
    with pytest.raises(InputError, match=r"acked-never-lost of nl-\w+ is violated, not holds"):
        bundle.verify(str(folder), full=True)


def test_the_certificate_is_walked(certified: Path) -> None:
    done = neverlost("verify", str(certified))
    assert done.returncode == 0 and "certificate: 5,973 states" in done.stdout


@pytest.mark.parametrize("how", ["removed", "added", "changed", "cut"])
def test_a_certificate_with_one_state_off_is_refused(certified: Path, tmp_path: Path, how: str) -> None:
    path = tmp_path / "reachable.xz"
    found = models()["kip-320"]
    system = bind(found, configuration(found, {"replication.factor": (2, "test")}))
    states = sorted(system.pack(state) for state in reachable.read(certified / "reachable.xz", system))
    asked = [properties()["strong-isr"]]
    assert reachable.verify(certified / "reachable.xz", system, asked) == 5973
    listed = set(states)
    other = next(words for words in ((*states[n][:-1], states[n][-1] ^ 1) for n in range(len(states))) if words not in listed)
    if how in ("removed", "changed"):
        listed.remove(states[3000])
    if how in ("added", "changed"):
        listed.add(other)
    reachable.write(path, system.words, listed)
    if how == "cut":
        path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match=r"not closed|unreachable|not a reachability certificate|outside"):
        reachable.verify(path, system, asked)


def test_a_certificate_of_a_broken_property_is_refused(tmp_path: Path) -> None:
    found = models()["truncate-to-hw"]
    system = bind(found, configuration(found, {"replication.factor": (2, "test")}))
    (start,) = {state for _, state in system.initial_states()}
    reachable.write(tmp_path / "c.xz", system.words, [system.pack(start)])
    with pytest.raises(InputError, match=r"is not closed"):
        reachable.verify(tmp_path / "c.xz", system, [])
    (tmp_path / "bad.xz").write_bytes(lzma.compress(b"no"))
    with pytest.raises(InputError, match=r"not a reachability certificate"):
        reachable.verify(tmp_path / "bad.xz", system, [])


@pytest.mark.parametrize("name", ["kip-320", "kraft", "kraft-elr"])
def test_configurations_are_written_as_they_are_read(name: str, tmp_path: Path) -> None:
    chosen = choose({"replication.factor": (4, "test")}, name)
    (tmp_path / "c.toml").write_text(configuration_toml(chosen.model, chosen.configuration))
    again = choose(read_toml(tmp_path / "c.toml"))
    assert (again.model, again.configuration) == (chosen.model, chosen.configuration)


@pytest.mark.parametrize("arguments", [["verify", "nowhere"], ["verify", "."], ["report", "."]])
def test_directories_that_are_no_bundles_are_refused(arguments: list[str], tmp_path: Path) -> None:
    done = neverlost(*arguments, cwd=tmp_path)
    assert done.returncode == 64 and len(done.stderr.splitlines()) == 1


def test_a_certificate_needs_a_place_and_one_configuration() -> None:
    done = neverlost("check", "--certificate")
    assert done.returncode == 64 and "--certificate needs --out DIR" in done.stderr
