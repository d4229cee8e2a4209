"""That the judge can fail: rules of the model that are switched off, or on, one at a time, must differ from Kafka's classes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.program import neverlost

LEADER = "replication.factor=2 min.insync.replicas=2 faults.isr_shrink=1 start.outside_isr=1 bounds.records=2"
SMALL = "replication.factor=2 min.insync.replicas=2 bounds.records=1"
ELR = f"{SMALL} eligible.leader.replicas=true"
REASSIGNED = f"{SMALL} faults.crash=1 faults.reassign=1 eligible.leader.replicas=false"

MUTANTS = (
    ("4.3", "maximal-isr=off", "leader", LEADER),
    ("4.3", "strict-high-watermark=off", "leader", LEADER),
    ("4.3", "leader-epoch-start=off", "leader", LEADER),
    ("4.3", "fenced-replicas-kept-out=off", "leader", LEADER),
    ("4.3", "reelection-forgets-offsets=on", "leader", LEADER),
    ("4.3", "shrink-keeps-leader-epoch=off", "builder", f"{SMALL} faults.fence=1 eligible.leader.replicas=false"),
    ("4.3", "last-known-leader-election=off", "builder", f"{ELR} faults.crash=2"),
    ("4.3", "unclean-shutdown-leaves-elr=off", "builder", f"{ELR} faults.crash=1"),
    ("4.3", "elr-within-replicas=on", "builder", f"{ELR} faults.crash=1 faults.reassign=1"),
    ("4.3", "reassignment-completes-when-added=off", "builder", REASSIGNED),
    ("4.1", "reassignment-waits-for-targets=off", "builder", REASSIGNED),
    ("4.3", "reassignment-keeps-min-isr=on", "builder", REASSIGNED),
    ("3.9", "reassignment-completes-when-added=on", "builder", REASSIGNED),
)


@pytest.mark.kafka
@pytest.mark.parametrize(("version", "mutant", "part", "setting"), MUTANTS, ids=[f"{each[0]} {each[1]}" for each in MUTANTS])
def test_a_mutant_of_the_model_differs(version: str, mutant: str, part: str, setting: str, tmp_path: Path) -> None:
    options = ["conform", "--kafka-version", version, "--part", part]
    new = {}
    for name, text in (("model", setting), ("mutant", f"{setting} mechanism.{mutant}")):
        done = neverlost(*options, "--set", text, "--json", str(tmp_path / name), timeout=600)
        assert done.returncode in (0, 22), done.stderr
        found = json.loads((tmp_path / name).read_text())
        new[name] = {each["case"] for each in found["differences"] if each["new"]}
        assert sum(each["cases"] for each in found["parts"]) > 10 and done.returncode == (22 if new[name] else 0)
    assert new["mutant"] - new["model"]
