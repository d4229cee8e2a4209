"""Transactions: each known bug is in the versions that have it and in no other, and each rule's absence loses what it keeps."""

from __future__ import annotations

from typing import Any

import pytest

from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.outcome import Verdict, replay
from neverlost.checker.engine.search.options import Options
from neverlost.model.protocols import models
from neverlost.model.system import System, bind
from neverlost.specs.configuration.keys import configuration
from neverlost.specs.properties import guarantees, properties
from tests.support.program import neverlost

TORN = {"atomic-visibility", "no-commit-after-abort"}
"""Part of a transaction is seen, and not because its producer asked for it."""

EARLY = TORN | {"no-lost-effect", "offsets-never-ahead", "offsets-never-behind"}
"""A transaction is ended before its producer has ended it: what comes later is in no transaction, or in another."""

HANGS = {"no-hanging-transaction"}


def system(model: str, off: str = "", producers: int = 1, partitions: int = 1, transactions: int = 2, **given: Any) -> System:
    """A transactional.id; keywords are faults, and keys with `_` for `.`."""
    found = models()[model]
    sizes = {"bounds.producers": producers, "bounds.partitions": partitions, "bounds.transactions": transactions}
    faults = {
        f"faults.{name}" if f"faults.{name}" in found.keys else name.replace("_", "."): each for name, each in given.items()
    }
    rules = {f"mechanism.{each}": "off" for each in off.split()}
    keys = sizes | faults | rules
    return bind(found, configuration(found, {key: (value, "test") for key, value in keys.items()}))


def broken(bound: System) -> set[str]:
    """The names of the guarantees that do not hold; every counterexample is replayed."""
    outcome = explore(bound, guarantees(bound.model), Options(keep_going=True, workers=1))
    assert outcome.reason is None
    for each in outcome.findings:
        if each.verdict is Verdict.VIOLATED:
            assert each.trace is not None
            replay(bound, each.trace)
    return {each.property.name for each in outcome.findings if each.verdict is Verdict.VIOLATED}


IN_VERSIONS: list[tuple[str, dict[str, Any], set[str]]] = [
    # KAFKA-14402: until 3.5 a late request is appended after its marker, and no marker ends what it opens; the next
    # transaction's marker commits it
    ("transactions-3.5", {"late_request": 1}, TORN | HANGS | {"no-duplicate-effect"}),
    # 3.6 verifies records, and offset commits not before 3.7 (KAFKA-15784)
    ("transactions-3.6", {"late_request": 1}, TORN | HANGS),
    ("transactions-3.9", {"late_request": 1}, set()),
    ("transactions-4.1", {"late_request": 1}, set()),
    ("transactions", {"late_request": 1}, set()),
    # KIP-890: with version 1 a late EndTxn ends the next transaction, which has the same epoch
    ("transactions-3.9", {"request_retry": 1}, EARLY),
    ("transactions-4.1", {"request_retry": 1}, set()),
    ("transactions", {"request_retry": 1}, set()),
    ("transactions", {"request_retry": 1, "transaction_version": "1"}, EARLY),
    # KAFKA-19446: until 4.1 a late copy of a marker is taken for the next transaction's
    ("transactions-3.9", {"marker_retry": 1}, EARLY),
    ("transactions-4.1", {"marker_retry": 1}, EARLY),
    ("transactions", {"marker_retry": 1}, set()),
    # KAFKA-19999: the strict check alone refuses a marker that is sent again, and its transaction never completes
    ("transactions", {"off": "marker-retry-accepted", "marker_retry": 1}, HANGS),
    ("transactions", {"off": "marker-retry-accepted", "coordinator_move": 1, "transactions": 1}, HANGS),
    ("transactions", {"coordinator_move": 1}, set()),
    # KAFKA-14884: what was verified before the marker was written must not be appended after it
    ("transactions-3.9", {"off": "verification-guard", "late_request": 1}, TORN | HANGS | {"no-duplicate-effect"}),
]


@pytest.mark.parametrize(("model", "given", "expected"), IN_VERSIONS)
def test_known_bugs_are_in_their_versions(model: str, given: dict[str, Any], expected: set[str]) -> None:
    assert broken(system(model, **given)) == expected


WITHOUT: list[tuple[dict[str, Any], set[str]]] = [
    ({"off": "epoch-bump-on-init", "producers": 2}, {"one-producer-per-epoch", "no-duplicate-effect"}),
    ({"off": "abort-on-init", "producers": 2}, {"one-producer-per-epoch", "no-duplicate-effect", *TORN}),
    ({"model": "transactions-3.5", "off": "producer-epoch-check", "producers": 2}, TORN | HANGS | {"no-duplicate-effect"}),
    ({"off": "coordinator-epoch-bump", "coordinator_move": 1, "transactions": 1}, {"one-coordinator-per-epoch"}),
    ({"off": "sequence-check", "request_retry": 1, "transactions": 1}, {"no-duplicate-effect"}),
    ({"off": "last-stable-offset", "transactions": 1}, TORN),
    ({"isolation_level": "read_uncommitted"}, TORN | {"no-duplicate-effect"}),
    ({"transaction_log_loss": 1, "transactions": 1}, {"atomic-visibility", "no-lost-effect"}),
    ({"output_loss": 1}, {"no-lost-effect", "atomic-visibility", "offsets-never-behind", *HANGS}),
    ({"results": "store", "producers": 2}, {"no-duplicate-effect"}),
    ({"results": "result-then-offset", "producer_crash": 1, "producers": 2}, {"no-duplicate-effect"}),
    ({"results": "offset-then-result", "producer_crash": 1, "producers": 2}, {"offsets-never-ahead"}),
]


@pytest.mark.parametrize(("given", "lost"), WITHOUT)
def test_what_is_lost_without_a_rule(given: dict[str, Any], lost: set[str]) -> None:
    given = dict(given)
    assert broken(system(given.pop("model", "transactions"), **given)) >= lost


@pytest.mark.parametrize(
    "given",
    [
        {"producer_crash": 1, "coordinator_move": 1},
        {"late_request": 1, "request_retry": 1, "marker_retry": 1},
        {"results": "fencing-store", "producers": 2, "producer_crash": 1},
    ],
)
def test_today_every_guarantee_holds(given: dict[str, Any]) -> None:
    assert broken(system("transactions", **given)) == set()


def test_every_guarantee_is_broken_by_what_it_names() -> None:
    """`violated_by` names a version, or the newest without a rule: each stands in one of the tables above."""
    ours = [each for each in properties().values() if each.violated_by.startswith("transactions")]
    shown = {name for _, _, expected in IN_VERSIONS for name in expected} | {name for _, lost in WITHOUT for name in lost}
    assert {each.name for each in ours} == set(models()["transactions"].guarantees) == shown


@pytest.mark.parametrize("command", ["tolerance", "nines"])
def test_what_is_about_brokers_refuses_in_one_line(command: str) -> None:
    done = neverlost(command, "--set", "model=transactions")
    assert (done.returncode, done.stderr.count("\n")) == (64, 1)
    assert "model 'transactions' has no faults.data_loss; use a modern model" in done.stderr


def test_a_counterexample_is_in_kafkas_words() -> None:
    small = ("bounds.partitions=1", "bounds.producers=1", "faults.late_request=1", "model=transactions-3.5")
    keys = [part for each in small for part in ("--set", each)]
    done = neverlost("check", *keys, "--property", "no-hanging-transaction")
    assert done.returncode == 13
    for said in ("producer 1 gives up on m1 at 2, which is still on its way", "the leader of 2 appends the record of m1"):
        assert said in " ".join(done.stdout.split())
