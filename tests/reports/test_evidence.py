"""Bundles verify; each thing that can be changed in one is refused by name.  Certificates admit one set of states only."""

from __future__ import annotations

import json
import lzma
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from neverlost.checker.evidence import reachable_states as reachable
from neverlost.model.catalogue import models
from neverlost.model.system import bind
from neverlost.reports.bundle import seal as bundle
from neverlost.reports.bundle import verify as verification
from neverlost.reports.bundle.seal import configuration_toml, digest
from neverlost.reports.counterexample.itf import read_itf
from neverlost.reports.documents.sweep import read_baseline
from neverlost.specs.configuration.choose import choose, read_toml
from neverlost.specs.configuration.keys import configuration
from neverlost.specs.errors import InputError
from neverlost.specs.property import properties
from tests.checker.search.test_sweep import MATRIX
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


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("certificate") / "b"
    done = neverlost("check", "--set", "model=kip-320", "--set", "replication.factor=2", "--certificate", "--out", str(place))
    assert done.returncode == 0, done.stderr
    return place


def resealed(folder: Path) -> None:
    """A forger's manifest: the digests fit whatever is there."""
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"] = {name: digest(folder / name) for name in bundle.files_of(folder)}
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
    assert done.stdout.endswith("VERIFIED\n")
    found = verification.verify(str(swept))
    assert found.is_complete and any("all 24 cells decided again" in each for each in found.confirmed)
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


def test_what_is_too_large_is_sampled_and_never_called_verified(swept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification, "SMALL", 1000)
    document = json.loads((swept / "result.json").read_text())
    order = list(verification._sampled(document, document["cells"]))
    assert sorted(order) == list(range(24))
    verdicts = [document["cells"][number]["verdict"] for number in order]
    kinds = len(set(verdicts))
    assert len(set(verdicts[:kinds])) == kinds
    edges = set(verification.boundary_ids(document["cells"]))
    at_the_edge = [document["cells"][number]["id"] in edges for number in order[kinds:]]
    assert edges and at_the_edge == sorted(at_the_edge, reverse=True)
    monkeypatch.setattr(verification, "SAMPLING_SECONDS", 0.0)
    found = verification.verify(str(swept))
    assert found.verdict == "partly verified" and not found.is_complete
    counts = document["verdicts"]
    said = [each.split(":")[0] for each in found.unchecked]
    assert said == [f"{name}, {counts[name]} of 24" for name in ("holds", "violated") if counts[name]]


def test_a_search_that_was_cut_short_is_not_called_verified(tmp_path: Path) -> None:
    arguments = ["check", "--set", "model=kip-320", "--time-limit", "0.000001", "--out", "b"]
    assert neverlost(*arguments, cwd=tmp_path).returncode == 20
    done = neverlost("verify", "b", cwd=tmp_path)
    assert done.returncode == 20 and "NOT CHECKED: inconclusive, 1 of 1: nothing is claimed" in done.stdout
    assert done.stdout.endswith("PARTLY VERIFIED\n")


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
        (lambda d: d.update({"kafka.version": "3.9"}), "is not of Kafka 3.9: that version has other mechanisms"),
    ],
)
def test_a_forged_result_is_refused(checked: Path, tmp_path: Path, change: Any, message: str) -> None:
    folder = copy(checked, tmp_path / "b")
    edited(folder, "result.json", change)
    with pytest.raises(InputError) as problem:
        verification.verify(str(folder))
    assert message in str(problem.value)


@pytest.mark.parametrize("name", ["distinct", "generated", "depth", "left"])
def test_a_changed_count_is_refused(certified: Path, tmp_path: Path, name: str) -> None:
    folder = copy(certified, tmp_path / "b")
    (folder / "reachable.xz").unlink()
    edited(folder, "result.json", lambda document: document["states"].update({name: document["states"][name] + 1}))
    with pytest.raises(InputError, match=rf"states.{name} is \d+; nl-\w+, explored again, says \d+"):
        verification.verify(str(folder))


def test_a_forged_verdict_is_refused(checked: Path, tmp_path: Path) -> None:
    folder = copy(checked, tmp_path / "b")

    def forge(document: dict[str, Any]) -> None:
        document["verdict"] = "holds"
        document["properties"] = [{"name": each["name"], "verdict": "holds"} for each in document["properties"]]

    edited(folder, "result.json", forge)
    with pytest.raises(
        InputError, match=r"result.json is refused: verdict is 'holds'; nl-\w+, explored again, says 'violated'"
    ):
        verification.verify(str(folder))


