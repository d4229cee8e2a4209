"""Siblings, what settings survive, merged rows, levels and state graphs: what the reports draw is what was found."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import networkx as nx
import pytest

from neverlost.checker.engine.engines.explore import explore, explore_graph
from neverlost.checker.engine.outcome import Verdict, replay
from neverlost.checker.engine.search.options import Options
from neverlost.model.interpreters import ints
from neverlost.model.protocols import models
from neverlost.model.snapshot import FOLLOWER, LEADER, BrokerView, ClusterSnapshot
from neverlost.model.system import System
from neverlost.reports.counterexample import space_time
from neverlost.reports.counterexample.comparison import follow
from neverlost.reports.counterexample.messages import CLIENT, CONTROLLER, MESSAGES, message_of
from neverlost.reports.counterexample.saved import Counterexample
from neverlost.reports.counterexample.timeline import Timeline, frames
from neverlost.reports.documents.fault_tolerance import describe_tolerance
from neverlost.reports.documents.result import document
from neverlost.reports.page.state_graph import MarkedGraph
from neverlost.reports.wording.merged_rows import merge_rows, values_of
from neverlost.specs.configuration.matrix import Matrix, parse_matrix
from neverlost.specs.properties import properties
from tests.checker.search.test_recovery import ASKED
from tests.checker.search.test_sweep import found, swept
from tests.support.modern import system as modern
from tests.support.program import neverlost
from tests.support.searches import classic

ACKED = properties()["acked-never-lost"]
TRUNCATING = ("--set", "replication.factor=2", "--set", "bounds.records=1", "--set", "bounds.max_leader_epoch=1")
SHRINKING = {"rf": 3, "lossy_crash": 1, "isr_shrink": 2}


def lost(system: System) -> Any:
    (finding,) = explore(system, [ACKED], Options(workers=1)).findings
    assert finding.trace is not None
    return finding.trace


def test_the_safe_behaviour_takes_the_same_steps_up_to_the_refused_one() -> None:
    system, safe = modern("kraft", min_isr=2, **SHRINKING), modern("kraft-elr", min_isr=2, **SHRINKING)
    trace = lost(system)
    run = follow(system, trace, safe)
    assert replay(safe, run.trace) is run.trace and run.refused is not None
    place, clause = run.refused
    labels = [system.steps[number].label for number in trace.steps]
    assert [safe.steps[number].label for number in run.trace.steps] == labels[: place - 1]
    (blocked,) = [step for step in safe.steps if step.label == labels[place - 1]]
    assert ints.refusals(safe, run.trace.states[-1], blocked) == [clause]
    assert run.differs is not None and run.differs[0] == run.diverges < place
    assert any("ELR" in each for each in run.differs[1])
    found = run.document(system, trace)
    assert clause in found["why"] and found["step"] == run.diverges


def test_an_arrow_is_drawn_for_what_travels_and_the_lost_record_is_red_where_it_is_lost() -> None:
    """Every end of a message that is an argument is one of the action's; every message of the picture is one of a step."""
    every = {each.name: each for model in models().values() for each in model.actions}
    assert set(MESSAGES) <= set(every)
    for name, (_, *ends) in MESSAGES.items():
        assert set(ends) - {CONTROLLER, CLIENT} <= set(every[name].parameters), name
    system = modern("kraft", min_isr=2, **SHRINKING)
    found = Counterexample(system, ACKED, lost(system))
    assert found.timeline is not None
    picture = ElementTree.fromstring(space_time.render(found.timeline, found.labels))
    arrows = [each for each in picture.iter("line") if each.get("marker-end")][: -len(space_time.KINDS)]
    assert len(arrows) == sum(message_of(label) is not None for label in found.labels)
    assert {each.get("class") for each in arrows} >= {"record", "fetch", "AlterPartition", "metadata"}
    red = [float(each.get("y", 0)) for each in picture.iter("text") if each.get("class") == "bad"]
    (crash,) = [float(each.get("cy", 0)) for each in picture.iter("circle") if each.get("class") == "dot fault"]
    assert red and min(red) > crash and any(each.get("class") == "life down" for each in picture.iter("line"))
    assert any(each.get("class") == "life old" for each in picture.iter("line"))


