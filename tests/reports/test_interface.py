"""`import neverlost`: quick to import, typed results with the document's fields, and the same answers as the command line."""

from __future__ import annotations

import dataclasses
import json
import re
import subprocess
import sys
import typing
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import neverlost
from neverlost.reports.results.table import make_table
from tests.support.program import ROOT, document
from tests.support.program import neverlost as program

LOSING = {"model": "kraft", "replication.factor": 2, "bounds.records": 1, "acks": "1", "faults.lossy_crash": 1}
PASSING = ("seconds", "peak_memory_bytes", "trace", "where")


@pytest.fixture(scope="module")
def losing() -> neverlost.Result:
    return neverlost.check(LOSING, properties=["acked-never-lost"], workers=1)


def test_importing_costs_nothing() -> None:
    code = (
        "import sys; before = set(sys.modules); import neverlost; neverlost.__doc__; dir(neverlost)\n"
        "print(sorted(name for name in set(sys.modules) - before if not name.startswith(('importlib', 'typing', '_typing'))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    new = set(json.loads(done.stdout.replace("'", '"')))
    assert {each for each in new if each.startswith("neverlost")} == {"neverlost"}
    assert not new & {"numpy", "typer", "rich", "z3", "pyarrow", "pandas", "dataclasses", "inspect"}


def test_every_name_is_there_with_types() -> None:
    assert set(neverlost.__all__) <= set(dir(neverlost)) and (ROOT / ".package" / "neverlost" / "py.typed").exists()
    for name in neverlost.__all__:
        assert getattr(neverlost, name).__doc__, name
    for function in (neverlost.check, neverlost.explore, neverlost.sweep, neverlost.prove, neverlost.replay, neverlost.verify):
        assert "return" in typing.get_type_hints(function)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = neverlost.nonsense


def has_fields(result: neverlost.Answer) -> None:
    """Every field of the document is an attribute, and nothing can be changed."""
    names = {each.name for each in dataclasses.fields(result)}
    assert {name.replace(".", "_") for name in result.document} - {"schema"} <= names
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.document = {}  # type: ignore[misc]


def test_check_finds_a_counterexample(losing: neverlost.Result) -> None:
    has_fields(losing)
    (lost,) = losing.properties
    assert (losing.verdict, lost.name, lost.verdict) == ("violated", "acked-never-lost", "violated")
    assert losing.config["acks"] == "1" and losing.states is not None and losing.states.distinct > 0
    trace = losing.trace
    assert trace is not None and trace == lost.trace
    assert len(trace.states) == len(trace.steps) + 1 == len(trace.says) == (lost.steps or 0) + 1
    assert trace.states[0]["leader"] == 0 and trace.steps[0] == "leader_append(leader=1)"


def test_the_command_line_says_the_same(losing: neverlost.Result) -> None:
    given = [part for name, value in LOSING.items() for part in ("--set", f"{name}={value}")]
    found = document("check", *given, "--property", "acked-never-lost", "--workers", "1")
    assert without(found) == without(losing.document)


def without(found: Any) -> Any:
    if isinstance(found, Mapping):
        return {name: without(value) for name, value in found.items() if name not in PASSING}
    return [without(each) for each in found] if isinstance(found, list | tuple) else found


def test_texts_are_as_on_the_command_line(losing: neverlost.Result) -> None:
    again = neverlost.check([f"{name}={value}" for name, value in LOSING.items()], properties=["acked-never-lost"], workers=1)
    assert again.id == losing.id


def test_tables_and_html(losing: neverlost.Result) -> None:
    assert losing.trace is not None
    assert "<table>" in losing._repr_html_() and "<svg" in losing._repr_html_() and "<svg" in losing.trace._repr_html_()
    arrow, states = losing.table(), losing.trace.table()
    assert arrow.column("property").to_pylist() == ["acked-never-lost"] and arrow.column("acks").to_pylist() == ["1"]
    assert states.num_rows == len(losing.trace.states)
    assert sum(arrow.column(f"faults.{kind}").to_pylist()[0] for kind in losing.properties[0].faults) > 0


def test_a_table_is_arrow_whatever_is_installed(losing: neverlost.Result) -> None:
    assert type(losing.table()).__module__.startswith("pyarrow")
    frame = losing.to_pandas()
    assert type(frame).__name__ == "DataFrame" and list(frame["verdict"]) == ["violated"]


def test_a_column_of_numbers_and_words_is_of_words() -> None:
    table = make_table([{"limit": 1, "faults": {"kill": 2}}, {"limit": "any", "racks": ["a", "b"]}])
    assert table.to_pydict() == {"limit": ["1", "any"], "faults.kill": [2, None], "racks": [None, '["a", "b"]']}


def test_a_result_says_its_answer(losing: neverlost.Result) -> None:
    assert not losing.holds and "VIOLATED: acked-never-lost violated" in repr(losing) and len(repr(losing)) < 300
    assert losing.trace is not None and f"after {len(losing.trace.steps)} steps" in repr(losing.trace)
    assert losing.cite().startswith("acked-never-lost is violated in ") and str(losing.id) in losing.cite()


@pytest.mark.parametrize(
    ("given", "named", "says"),
    [
        ({}, {"foo": 1}, "unknown argument 'foo' in the call"),
        ([("acks", "1")], {}, "bad setting .'acks', '1'.: write a dictionary, or texts KEY=VALUE"),
        ({"kafka.version": 4.10}, {}, 'the number 4.1, of which 4.1 and 4.10 are the same: write it in quotes, "4.1"'),
        ("model=kraft", {"properties": "acked-never"}, "unknown property 'acked-never'.*did you mean 'acked-never-lost'"),
    ],
)
def test_wrong_arguments_are_input_errors(given: Any, named: dict[str, Any], says: str) -> None:
    with pytest.raises(neverlost.InputError, match=says):
        neverlost.check(given, **named)


def test_files_of_a_cluster_are_arguments_of_every_question(tmp_path: Path) -> None:
    described = tmp_path / "topics.txt"
    described.write_text(
        "Topic: orders\tPartitionCount: 1\tReplicationFactor: 2\tConfigs: min.insync.replicas=1\n"
        "\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\n"
    )
    settings = {"acks": "all", "metadata.version": "3.9-IV0", "defects": "fixed"}
    plain = neverlost.roll(settings, kafka_version="3.9", describe=str(described))
    listed = neverlost.roll(settings, kafka_version="3.9", files={"describe": [str(described)]})
    assert plain.document == listed.document and plain.verdict == "holds"
    assert "orders" in str(neverlost.tolerance(settings, kafka_version="3.9", describe=str(described)).document)


def test_html_is_escaped() -> None:
    shown = neverlost.Result(document={}, properties=(neverlost.PropertyVerdict("<script>", "holds"),))._repr_html_()
    assert "<script>" not in shown and "&lt;script&gt;" in shown


def test_described_topics_are_cells_with_warnings(tmp_path: Path) -> None:
    described = tmp_path / "topics.txt"
    described.write_text(
        "Topic: orders\tTopicId: x\tPartitionCount: 1\tReplicationFactor: 2\tConfigs: min.insync.replicas=3\n"
        "\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\n"
    )
    settings = {"bounds.records": 1, "kafka.version": "3.9", "metadata.version": "3.9-IV0"}
    with pytest.warns(neverlost.KafkaFilesWarning, match="above the replication factor 2"):
        found = neverlost.check(settings, describe=described, properties=["acked-never-lost"], workers=1)
    has_fields(found)
    assert [each.topics for each in found.cells] == [("orders",)] and found.verdict == "holds" and found.trace is None


def test_a_bundle_is_verified_and_its_trace_replayed(tmp_path: Path) -> None:
    made = neverlost.check(LOSING, properties=["acked-never-lost"], workers=1, out=tmp_path / "bundle")
    (lost,) = made.properties
    replayed = neverlost.replay(tmp_path / "bundle" / str(lost.file))
    has_fields(replayed)
    assert made.trace is not None and replayed.trace.states == made.trace.states and replayed.trace.says == made.trace.says
    verified = neverlost.verify(tmp_path / "bundle")
    has_fields(verified)
    assert verified.verified and verified.verdict == "verified" and "<table>" in verified._repr_html_()
    assert (tmp_path / "bundle" / "command.txt").read_text().startswith("neverlost ")
    assert json.loads((tmp_path / "bundle" / "result.json").read_text()) == json.loads(json.dumps(made.document))


def test_explore_counts() -> None:
    found = neverlost.explore("kip-320", {"replication.factor": 2}, workers=1)
    has_fields(found)
    assert found.states == neverlost.States(generated=11733, distinct=5973, depth=18, left=0)
    assert found.verdict is None and found.properties == ()


def test_sweep_has_cells(tmp_path: Path) -> None:
    (tmp_path / "matrix.toml").write_text(
        'model = "kraft"\nacks = ["1", "all"]\n"replication.factor" = 2\n"bounds.records" = 1\n"faults.lossy_crash" = 1\n'
        'properties = ["acked-never-lost"]\n'
    )
    found = neverlost.sweep(tmp_path / "matrix.toml", workers=1)
    has_fields(found)
    assert [(each.cell["acks"], each.verdict) for each in found.cells] == [("1", "violated"), ("all", "holds")]
    assert found.trace is not None and len(found.rows()) == 2
    (tmp_path / "before.json").write_text(json.dumps(found.document))
    assert neverlost.sweep(tmp_path / "matrix.toml", workers=1, baseline=tmp_path / "before.json").changes == []


def test_prove_finds_what_check_finds() -> None:
    settings = {"model": "truncate-to-hw", "replication.factor": 2}
    found = neverlost.prove(settings, depth=9, properties=["strong-isr"], workers=1)
    has_fields(found)
    assert found.verdict == "violated" and found.method == "bmc" and found.trace is not None and len(found.trace.steps) == 9


def test_bad_input_is_one_error() -> None:
    for call in (
        lambda: neverlost.check({"model": "kip230"}),
        lambda: neverlost.check({"acks": "7"}),
        lambda: neverlost.check(workers=0),
        lambda: neverlost.explore("nonsense"),
        lambda: neverlost.sweep("nonsense"),
        lambda: neverlost.prove(method="guess"),
        lambda: neverlost.replay("nowhere"),
        lambda: neverlost.verify("nowhere"),
    ):
        with pytest.raises(neverlost.InputError) as raised:
            call()
        assert "\n" not in str(raised.value)


def test_a_configuration_comes_through_a_pipe(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "neverlost", "check", "-", "--quiet", "--property", "weak-isr"]
    text = 'model = "kip-320"\n[topic]\nreplication.factor = 1\n'
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "HOLDS        weak-isr\n", "")