def test_a_forged_report_is_named(checked: Path, tmp_path: Path) -> None:
    folder = copy(checked, tmp_path / "b")
    (folder / "report.md").write_text((folder / "report.md").read_text().replace("violated", "safe"))
    resealed(folder)
    found = verification.verify(str(folder))
    assert not found.is_complete and any(
        each.startswith("report.md: not what this version renders") for each in found.unchecked
    )
    assert neverlost("report", str(folder)).returncode == 0
    assert verification.verify(str(folder)).is_complete


def line(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = next(each for each in document["lines"] if each["status"] == "exhausted")
    return found


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: line(d).update(status="refuted", steps=3), "it says that acked-never-lost is refuted in 3 steps"),
        (lambda d: line(d).update(how="by hand"), r"it says that .* \(by hand\); from result.json follows that .* engine\)"),
        (lambda d: line(d).update(status="not covered"), "it says that acked-never-lost is not covered"),
        (lambda d: line(d).update(goal="strong-isr"), "it lacks a line of result.json: acked-never-lost is true in every"),
        (lambda d: d["lines"].remove(line(d)), "it lacks a line of result.json: acked-never-lost is true in every"),
        (lambda d: line(d)["config"].update({"bounds.records": 9}), "it lacks a line of result.json"),
        (lambda d: d["lines"].append(line(d) | {"steps": 9}), "it says that"),
    ],
)
def test_a_ledger_that_the_result_does_not_give_is_refused(swept: Path, tmp_path: Path, change: Any, message: str) -> None:
    folder = copy(swept, tmp_path / "b")
    edited(folder, "ledger.json", change)
    with pytest.raises(InputError, match=rf"ledger\.json is refused: {message}"):
        verification.verify(str(folder))


def test_what_other_runs_left_in_the_ledger_is_said_to_be_unchecked(checked: Path, swept: Path, tmp_path: Path) -> None:
    folder = copy(swept, tmp_path / "b")
    more = json.loads((checked / "ledger.json").read_text())["lines"]
    edited(folder, "ledger.json", lambda document: document["lines"].extend(more))
    assert neverlost("report", str(folder)).returncode == 0
    found = verification.verify(str(folder))
    assert found.unchecked == [f"ledger.json: {len(more)} of other runs into this directory, which nothing in it derives"]
    edited(folder, "ledger.json", lambda document: line(document).update(status="proved", how="z3"))
    assert any(
        each.startswith(f"ledger.json: {len(more) + 1} of other runs") for each in verification.verify(str(folder)).unchecked
    )


def test_a_swapped_configuration_is_refused(checked: Path, tmp_path: Path) -> None:
    folder = copy(checked, tmp_path / "b")
    text = (folder / "config.toml").read_text()
    (folder / "config.toml").write_text(text.replace("replication.factor = 2", "replication.factor = 3"))
    resealed(folder)
    with pytest.raises(InputError, match=r"config.toml of .* is not the configuration"):
        verification.verify(str(folder))


def flip(document: dict[str, Any], verdict: str = "violated", other: str = "holds") -> dict[str, Any]:
    cell = next(each for each in document["cells"] if each["verdict"] == verdict)
    cell["verdict"] = cell["properties"][0]["verdict"] = other
    cell["properties"][0]["trace"] = None
    return cell


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: flip(d), r"refused: verdicts.holds|properties\[acked-never-lost\].verdict|verdict"),
        (lambda d: flip(d, "holds", "violated"), r"said to be violated in nl-\w+, but there is no trace"),
        (lambda d: d["cells"][0].update(verdict="inconclusive"), r"verdict 'inconclusive' of nl-\w+ is not that of its parts"),
        (lambda d: d["verdicts"].update(holds=24), r"refused: verdicts.holds is 24; the sweep, run again, says"),
        (lambda d: d["boundary"][0]["rule"].update(violated_iff="never"), r"boundary\[acked-never-lost\].rule.violated_iff"),
        (lambda d: d["searches"][0]["states"].update(generated=1), r"searches\[0\].states.generated is 1; the sweep"),
        (
            lambda d: d["cells"][-1]["cell"].update(acks="1"),
            r"cells\[nl-\w+\].cell.acks is '1'; the sweep, run again",
        ),
    ],
)
def test_a_forged_sweep_is_refused(swept: Path, tmp_path: Path, change: Any, message: str) -> None:
    folder = copy(swept, tmp_path / "b")
    edited(folder, "result.json", change)
    with pytest.raises(InputError, match=message):
        verification.verify(str(folder))


