"""That the judge can fail: rules of the model that are switched off, or on, one at a time, must differ from Kafka's classes."""

from __future__ import annotations

import functools
import json
import random
import tempfile
from pathlib import Path

import pytest

from tests.support.program import neverlost

LEADER = "replication.factor=2 min.insync.replicas=2 faults.isr_shrink=1 start.outside_isr=1 bounds.records=2"
SMALL = "replication.factor=2 min.insync.replicas=2 bounds.records=1"
ELR = f"{SMALL} eligible.leader.replicas=true"
REASSIGNED = f"{SMALL} faults.crash=1 faults.reassign=1 eligible.leader.replicas=false"

ANY = "replication.factor=2 min.insync.replicas=1"
DIRECTORIES = f"{SMALL} faults.crash=1 faults.fence=1 eligible.leader.replicas=true"
PUT_BACK = (
    ("4.3", "equal-epoch-record-skipped=on", "leader", LEADER),
    ("4.3", "configuration-before-isr=on", "broker", ANY),
    ("4.3", "configuration-in-order=off", "broker", ANY),
    ("4.3", "missing-directory-is-unclean=on", "broker", ANY),
    ("4.1", "directory-assignment-keeps-elr=on", "controller", DIRECTORIES),
)
"""What the model had before: findings A to D, and a configuration that comes by another way, one at a time."""

OTHERS = (
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
"""Rules that a switch turns off, or on."""

SEED = 20
DRAWN = random.Random(SEED).sample(OTHERS, 10)


@functools.cache
def differences(version: str, part: str, setting: str) -> frozenset[str]:
    """The cases in which a model differs, by the command line."""
    with tempfile.TemporaryDirectory() as folder:
        to = Path(folder, "found.json")
        options = ("--kafka-version", version, "--part", part, "--set", setting, "--json", str(to))
        done = neverlost("conform", *options, timeout=600)
        found = json.loads(to.read_text())
    new = frozenset(each["case"] for each in found["differences"] if each["new"])
    assert sum(each["cases"] for each in found["parts"]) > 5 and done.returncode == (22 if new else 0), done.stderr
    return new


@pytest.mark.kafka
@pytest.mark.parametrize(
    ("version", "mutant", "part", "setting"),
    [*PUT_BACK, *DRAWN],
    ids=[*[f"before: {each[1]}" for each in PUT_BACK], *[f"seed {SEED}: {each[0]} {each[1]}" for each in DRAWN]],
)
def test_a_mutant_of_the_model_differs(version: str, mutant: str, part: str, setting: str) -> None:
    assert differences(version, part, f"{setting} mechanism.{mutant}") - differences(version, part, setting)
