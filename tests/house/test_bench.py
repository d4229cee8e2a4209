"""The peers of the benchmark count what we count, and the benchmark says so when one does not."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from tests.tools.bench import bench
from tests.tools.bench.measure import measure
from tests.tools.bench.peers import PEERS, Limits, Row, Size, tlc

LIMITS = Limits(seconds=120, memory=1024, workers=1)
SMALLEST = Size(2, 2, 2, 2)
NO_SPIN = "spin is not installed (Debian: apt-get install spin gcc)"


@pytest.mark.parametrize(
    ("size", "distinct", "depth"),
    [
        (SMALLEST, 5_973, 18),
        (Size(3, 2, 2, 1), 39_619, 22),
        (Size(3, 1, 1, 2), 97_531, 22),
        (Size(2, 3, 3, 3), 120_879, 26),
    ],
    ids=str,
)
def test_spin_stores_as_many_states_as_tlc_counts(tmp_path, size, distinct, depth):
    """Where Spin is not installed the row says that, and nothing else."""
    for peer, levels in (("spin-dfs", None), ("spin-bfs", depth)):
        folder = tmp_path / peer
        folder.mkdir()
        found = PEERS[peer](size, LIMITS, folder)
        expected = (distinct, levels, "") if shutil.which("spin") else (None, None, NO_SPIN)
        assert (found.distinct, found.depth, found.note) == expected


@pytest.mark.slow
def test_stateright_counts_as_many_states(tmp_path):
    """Fetches and compiles a crate; where cargo is not installed the row says that, and nothing else."""
    found = PEERS["stateright"](Size(3, 2, 2, 1), LIMITS, tmp_path)
    expected = (39_619, 22, "") if shutil.which("cargo") else (None, None, "cargo is not installed (see rustup.rs)")
    assert (found.distinct, found.depth, found.note) == expected


def test_ours_is_measured_as_a_user_runs_it(tmp_path):
    found = PEERS["neverlost-1"](SMALLEST, LIMITS, tmp_path)
    assert (found.program, found.distinct, found.depth, found.note) == ("neverlost, 1 worker", 5_973, 18, "")
    assert 0 < found.search_seconds < found.wall_seconds
    assert found.peak_bytes > 20 << 20


def test_what_is_not_installed_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert PEERS["stateright"](SMALLEST, LIMITS, tmp_path).note == "cargo is not installed (see rustup.rs)"
    row = PEERS["spin-dfs"](SMALLEST, LIMITS, tmp_path)
    assert bench.shown(row, 5_973).split(maxsplit=3) == ["Spin,", "depth", "first", NO_SPIN]


FAKE_TLC = """
import sys
from pathlib import Path
assert sys.argv[1:] == ["-deadlock", "-workers", "1", "-config", "Bench.cfg", "Bench.tla"], sys.argv
assert "EXTENDS Kip320" in Path("Bench.tla").read_text() and Path("Kip320.tla").exists()
print(Path("Bench.cfg").read_text())
print("Progress(3) at 2020-01-01 00:00:00: 12 states generated, 7 distinct states found, 3 states left on queue.")
print("11,839 states generated, 5,973 distinct states found, 0 states left on queue.")
print("The depth of the complete state graph search is 18.")
"""


def test_tlc_is_given_a_model_of_the_same_size(tmp_path, monkeypatch):
    (tmp_path / "fake.py").write_text(FAKE_TLC)
    modules = tmp_path / "specification"
    modules.mkdir()
    (modules / "Kip320.tla").write_text("---- MODULE Kip320 ----\n====\n")
    monkeypatch.setenv("TLC", f"{sys.executable} {tmp_path / 'fake.py'}")
    monkeypatch.setenv("KAFKA_SPECIFICATION", str(modules))
    folder = tmp_path / "run"
    folder.mkdir()
    found = tlc(SMALLEST, LIMITS, folder)
    assert (found.distinct, found.depth, found.note) == (5_973, 18, "")
    constants = ["Replicas = {r1, r2}", "LogSize = 2", "MaxRecords = 2", "MaxLeaderEpoch = 2"]
    assert [line.strip() for line in (folder / "Bench.cfg").read_text().splitlines()][3:] == constants


def test_tlc_that_is_not_there_or_fails_is_one_line(tmp_path, monkeypatch):
    monkeypatch.delenv("TLC", raising=False)
    assert tlc(SMALLEST, LIMITS, tmp_path).note.startswith("set TLC to its command and KAFKA_SPECIFICATION to")
    monkeypatch.setenv("KAFKA_SPECIFICATION", str(tmp_path / "specification"))
    monkeypatch.setenv("TLC", "/nowhere/tlc")
    assert tlc(SMALLEST, LIMITS, tmp_path).note == "TLC='/nowhere/tlc' cannot be run: No such file or directory"
    monkeypatch.setenv("TLC", f"{sys.executable} -c 'print(1); raise SystemExit(\"Error: no\")'")
    assert tlc(SMALLEST, LIMITS, tmp_path).note == "exit status 1: Error: no"


def test_a_run_is_cut_at_the_time_limit():
    found = measure([sys.executable, "-c", "while True: pass"], time_limit=0.3)
    assert found.cut
    assert found.status == -9


def test_memory_of_children_counts():
    """The largest process has 60 MiB, so the two together are seen by sampling only."""
    script = (
        "import os, time\n"
        "os.fork()\n"
        "kept = bytearray(60 << 20)\n"
        "for page in range(0, len(kept), 4096): kept[page] = 1\n"
        "end = time.monotonic() + 1.2\n"
        "while time.monotonic() < end: pass\n"
    )
    found = measure([sys.executable, "-c", script])
    assert found.status == 0
    assert 115 << 20 < found.peak_bytes < 250 << 20


@pytest.mark.parametrize(
    ("rows", "status", "words"),
    [
        ((Row("one", 10, 3, 1.0, 0.5, 1 << 20), Row("two", 10, None, 1.0, 0.5, 1 << 20)), 0, "equal"),
        ((Row("one", 10, 3, 1.0, 0.5, 1 << 20), Row("two", 11, None, 1.0, 0.5, 1 << 20)), 1, "NOT EQUAL"),
        ((Row("one", 10, 3, 1.0, 0.5, 1 << 20), Row("two", 10, 4, 1.0, 0.5, 1 << 20)), 1, "the programs do not agree"),
        ((Row("one", 10, 3, 1.0, 0.5, 1 << 20), Row("two", note="not here")), 0, "not here"),
    ],
    ids=("equal", "other count", "other depth", "missing"),
)
def test_the_benchmark_fails_when_counts_differ(rows, status, words, monkeypatch, capsys, tmp_path):
    for row in rows:
        monkeypatch.setitem(PEERS, row.program, lambda size, limits, folder, row=row: row)
    saved: Path = tmp_path / "rows.json"
    assert bench.main(["--size", "2,2,2,2", "--peers", "one,two", "--json", str(saved)]) == status
    assert words in capsys.readouterr().out
    document = json.loads(saved.read_text())
    assert [each["distinct"] for each in document["rows"][str(SMALLEST)]] == [row.distinct for row in rows]
    assert document["machine"]["cores"] >= 1
