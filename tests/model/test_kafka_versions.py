"""The losses that Kafka really had, in the versions that had them; scenario names are those of the corpus."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from neverlost.model.kraft.mechanisms import MECHANISMS, mechanisms_of, model_of
from neverlost.model.protocols import models
from neverlost.specs.configuration.choose import choose, read_settings
from neverlost.specs.defects import DEFECTS, FIXES
from tests.support.modern import verdict

ACKED, COMMITTED, LOGS = "acked-never-lost", "committed-never-lost", "log-matching"

MOVES = {"rf": 2, "leader_move": 2, "crash": 1}
DIVERGING = {"rf": 2, "records": 2, "leader_move": 1, "crash": 1}
LATE_JOINER = {"isr_shrink": 1, "leader_move": 1, "crash": 1}
FAST_MOVES = {"rf": 2, "min_isr": 1, "records": 4, "leader_move": 2}
FENCED = {"fence": 1, "lossy_crash": 1, "leader_move": 1, "on": "reelection-forgets-offsets"}
TWO_CRASHES = {"rf": 2, "min_isr": 1, "records": 4, "crash": 1, "lossy_crash": 1}
STALE = {"fence": 1, "lossy_crash": 1, "isr_shrink": 1}
ALONE = {"acks": "1", "isr_shrink": 2, "crash": 1}
BOUNCED = {"rf": 2, "lossy_crash": 1, "leader_move": 1}
WIPED = {"isr_shrink": 1, "disk_loss": 1, "leader_move": 1}
LAST_REPLICA = {"isr_shrink": 2, "lossy_crash": 1}
ASKED = "min.insync.replicas"
THREE_RACKS = {"racks": "a,b,c", "rack_loss": 1, "isr_shrink": 1}
BY_EPOCH = {"on": "acknowledged-in-epoch-of-append"}
"""The case is about another rule than the offset by which a produce request is answered (the defect of that name)."""
NO_LATE_RECORD = {"on": "equal-epoch-record-skipped"}
"""The case is about another rule than the record that a leader replays after its answer (the defect of that name)."""
REFUSED = FENCED | {"on": "broker-epoch-in-isr,reelection-forgets-offsets,equal-epoch-record-skipped"}


@pytest.mark.parametrize(
    ("scenario", "version", "name", "expected", "given"),
    [
        ("hw-truncation-election", "0.10", ACKED, "violated", MOVES),
        ("hw-truncation-election", "0.11", ACKED, "holds", MOVES),
        ("hw-truncation-election", "2.1", ACKED, "holds", MOVES),
        ("hw-truncation-election, RF 3", "0.10", ACKED, "violated", {"leader_move": 1, "crash": 1}),
        ("hw-truncation-election, RF 3", "2.1", ACKED, "holds", {"leader_move": 1, "crash": 1}),
        ("hw-truncation-divergence", "0.10", LOGS, "violated", TWO_CRASHES),
        ("kip279-fast-failover", "1.1", LOGS, "violated", FAST_MOVES),
        ("kip279-fast-failover", "2.0", LOGS, "holds", FAST_MOVES),
        pytest.param(
            *("kip320-stale-follower", "2.0", ACKED, "violated", {"records": 4, "leader_move": 2, "crash": 1}),
            marks=pytest.mark.slow,
        ),
        ("leso-isr-expansion", "2.0", ACKED, "violated", LATE_JOINER),
        ("leso-isr-expansion", "2.1", ACKED, "holds", LATE_JOINER),
        ("leso-isr-expansion", "4.0", ACKED, "violated", LATE_JOINER | {"off": "leader-epoch-start"}),
        ("diverging-fetch-advances-hw", "2.7", ACKED, "violated", DIVERGING),
        ("diverging-fetch-advances-hw", "3.0", ACKED, "holds", DIVERGING | BY_EPOCH),
        ("acknowledged-by-offset", "3.0", ACKED, "violated", DIVERGING),
        ("follower-exposes-uncommitted", "3.3", LOGS, "violated", {"records": 2, "leader_move": 1, "isr_shrink": 1}),
        ("follower-exposes-uncommitted", "3.4", LOGS, "holds", {"records": 2, "leader_move": 1, "isr_shrink": 1}),
        ("no-maximal-isr", "4.0", ACKED, "violated", {"isr_shrink": 1, "crash": 1, "off": "maximal-isr"}),
        ("no-maximal-isr", "4.0", ACKED, "holds", {"isr_shrink": 1, "crash": 1, "on": "equal-epoch-record-skipped"}),
        ("fenced-replica-rejoins", "3.2", ACKED, "violated", FENCED),
        ("fenced-replica-rejoins", "3.3", ACKED, "holds", REFUSED),
        ("fenced-replica-rejoins", "4.0", ACKED, "violated", FENCED | {"off": "fenced-replicas-kept-out"}),
        ("stale-broker-epoch-isr", "3.4", ACKED, "violated", WIPED),
        ("stale-broker-epoch-isr", "3.5", ACKED, "holds", WIPED | NO_LATE_RECORD),
        ("stale-broker-epoch-isr", "4.0", ACKED, "violated", WIPED | {"off": "broker-epoch-in-isr"}),
        ("zk-bounce-undetected", "2.1", ACKED, "violated", BOUNCED),
        ("zk-bounce-undetected", "2.2", ACKED, "holds", BOUNCED),
        ("stale-alterpartition-epoch", "3.9", ACKED, "violated", STALE | {"off": "partition-epoch-check"}),
        ("controller-failover", "3.9", ACKED, "violated", {"fence": 1, "leader_move": 1, "off": "pending-isr-kept"}),
        ("controller-failover", "3.9", ACKED, "holds", {"fence": 1, "leader_move": 1}),
        ("visible-under-minisr", "3.6", COMMITTED, "violated", ALONE | {"unclean": True}),
        ("visible-under-minisr", "3.6", COMMITTED, "violated", {"acks": "1", "crash": 2, "lossy_crash": 1}),
        ("acks-minisr-assignment-order", "4.1", ACKED, "violated", {"acks": ASKED, "policy": "preferred", "crash": 1}),
        ("acks-minisr-longest-log", "4.0", ACKED, "holds", {"acks": ASKED, "policy": "longest-log", "crash": 1}),
        ("acks-minisr-longest-log", "4.0", ACKED, "violated", {"acks": ASKED, "policy": "longest-log", "crash": 2}),
        ("last-replica-standing", "3.9", ACKED, "violated", LAST_REPLICA),
        ("elr-holds-f", "4.3", ACKED, "holds", LAST_REPLICA | NO_LATE_RECORD),
        ("elr-f-equals-minisr", "4.1", ACKED, "violated", {"isr_shrink": 1, "lossy_crash": 2}),
        ("elr-lastknown-nonlossy", "4.1", ACKED, "violated", {"isr_shrink": 1, "crash": 1, "lossy_crash": 1}),
        ("elr-minisr1", "4.1", ACKED, "violated", LAST_REPLICA | {"min_isr": 1}),
        ("elr-acks1", "4.1", ACKED, "violated", {"acks": "1", "crash": 1}),
        ("elr-without-strict-hw", "4.1", COMMITTED, "violated", ALONE | {"off": "strict-high-watermark"}),
        ("elr-without-strict-hw", "4.3", COMMITTED, "holds", ALONE | NO_LATE_RECORD),
        ("rack-correlated-loss, two racks", "4.1", ACKED, "violated", {"racks": "a,a,b", "rack_loss": 1, "isr_shrink": 1}),
        ("rack-correlated-loss, three racks", "4.3", ACKED, "holds", THREE_RACKS | NO_LATE_RECORD),
        ("rack-correlated-loss, one rack", "4.1", ACKED, "violated", {"racks": "a,a,a", "rack_loss": 1}),
        ("fsync-each-message", "4.1", ACKED, "holds", {"racks": "a,a,a", "rack_loss": 1, "flush": "1"}),
    ],
)  # fmt: skip
def test_versions(scenario: str, version: str, name: str, expected: str, given: dict[str, Any]) -> None:
    assert verdict(version, name, **given) == expected, scenario


LARGE = [pytest.param(4, each, marks=pytest.mark.slow) for each in (2, 3)]


@pytest.mark.parametrize(("rf", "min_isr"), [(2, 2), (3, 2), (3, 3), *LARGE])
def test_elr_survives_one_lossy_crash_less_than_min_isr(rf: int, min_isr: int) -> None:
    shrinks = {"isr_shrink": rf - min_isr}
    assert verdict("kraft-elr", ACKED, rf=rf, min_isr=min_isr, lossy_crash=min_isr - 1, **shrinks, **NO_LATE_RECORD) == "holds"
    assert verdict("kraft-elr", ACKED, rf=rf, min_isr=min_isr, lossy_crash=min_isr, **shrinks) == "violated"


@pytest.mark.parametrize("version", ["0.8", "0.11", "2.0", "2.1", "2.7", "3.9", "4.1"])
@pytest.mark.parametrize("name", ["single-leader-per-epoch", "no-global-loss"])
def test_no_version_loses_anything_to_one_crash(version: str, name: str) -> None:
    assert verdict(version, name, rf=2, crash=1) == "holds"


@pytest.mark.parametrize("version", ["0.8", "0.11", "2.0", "2.1", "2.7", "3.3", "3.9", "4.1"])
def test_leaders_never_share_an_epoch(version: str) -> None:
    assert verdict(version, "single-leader-per-epoch", fence=1, leader_move=1, lossy_crash=1) == "holds"


def test_each_model_is_found_by_its_name_alone() -> None:
    assert [each.name for each in models().values()] == list(models()) and "kip-321" not in models()
    code = "from neverlost.model.protocols import models; models()['kip-320']; import sys; print(*sys.modules)"
    imported = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    found = {each.rpartition(".")[2] for each in imported if each.startswith("neverlost.model.protocols.")}
    assert "kip320" in found and not {each for each in found if each.startswith(("kraft", "transactions"))}


def test_a_version_has_the_mechanisms_that_came_before_it() -> None:
    assert not any(mechanisms_of("0.8")[each.key] for each in MECHANISMS if each.since and each.since > (0, 8))
    assert mechanisms_of("3.6")["mechanism.strict-high-watermark"] is False
    assert mechanisms_of("3.7.1")["mechanism.strict-high-watermark"] is True


def test_elr_comes_with_4_1_unless_the_key_says_otherwise() -> None:
    assert [model_of(version, {}) for version in ("3.9", "4.0", "4.1", "4.2")] == ["kraft", "kraft", "kraft-elr", "kraft-elr"]
    assert model_of("4.0", {"eligible.leader.replicas": ("true", "file")}) == "kraft-elr"
    assert model_of("4.1", {"eligible.leader.replicas": (False, "file")}) == "kraft"


@pytest.mark.parametrize("text", ["", "4", "x.y", "0.7", "5.0", "-1.2", "3.x"])
def test_a_version_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="use a Kafka version"):
        mechanisms_of(text)


@pytest.mark.parametrize(
    ("version", "release", "lacks"),
    [
        ("3.9.0", "3.9.0", ["newer-epochs-dropped", "response-of-older-epoch-ignored"]),
        ("3.9.1", "3.9", []),
        ("3.9", "3.9", []),
        ("4.0.0", "4.0.0", ["response-of-older-epoch-ignored"]),
        ("3.7.0", "3.7.0", ["offline-log-not-recreated"]),
        ("4.1.0", "4.1.0", ["last-known-leader-when-leaderless"]),
        ("2.8.0", "2.8.0", ["removed-partition-not-truncated"]),
    ],
)
def test_a_patch_release_lacks_what_came_after_it(version: str, release: str, lacks: list[str]) -> None:
    """X.Y stands for its newest patch, and a patch that is named for itself; with its defects mended, those rules are there."""
    found = choose(read_settings([f"kafka.version={version}"]))
    line = choose(read_settings([f"kafka.version={'.'.join(version.split('.')[:2])}"]))
    differ = [key for key, value in line.configuration.items() if found.configuration[key] != value]
    assert {*differ} == {f"mechanism.{each}" for each in lacks}
    assert found.release == release
    mended = choose(read_settings([f"kafka.version={version}", "defects=fixed"]))
    left = [each for each in lacks if not mended.configuration[f"mechanism.{each}"]]
    assert left == [each for each in lacks if f"mechanism.{each}" not in FIXES]


def test_a_defect_is_in_the_patches_before_its_fix() -> None:
    found = {each.name: each for each in DEFECTS}["late-response-truncates-follower"]
    releases = ("2.6", "2.7", "3.8.1", "3.9.0", "3.9.1", "3.9", "4.0.0", "4.0.1", "4.0")
    assert [each for each in releases if found.is_in(each)] == ["2.7", "3.8.1", "3.9.0", "4.0.0"]
    assert (found.versions, found.mended) == ("2.7 until 3.9.1 and 4.0.1", "in 3.9.1 and 4.0.1")