def test_quiet_prints_verdicts_and_nothing_else() -> None:
    given = [part for name, value in LOSING.items() for part in ("--set", f"{name}={value}")]
    done = program("check", *given, "--property", "acked-never-lost", "--quiet")
    assert (done.returncode, done.stdout) == (12, "VIOLATED     acked-never-lost\n")
    assert done.stderr.startswith("assumed: a broker that is down is fenced before") and done.stderr.count("\n") == 1


SMALL = {"kafka.version": "3.9", "faults.kill": 1, "defects": "fixed", "bounds.records": 1}


def test_a_matrix_may_be_a_dictionary(tmp_path: Path) -> None:
    matrix = {**SMALL, "min.insync.replicas": 2, "acks": ["1", "all"], "exclude": [{"acks": "1"}]}
    found = neverlost.sweep(matrix, properties="acked-never-lost", out=tmp_path / "out")
    assert [each.verdict for each in found.cells] == ["holds"]
    assert neverlost.verify(tmp_path / "out").verdict == "verified"
    del matrix["exclude"]
    assert [each.verdict for each in neverlost.sweep(matrix, properties="acked-never-lost").cells] == ["violated", "holds"]


def test_a_graph_is_written_to_the_file_that_is_named(tmp_path: Path) -> None:
    found = neverlost.check(SMALL | {"min.insync.replicas": 2}, properties="acked-never-lost")
    for name, begins in (("g.graphml", "<?xml"), ("g.dot", "digraph")):
        says = found.write_graph(tmp_path / name)
        assert (tmp_path / name).read_text().startswith(begins) and says[1:] == [f"wrote {tmp_path / name}"]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["g.dot", "g.graphml"]


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda: neverlost.check(5), "bad settings 5: write a dictionary, or texts KEY=VALUE"),  # type: ignore[arg-type]
        (lambda: neverlost.check({}, properties=5), "bad properties 5: give a name, or a list of names"),  # type: ignore[arg-type]
        (lambda: neverlost.sweep(5), "bad matrix 5: give a TOML file, a shipped name, or a dictionary"),  # type: ignore[arg-type]
        (lambda: neverlost.sweep({"acks": object()}), "for acks in a matrix: write a text, a number"),
        (lambda: neverlost.sweep({"exclude": [3]}), "bad value 3 in a matrix: write a dictionary"),
        (lambda: neverlost.roll(), "roll needs the partitions of a cluster"),
        (lambda: neverlost.tolerance(files={"descrbe": "t"}), "unknown kind of file 'descrbe'; did you mean 'describe'?"),
    ],
)
def test_wrong_arguments_are_our_errors(ask: Callable[[], object], says: str) -> None:
    with pytest.raises(neverlost.InputError, match=re.escape(says)):
        ask()


def test_a_table_says_its_answer() -> None:
    found = neverlost.tolerance({"kafka.version": "3.9", "min.insync.replicas": 2, "defects": "fixed"})
    (said,) = found.document["says"].values()
    assert repr(found) == f"<ToleranceResult: {said[0]} And {len(said) - 1} more sentences in .document['says'].>"
    assert said[0].startswith("No acknowledged record is lost while no broker loses data") and not found.holds
