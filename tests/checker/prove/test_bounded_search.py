"""Bounded model checking agrees with TLC and with exploration, cell by cell and step by step."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
import tomllib
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.outcome import Verdict
from neverlost.checker.engine.proof import bounded_search as bmc
from neverlost.checker.engine.proof.obligations import find_inductive
from neverlost.checker.engine.search.options import Options, SearchLimits
from neverlost.model.protocols import models
from neverlost.model.system import System, bind
from neverlost.specs.configuration.keys import configuration
from neverlost.specs.lemmas import find_lemmas
from neverlost.specs.properties import properties
from tests.support.searches import classic

ROWS = tomllib.loads((Path(__file__).resolve().parents[2] / "data" / "bmc_rows.toml").read_text())["rows"]
STRONG = "strong-isr"
WITHOUT_EPOCH_CHECK = ("leader_expand_isr", "high watermark in the current epoch")


def row_id(row: dict[str, Any]) -> str:
    return f"{row['model']}-{row['replicas']}-{row['property']}"


def found_steps(system: System, name: str, depth: int) -> int | None:
    bounded = bmc.check(system, [properties()[name]], depth, workers=1, lemmas=find_lemmas(system))
    trace = bounded.outcome.findings[0].trace
    assert (bounded.outcome.verdict == Verdict.VIOLATED) == (trace is not None)
    return None if trace is None else len(trace.steps)


LONG = {
    "kip-101-2-strong-isr",
    "kip-101-2-weak-isr",
    "kip-101-3-strong-isr",
    "kip-279-3-strong-isr",
    "truncate-to-hw-3-weak-isr",
}


@pytest.mark.parametrize(
    "row",
    [pytest.param(each, marks=pytest.mark.slow if row_id(each) in LONG else ()) for each in ROWS if "steps" in each],
    ids=row_id,
)
def test_shortest_counterexamples_are_as_long_as_tlc_says(row: dict[str, Any]) -> None:
    system = classic(row["model"], row["replicas"], row["log_size"], row["log_size"], row["max_leader_epoch"])
    assert found_steps(system, row["property"], row["steps"] + 1) == row["steps"]


HOLDING = [each for each in ROWS if "steps" not in each]


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(each, marks=() if each["replicas"] == 2 and each["property"] == STRONG else pytest.mark.slow)
        for each in HOLDING
    ],
    ids=row_id,
)
def test_what_holds_has_no_counterexample_of_ten_steps(row: dict[str, Any]) -> None:
    system = classic(row["model"], row["replicas"], row["log_size"], row["log_size"], row["max_leader_epoch"])
    bounded = bmc.check(system, [properties()[row["property"]]], 10, workers=1, lemmas=find_lemmas(system))
    assert bounded.outcome.verdict == Verdict.INCONCLUSIVE
    assert bounded.depth == 10
    assert "10 steps" in str(bounded.outcome.reason)


@pytest.mark.slow
def test_expansion_without_the_epoch_check_is_refuted_in_as_many_steps_as_exploration_needs() -> None:
    system = classic("kip-320", 3, 2, 2, 2, disabled=[WITHOUT_EPOCH_CHECK])
    explored = explore(system, [properties()[STRONG]], Options(workers=1)).findings[0].trace
    assert explored is not None
    assert found_steps(system, STRONG, 12) == len(explored.steps) == 11


def test_only_lemmas_that_are_inductive_for_the_very_system_strengthen_a_search() -> None:
    sound = classic("kip-320", 2, 2, 2, 2)
    every = {each.name for each in find_lemmas(sound)}
    assert {each.name for each in find_inductive(sound, find_lemmas(sound))} == every
    mutant = classic("kip-320", 3, 2, 2, 2, disabled=[WITHOUT_EPOCH_CHECK])
    assert every - {each.name for each in find_inductive(mutant, find_lemmas(mutant))} == {"committed-survives"}


def test_a_property_that_fails_at_once_needs_no_step() -> None:
    system = classic("kip-320", 2, 1, 1, 1)
    never = type(properties()[STRONG])("never", "nothing is", lambda k, s: s.next_record > 0, (), "kip-320")
    trace = bmc.check(system, [never], 3, workers=1).outcome.findings[0].trace
    assert trace is not None and len(trace.states) == 1


def test_a_time_limit_ends_inconclusive_with_the_depth_that_was_reached() -> None:
    bounded = bmc.check(classic("kip-320", 3, 2, 2, 3), [properties()[STRONG]], 40, seconds=3, workers=2)
    assert bounded.outcome.verdict == Verdict.INCONCLUSIVE
    assert bounded.outcome.reason == "the time limit was reached"
    assert 0 <= bounded.depth < 40
    assert bounded.outcome.seconds < 20


FREE = {
    "min.insync.replicas": (1, 2),
    "acks": ("1", "all"),
    "unclean.leader.election.enable": ("true", "false"),
    "flush.messages": ("1", "default"),
}
SMALL = {"replication.factor": 2, "faults.lossy_crash": 1, "faults.isr_shrink": 1}
DEPTH = 9


def cells_by_exploration(system: System, name: str, depth: int) -> dict[int, int]:
    limits = SearchLimits(depth=depth)
    outcome = explore(system, [properties()[name]], Options(limits=limits, workers=1, every_configuration=True))
    return {each.configuration: len(each.trace.steps) for each in outcome.findings if each.trace is not None}


def test_free_configurations_are_unsafe_exactly_where_exploration_says() -> None:
    from tests.support.modern import DEFAULTS, SHORT

    model = models()["kraft"]
    fixed = {SHORT[name]: value for name, value in DEFAULTS.items()} | SMALL
    cells = [
        configuration(model, {key: (value, "test") for key, value in (fixed | dict(zip(FREE, each, strict=True))).items()})
        for each in product(*FREE.values())
    ]
    system = bind(model, *cells)
    explored = cells_by_exploration(system, "acked-never-lost", DEPTH)
    bounded = bmc.check(system, [properties()["acked-never-lost"]], DEPTH, workers=1, lemmas=find_lemmas(system))
    assert explored == {each.configuration: len(each.trace.steps) for each in bounded.outcome.findings if each.trace}
    assert 0 < len(explored) < len(cells)


def test_interchangeable_replicas_are_those_that_every_initial_state_treats_alike() -> None:
    assert bmc.find_interchangeable(classic("kip-320", 3, 1, 1, 1)) == [{0, 1, 2}] * 3
    from tests.support.modern import system

    assert bmc.find_interchangeable(system("kraft", lossy_crash=1)) == [{0}, {1, 2}, {1, 2}]


INTERRUPTED = """
    from neverlost.checker.engine.proof import bounded_search as bmc
    from neverlost.model.protocols import models
    from neverlost.model.system import bind
    from neverlost.specs.properties import properties
    import multiprocessing, threading, time
    def interrupt():
        while len(multiprocessing.active_children()) < 2:
            time.sleep(0.01)
        print(*[each.pid for each in multiprocessing.active_children()], flush=True)
    threading.Thread(target=interrupt, daemon=True).start()
    sizes = {"replication.factor": 3, "bounds.records": 3, "bounds.log_size": 3, "bounds.max_leader_epoch": 3}
    system = bind(models()["kip-320"], sizes)
    bounded = bmc.check(system, [properties()["strong-isr"]], 40)
    print(bounded.outcome.verdict, bounded.outcome.reason)
"""


def test_an_interrupt_kills_the_solvers() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(INTERRUPTED)], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    children = [int(each) for each in process.stdout.readline().split()]
    assert len(children) == 2
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60)[0] == "inconclusive interrupted\n" and process.returncode == 0
    assert [each for each in children if is_alive(each)] == []


def is_alive(pid: int) -> bool:
    """Whether a process is there after five seconds."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
    return True
