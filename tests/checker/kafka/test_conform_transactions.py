"""Kafka's own coordinator metadata and producer state as the judge of transactions: two versions, and mutants that differ."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from neverlost.checker.kafka.conform.transactions import comparison as transactions
from neverlost.checker.kafka.conform.transactions.comparison import TransactionModel, coordinator_cases, partition_cases
from tests.support.program import neverlost

NEWEST = f"model=transactions {transactions.SHORT_SIZES[0]}"
MUTANTS = (
    ("4.3", f"{NEWEST} mechanism.strict-marker-epoch=off"),
    ("4.3", f"{NEWEST} mechanism.marker-retry-accepted=off"),
    ("4.3", f"{NEWEST} mechanism.producer-epoch-check=off"),
    ("4.3", f"{NEWEST} mechanism.coordinator-epoch-check=off"),
    ("4.3", f"{NEWEST} mechanism.sequence-check=off"),
    ("4.3", f"{NEWEST} mechanism.epoch-bump-on-init=off"),
    ("4.3", f"{NEWEST} mechanism.verification-guard=off"),
    ("4.3", f"{NEWEST} transaction.version=1 mechanism.transaction-verification=off"),
    ("3.9", f"{NEWEST.replace('transactions', 'transactions-3.9')} mechanism.open-transaction-by-epoch=on"),
)


def test_cases_cover_every_state_and_every_approval() -> None:
    asked = TransactionModel(transactions.setting(NEWEST).system)
    events = {event for event, _ in coordinator_cases(asked)}
    requests = {request[0] if request[0] == "marker" else request[2] for _, request in partition_cases(2)}
    assert events == set(transactions.COORDINATOR) and requests == {"marker", 0, 1, 2}
    assert {known[0] for _, known in coordinator_cases(asked)} == set(range(6))


def compared(version: str, folder: Path, *options: str, timeout: float = 600) -> tuple[int, dict[str, int], list[str]]:
    """The exit status, how much was compared, and the cases that differ."""
    to = folder / "found.json"
    asked = ("conform", "--kafka-version", version, "--part", "transactions", "--json", str(to), *options)
    done = neverlost(*asked, timeout=timeout)
    found = json.loads(to.read_text())
    (part,) = found["parts"]
    return done.returncode, part, [each["case"] for each in found["differences"] if each["new"]]


@pytest.mark.kafka
@pytest.mark.parametrize(("version", "least"), [("3.9", 20_000), ("4.3", 40_000)])
def test_nothing_differs(version: str, least: int, tmp_path: Path) -> None:
    status, part, new = compared(version, tmp_path, "--short")
    assert (status, new[:3]) == (0, []) and part["transitions"] >= least and part["cases"] >= 700


@pytest.mark.kafka
@pytest.mark.parametrize(("version", "setting"), MUTANTS, ids=[f"{version} {text.split()[-1]}" for version, text in MUTANTS])
def test_a_mutant_differs(version: str, setting: str, tmp_path: Path) -> None:
    keys = [part for each in setting.split() for part in ("--set", each)]
    status, _, new = compared(version, tmp_path, *keys)
    assert status == 22 and new