def test_the_same_configuration_does_not_diverge() -> None:
    system = modern("kraft", min_isr=2, **SHRINKING)
    run = follow(system, lost(system), modern("kraft", min_isr=2, **SHRINKING))
    assert run.differs is None and run.refused is None and len(run.trace.steps) == run.diverges


def test_a_record_that_the_leader_still_has_is_lacked_and_not_lost() -> None:
    """What kip-101 breaks: a committed record that a member of the ISR has truncated."""
    led = BrokerView(1, LEADER, ((1, 2),), 1, is_leader=True, isr=(0, 1))
    end = ClusterSnapshot(
        leader=1, epoch=2, isr=(0, 1), lanes=(BrokerView(0, FOLLOWER, (), 0, follows=1), led), committed=frozenset({1})
    )
    shown = Timeline("kip-101", "violates strong-isr", frames([("start", False)], [end]), frozenset({1}), ("101", "105"))
    assert shown.verdict_line == "violates strong-isr: ISR member 101 lacks committed m1"
    gone = replace(end, lanes=(end.lanes[0], replace(led, log=())))
    assert replace(shown, frames=frames([("start", False)], [gone])).verdict_line.endswith("committed record m1 is lost")


def test_another_number_of_replicas_differs_from_the_beginning() -> None:
    system = modern("kraft", rf=2, min_isr=1, lossy_crash=1, isr_shrink=1)
    run = follow(system, lost(system), modern("kraft", rf=3, min_isr=1, lossy_crash=1, isr_shrink=1))
    assert run.differs is not None and run.differs[0] == 0 and "3 brokers instead of 2" in run.differs[1]


def test_merged_rows_say_the_same_of_the_same_cells() -> None:
    rows = [{"a": a, "b": b, "c": c} for a, b, c in product((1, 2, 3), (True, False), ("x", "y")) if (a, c) != (3, "y")]
    said = {tuple(row.values()): row["a"] >= 2 or row["c"] == "x" for row in rows}
    lines = merge_rows([(row, said[tuple(row.values())]) for row in rows], values_of(rows))
    assert len(lines) < len(rows) / 2
    covered = {}
    for line, says in lines:
        limits = dict(each.split("=") for each in line.split()) if line != "any setting" else {}
        for row in rows:
            text = {key: str(value).lower() for key, value in row.items()}
            if all(text[key] in _values(limits[key]) for key in limits):
                assert covered.setdefault(tuple(row.values()), says) == says, "no two lines speak of one cell"
    assert covered == said


def test_a_row_without_a_key_says_nothing_of_it() -> None:
    every = {"a": (1, 2), "b": (1, 2)}
    assert merge_rows([({"a": 1}, "x"), ({"b": 2}, "y")], every) == [("a=1", "x"), ("b=2", "y")]


def _values(text: str) -> list[str]:
    low, dots, high = text.partition("..")
    return [str(each) for each in range(int(low), int(high) + 1)] if dots else text.split(",")


def test_tolerance_is_what_the_cells_say() -> None:
    matrix, sweep = found()
    lines = describe_tolerance(matrix, sweep)
    assert len(lines) == 24
    for line in lines:
        cells = [
            number
            for number, each in enumerate(matrix.cells)
            if all(each.coordinates.get(key) == value for key, value in line["setting"].items())
        ]
        assert len(cells) == 3
        holding = [sweep.cells[n][1]["faults.lossy_crash"] for n in cells if sweep.verdict(n) is Verdict.HOLDS]
        survived = [each.get("lossy_crash", 0) for each in line["survives"]]
        assert survived == ([max(holding)] if holding else [])
        assert bool(line["violated_at"]) == (len(holding) < 3)
        assert ("loses acknowledged records" in line["says"]) == bool(line["violated_at"])
        assert ("survives any" in line["says"]) == any(line["survives"])


def test_tolerance_reads_as_an_operator_speaks() -> None:
    text = """
properties = ["acked-never-lost", "stays-writable"]
model = "kraft"
[topic]
replication.factor = 2
min.insync.replicas = "1..2"
[faults]
crash = "0..2"
[bounds]
records = 1
"""
    matrix: Matrix = parse_matrix("test", text, "test.toml", {})
    says = {line["setting"]["min.insync.replicas"]: line["says"] for line in describe_tolerance(matrix, swept(matrix))}
    assert says == {
        1: "survives any 1 stop of a broker; stops accepting writes after 2 stops of brokers (2 impaired at once)",
        2: "stops accepting writes after 1 stop of a broker",
    }


