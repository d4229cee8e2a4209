"""A file system that may undo a truncation when power is lost: what kraft becomes there, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from neverlost.checker.engine.outcome import Verdict
from neverlost.model.kraft.sizes import ORDERED
from neverlost.model.protocols import models
from neverlost.model.protocols.kraft_unordered import broker_lose_truncation
from neverlost.model.system import System, bind
from neverlost.specs.configuration.choose import change_settings, choose
from neverlost.specs.configuration.keys import configuration
from neverlost.specs.errors import InputError
from tests.model.test_kraft import behaviour
from tests.support.modern import explored, named, system

ACKED = "acked-never-lost"


def unordered(version: str, **given: Any) -> System:
    found = models()["kraft-unordered"]
    _, keys = named(version, {"defects": "fixed", "records": 2} | given)
    return bind(found, configuration(found, {key: (value, "test") for key, value in keys.items()}))


@pytest.mark.parametrize("given", [{"leader_move": 1, "kill": 1}, {"leader_move": 1, "lossy_crash": 1, "flush": "1"}])
def test_without_a_truncation_to_undo_it_is_kraft(given: dict[str, Any]) -> None:
    plain = system("3.9", **{"defects": "fixed", "records": 2, "rf": 2} | given)
    names = {slot.field.name for slot in plain.slots if not slot.field.frozen}
    assert behaviour(unordered("3.9", rf=2, **given), names) == behaviour(plain)


@pytest.mark.parametrize("version", ["2.7", "3.4", "3.9", "4.4"])
def test_each_version_that_truncates_while_it_fetches_loses_a_record(version: str) -> None:
    given: dict[str, Any] = {"rf": 2, "leader_move": 2, "lossy_crash": 1}
    (plain,) = explored(system(version, **given, defects="fixed", records=2), ACKED).findings
    (lost,) = explored(unordered(version, **given), ACKED).findings
    assert (plain.verdict, lost.verdict) == (Verdict.HOLDS, Verdict.VIOLATED)
    assert lost.trace is not None and len(lost.trace.steps) == 17


@pytest.mark.slow
def test_a_disk_that_was_replaced_gives_nothing_back() -> None:
    """After a stop the disk has what the log has, and nothing older."""
    bound = unordered("3.9", rf=2, leader_move=1, disk_loss=1, lossy_crash=1)
    found = behaviour(bound, {"log_record", "is_running", "disk_record"})
    stopped = [
        (flat[2 * each : 2 * each + 2], flat[6 + 2 * each : 8 + 2 * each])
        for flat in found
        for each in (0, 1)
        if not flat[4 + each]
    ]
    assert stopped and all(log == disk for log, disk in stopped)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"kafka.version": "2.4"}, "kafka.version=2.7 or newer"),
        ({"bounds.records": 1}, "takes 2 to 3 records"),
        ({"bounds.records": 4}, "takes 2 to 3 records"),
        ({"faults.rack_loss": 1, "broker.rack": "a,b,c"}, "use faults.lossy_crash"),
        ({"election.policy": "longest-log"}, "election.policy=longest-log"),
    ],
)
def test_what_it_leaves_out_is_refused(given: dict[str, Any], says: str) -> None:
    asked = {"kafka.version": "3.9", "bounds.records": 2, ORDERED: "false"} | given
    with pytest.raises(InputError, match=says):
        choose({key: (value, "--set") for key, value in asked.items()})


def test_an_ordered_file_system_is_kraft_and_is_shown() -> None:
    found = choose({"kafka.version": ("3.9", "--set"), ORDERED: ("true", "--set")})
    assert (found.model.name, found.settings[ORDERED].value) == ("kraft", "true")
    assert broker_lose_truncation.name not in {each.name for each in found.model.actions}


def test_an_ordered_file_system_that_nobody_stated_is_assumed_where_it_matters() -> None:
    def says(**given: Any) -> bool:
        asked = {"kafka.version": "3.9", "bounds.records": 2} | {key.replace("__", "."): each for key, each in given.items()}
        notices = choose({key: (value, "--set") for key, value in asked.items()}).notices
        return any("undoes no truncation" in each.says for each in notices)

    cut = {"faults__lossy_crash": 1, "faults__leader_move": 1}
    assert says(**cut)
    assert not says(**cut, filesystem__ordered="true") and not says(**cut, filesystem__ordered="false")
    assert not says(**cut, flush__messages="1") and not says(faults__kill=1, faults__leader_move=1)


def test_what_was_stated_of_the_file_system_stays_stated_beside_a_change() -> None:
    cut = {"kafka.version": "3.9", "faults.lossy_crash": 1, "faults.leader_move": 1, ORDERED: "true"}
    before = choose({key: (value, "--set") for key, value in cut.items()})
    for change in ({"min.insync.replicas": "2"}, {"kafka.version": "4.3"}):
        found = change_settings(before, change)
        assert found.settings[ORDERED].value == "true"
        assert not any("undoes no truncation" in each.says for each in found.notices)
