"""`nines`: a bound of loss from what is decided and from rates."""

from __future__ import annotations

from pathlib import Path

import pytest

import neverlost
from neverlost.checker.nines import exact
from neverlost.checker.nines.bounds import strikes
from neverlost.checker.nines.chain import chain
from neverlost.specs.errors import InputError
from neverlost.specs.rates.rates import rates
from neverlost.specs.region import Region
from tests.support.program import neverlost as run

TWO = ["kafka.version=3.9", "replication.factor=2", "bounds.records=1", "broker.rack=a,b"]


def test_two_replicas() -> None:
    """One may be out while the other has every record; one that loses data alone may be the only one in sync."""
    result = neverlost.nines(TWO)
    (found,) = result.nines.values()
    assert found["region"]["out_beside"] == [2, 0] and found["region"]["kills_count_as"] == "out"
    expected = exact.probability(chain((1, 1), strikes(rates(), "high", "out"), Region((2, 0))))
    assert found["loss_in_a_year"]["high"] == pytest.approx(expected)
    assert found["loss_in_a_year"]["low"] < found["loss_in_a_year"]["high"]
    decided = neverlost.check(
        [*TWO, "defects=fixed", *(f"{key}={value}" for key, value in found["region"]["faults"].items())],
        properties=["acked-never-lost"],
    )
    assert (decided.verdict, decided.id) == ("holds", found["region"]["id"])
    assert sum(each["share"] for each in found["exits"]) == pytest.approx(1)


def test_each_setting_changed_by_one_has_a_bound() -> None:
    """One copy: flushing each record or a second copy help; with acks=1 and one copy nothing changes."""
    one = ["kafka.version=3.9", "replication.factor=1", "bounds.records=1"]
    (found,) = neverlost.nines(one, improve=True).nines.values()
    after = {
        ", ".join(f"{key}={value}" for key, value in each["changes"].items()): each["loss_in_a_year"]
        for each in found["changes"]
    }
    assert set(after) == {"replication.factor=2", "unclean.leader.election.enable=true", "acks=1", "flush.messages=1"}
    assert after["flush.messages=1"]["high"] < found["loss_in_a_year"]["high"] == after["acks=1"]["high"]


def test_a_better_rate_is_a_better_bound_and_the_output_says_what_is_assumed(tmp_path: Path) -> None:
    file = tmp_path / "rates.toml"
    file.write_text('[power_loss]\nrate = "0 /year"\n[rack_power]\nrate = "0 /year"\n[disk_failure]\nafr = "0 %"\n')
    done = run("nines", *(f"--set={each}" for each in TWO), "--rates", str(file))
    assert done.returncode == 0, done.stderr
    assert "with a probability of at most 0" in done.stdout and "(no loss nines)" not in done.stdout
    assert "The probability of loss is a bound" in done.stdout


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["kafka.version=3.9", "defects=shipped"], "how often a defect's race happens is not known"),
        (["kafka.version=3.9", "faults.kill=1"], "faults.kill is set"),
        (["model=kip-320"], "model 'kip-320' has no faults.data_loss"),
    ],
)
def test_bad_input(settings: list[str], message: str) -> None:
    with pytest.raises(InputError) as problem:
        neverlost.nines(settings)
    assert message in str(problem.value)
