"""A partition as it stands: what its search begins with, against what kraft reaches and against what is known."""

from __future__ import annotations

from typing import Any

import pytest

from neverlost.checker.engine.search.options import Options
from neverlost.checker.questions.sweep.sweep import Sweeper
from neverlost.model.protocols import models
from neverlost.model.system import System, bind
from neverlost.specs.configuration.keys import GROWING, configuration
from neverlost.specs.errors import InputError
from neverlost.specs.properties import properties
from tests.model.test_kraft import behaviour
from tests.support.modern import explored, named, system

ACKED = "acked-never-lost"


def standing(version: str, replicas: str, stored: int = 1, **given: Any) -> System:
    found = models()["kraft-standing"]
    _, keys = named(version, given | {"start.replicas": replicas, "start.stored": stored})
    return bind(found, configuration(found, {key: (value, "test") for key, value in keys.items()}))


def verdict(version: str, replicas: str, **given: Any) -> str:
    outside = sum("isr" not in each and "leader" not in each and "adding" not in each for each in replicas.split(","))
    bound = standing(version, replicas, **{"start.outside_isr": outside, "defects": "fixed"}, **given)
    (finding,) = explored(bound, ACKED).findings
    return finding.verdict.value


def test_without_a_description_it_is_kraft() -> None:
    given = {"rf": 2, "lossy_crash": 1}
    assert behaviour(standing("3.9", "", 0, **given)) == behaviour(system("3.9", **given))


def test_records_that_are_stored_are_as_if_they_had_been_written() -> None:
    """All in sync with a record is what a search without one comes to, where every follower has it."""
    full = behaviour(system("3.9", rf=2, kill=1))
    assert behaviour(standing("3.9", "leader,isr", rf=2, kill=1)) <= full


def test_a_reassignment_may_still_begin_where_it_stands() -> None:
    """A broker without a replica may get one; it has none at first."""
    full = behaviour(system("3.9", rf=2, reassign=1))
    assert behaviour(standing("3.9", "leader,isr", rf=2, reassign=1)) <= full


@pytest.mark.parametrize("version", ["0.11", "2.7", "3.9", "4.1"])
@pytest.mark.parametrize(
    ("replicas", "fault", "expected"),
    [
        ("leader,out,out", "kill", "holds"),
        ("leader,out,out", "lossy_crash", "violated"),
        ("leader,out,out", "disk_loss", "violated"),
        ("isr,out,out", "kill", "holds"),
        ("isr,out,out", "disk_loss", "violated"),
        ("leader,isr,isr+removing,adding", "kill", "holds"),
    ],
)
def test_what_hangs_by_the_last_replica_is_lost_with_its_disk(version: str, replicas: str, fault: str, expected: str) -> None:
    assert verdict(version, replicas, **{fault: 1}) == expected


@pytest.mark.parametrize(("elr", "expected"), [("leader,elr,out", "holds"), ("leader,out,out", "violated")])
def test_an_eligible_replica_has_what_is_stored(elr: str, expected: str) -> None:
    assert verdict("4.3", elr, elr=True, disk_loss=1) == expected


@pytest.mark.parametrize(
    ("replicas", "given", "says"),
    [
        ("leader,isr", {}, "start.replicas has 2 settled replicas, but replication.factor is 3"),
        ("leader,leader,isr", {}, "start.replicas has two leaders: name one"),
        ("leader,isr,gone", {}, "start.replicas says 'gone' of a replica: use leader, isr, elr, out, adding, removing"),
        ("leader,isr,out", {}, "start.replicas has 1 settled replicas outside the ISR: set start.outside_isr=1"),
        ("leader,isr,isr", {"start.stored": 2}, "start.stored is 2, but bounds.records is 1"),
        ("leader,isr,isr,adding", {"rack_loss": 1, "racks": "a,b,c"}, "faults.rack_loss is not known beside a reassignment"),
    ],
)
def test_a_beginning_that_contradicts_itself_is_refused(replicas: str, given: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        standing("3.9", replicas, given.pop("start.stored", 1), **given)


def test_partitions_that_begin_differently_are_searched_apart() -> None:
    """One search tells its configurations apart by what is frozen, and how a partition stands is not."""
    given = {"start.outside_isr": 1, "rf": 2, "disk_loss": 1, "defects": "fixed"}
    bound = [standing("3.9", "leader,out", stored, **given) for stored in (0, 1)]
    cells = [(each.model, each.configurations[0]) for each in bound]
    found = Sweeper(cells, [properties()[ACKED]], Options(workers=1), GROWING).run()
    alone = [explored(each, ACKED).findings[0].verdict for each in bound]
    assert [entry.verdict for (entry,) in found.decisions] == alone and len(found.searches) == 2