def test_levels_grow_to_the_counts_of_the_result() -> None:
    found = document(explore(classic("kip-320", 2, 2, 2, 1), (), Options(workers=1)))
    levels = found["levels"]
    assert len(levels["distinct"]) == len(levels["generated"]) == found["states"]["depth"]
    assert levels["distinct"][-1] == found["states"]["distinct"] and levels["generated"][-1] <= found["states"]["generated"]


def test_marks_are_what_the_interpreter_says_of_each_state() -> None:
    graph = explore_graph(classic("truncate-to-hw", 2, 1, 1, 1))
    marked = MarkedGraph(graph, (properties()["strong-isr"],))
    for number in range(len(graph)):
        state = graph.state(number)
        assert (number in marked.deadlocks) == (not list(ints.successors(graph.system, state)))
        assert (number in marked.violated) != ints.evaluate(graph.system, state, properties()["strong-isr"].condition)


def test_graph_files_hold_every_state_and_every_named_step(tmp_path: Path) -> None:
    done = neverlost("explore", "truncate-to-hw", *TRUNCATING, "--graph", str(tmp_path / "g"))
    assert done.returncode == 0, done.stderr
    assert "353 states and 682 steps in 12 levels; 1 initial, " in done.stdout
    graph = nx.read_graphml(tmp_path / "g" / "graph.graphml", node_type=int, force_multigraph=True)
    assert (graph.number_of_nodes(), graph.number_of_edges()) == (353, 682)
    broken = sum(bool(each["violates"]) for _, each in graph.nodes(data=True))
    assert broken and f"{broken} violating" in done.stdout
    assert all(each["action"] and each["says"] for _, _, each in graph.edges(data=True))
    assert (
        nx.number_strongly_connected_components(graph) == len({each["component"] for _, each in graph.nodes(data=True)}) == 337
    )
    dot = (tmp_path / "g" / "graph.dot").read_text()
    assert len(re.findall(r"^  \d+ -> \d+ \[label=\"", dot, re.MULTILINE)) == 682
    assert sorted(each.name for each in (tmp_path / "g").iterdir()) == ["graph.dot", "graph.graphml"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("explore", "kip-320", "--property", "strong-isr"), "use --property with --graph DIR"),
        (("explore", "kip-320", "--graph", "{file}"), "cannot make directory"),
        (("explore", "kip-320", "--graph", "{folder}"), "737,794 states are too many for --graph (200,000 is the most)"),
    ],
)
def test_what_has_no_graph_is_said_in_one_line(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    (tmp_path / "file").write_text("")
    places = {"file": tmp_path / "file", "folder": tmp_path / "folder"}
    done = neverlost(*(each.format(**places) for each in arguments))
    assert done.returncode == 64 and message in done.stderr and len(done.stderr.splitlines()) == 1


def test_reports_carry_the_ledger_of_their_directory(tmp_path: Path) -> None:
    asked = ("--set", "model=kip-320", "--set", "replication.factor=2", "--property", "strong-isr")
    assert neverlost("check", *asked, "--out", str(tmp_path)).returncode == 0
    page = (tmp_path / "report.html").read_text()
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    assert data["ledger"]["counts"] == {"exhausted": 1}
    (line,) = data["ledger"]["lines"]
    assert line["known"] == "true in every reachable state within the bounds" and "5,973 states" in line["how"]
    assert data["cells"][0]["properties"][0]["ledger"]["how"] == line["how"]
    assert f"| strong-isr | {line['known']} | {line['how']} |" in (tmp_path / "report.md").read_text()


def test_a_report_says_what_follows_a_trap(tmp_path: Path) -> None:
    asked = (*ASKED, "--set", "faults.crash=2", "--time-limit", "60")
    assert neverlost(*asked, "--out", str(tmp_path)).returncode == 13
    for name in ("report.md", "report.html"):
        text = (tmp_path / name).read_text()
        assert "none of them as wanted" in text