@pytest.mark.parametrize("full", [True, False])
def test_a_forged_cell_of_a_large_sweep_is_refused_when_it_is_explored(
    swept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, full: bool
) -> None:
    folder = copy(swept, tmp_path / "b")
    edited(folder, "result.json", lambda document: (flip(document), document.update(reason="cut", verdict="violated")))
    monkeypatch.setattr(verification, "SMALL", 100_000 if full else -1)
    monkeypatch.setattr(verification, "_is_cut", lambda cell, document: False)
    monkeypatch.setattr(verification, "SAMPLING_SECONDS", 600.0)
    with pytest.raises(InputError, match=r"nl-\w+, explored again, says"):
        verification._one_by_one(*_parts(folder), full, False, verification.Verification())


def _parts(folder: Path) -> tuple[Any, Any, Any]:
    document = json.loads((folder / "result.json").read_text())
    return document, document["cells"], [verification._question(each, document) for each in document["cells"]]


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


def test_the_walk_shares_no_code_with_the_engines() -> None:
    """Only the definition is loaded: the model with its ints interpreter, and the properties."""
    code = "import sys, neverlost.checker.evidence.reachable_states; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    ours = {each for each in loaded if each.startswith("neverlost.checker")}
    assert ours == {f"neverlost.checker{each}" for each in ("", ".evidence", ".evidence.reachable_states")}
    assert not {"numpy", "pyspark", "pyarrow", "z3", "neverlost.model.interpreters.columns"} & loaded


@pytest.mark.slow
def test_a_certificate_of_120_879_states(tmp_path: Path) -> None:
    keys = ["model=kip-320", "replication.factor=2", "bounds.records=3", "bounds.max_leader_epoch=3"]
    settings = [part for key in keys for part in ("--set", key)]
    done = neverlost("check", *settings, "--property", "weak-isr", "--certificate", "--out", str(tmp_path / "b"))
    assert done.returncode == 0, done.stderr
    done = neverlost("verify", str(tmp_path / "b"), timeout=3000)
    assert done.returncode == 0 and "certificate: 120,879 states are closed" in done.stdout, done.stderr
    found = models()["kip-320"]
    system = bind(found, configuration(found, {key: (value, "test") for key, value in (each.split("=") for each in keys[1:])}))
    states = sorted(system.pack(state) for state in reachable.read(tmp_path / "b" / "reachable.xz", system))
    other = next(words for words in ((*row[:-1], row[-1] ^ 1) for row in states) if words not in set(states))
    for listed, message in (
        (states[:60_000] + states[60_001:], "not closed"),
        (sorted([*states, other]), "unreachable|outside"),
        (sorted([*states[:60_000], *states[60_001:], other]), "not closed|outside"),
    ):
        reachable.write(tmp_path / "b" / "reachable.xz", system.words, listed)
        resealed(tmp_path / "b")
        done = neverlost("verify", str(tmp_path / "b"), timeout=3000)
        assert done.returncode == 64 and re.search(message, done.stderr), done.stderr


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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON: Expecting property name"),
        ("[" * 100_000, "is not JSON: maximum recursion depth"),
        ("9" * 5000, "is not JSON: Exceeds the limit"),
        ("[]", "is not a document of ours: it is no JSON object"),
    ],
)
def test_what_is_no_document_is_refused_wherever_it_is_read(text: str, message: str, tmp_path: Path) -> None:
    for name in ("manifest.json", "result.json", "trace.itf.json"):
        (tmp_path / name).write_text(text)
    place = str(tmp_path)
    for reader in (verification.verify, lambda path: bundle.rendered(path, None)):
        with pytest.raises(InputError, match=message):
            reader(place)
    for one in (read_itf, read_baseline):
        with pytest.raises(InputError, match=message):
            one(f"{place}/trace.itf.json")


@pytest.mark.parametrize("arguments", [["verify", "nowhere"], ["verify", "."], ["report", "."]])
def test_directories_that_are_no_bundles_are_refused(arguments: list[str], tmp_path: Path) -> None:
    done = neverlost(*arguments, cwd=tmp_path)
    assert done.returncode == 64 and len(done.stderr.splitlines()) == 1


def test_a_certificate_needs_a_place_and_one_configuration() -> None:
    done = neverlost("check", "--certificate")
    assert done.returncode == 64 and "--certificate needs --out DIR" in done.stderr
