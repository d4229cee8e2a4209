"""Rates and durations: units, ranges, and what is refused."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from neverlost.checker.questions import nines
from neverlost.checker.questions.nines.rates import KINDS, YEAR, rates
from neverlost.specs.errors import InputError


def test_the_shipped_rates_are_complete_and_have_sources() -> None:
    shipped = rates()
    assert {each.name for each in shipped.episodes} == set(KINDS)
    assert all(
        each.source and each.rate.low <= each.rate.high and 0 < each.duration.low <= each.duration.high
        for each in shipped.episodes
    )


def test_a_file_replaces_what_it_names(tmp_path: Path) -> None:
    file = tmp_path / "rates.toml"
    file.write_text(
        '[power_loss]\nrate = "1 .. 2 /month"\n[disk_failure]\nrate = "0.01 /year"\nduration = "30 min"\n'
        '[copying]\nbroker = "1 TB"\nbandwidth = "100 MB/s"\n[process_crash]\nduration = "90 s .. 0.5 h"\n'
    )
    given = rates(file)
    assert (given.episode("power_loss").rate.low, given.episode("power_loss").rate.high) == (12, 24)
    assert given.episode("power_loss").source == "your own"
    assert given.episode("disk_failure").duration.low * YEAR == pytest.approx(1800 + 10_000)
    assert given.episode("process_crash").duration.high * YEAR == pytest.approx(1800)
    assert given.episode("slow_follower") == rates().episode("slow_follower")


def test_a_file_may_have_windows_of_its_own_and_the_shipped_file_is_one(tmp_path: Path) -> None:
    file = tmp_path / "rates.toml"
    file.write_text('[windows.returning-leader]\nwithin = "1 .. 2 s"\n')
    assert rates(file).windows["returning-leader"].within.high * YEAR == pytest.approx(2)
    shipped = Path(nines.__file__).with_name("default_rates.toml")
    assert rates(shipped).windows == rates().windows


def test_an_annual_failure_rate_is_a_probability(tmp_path: Path) -> None:
    file = tmp_path / "rates.toml"
    file.write_text('[disk_failure]\nafr = "50 %"\n')
    assert rates(file).episode("disk_failure").rate.high == pytest.approx(math.log(2))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[tail]\nbehind = "1 s"', "bad table [tail] in FILE: give written, unflushed, behind, each once"),
        ('[tail]\nwritten = "9/s"\nunflushed = "1 s"\nbehind = "1 s"', "bad value '9/s' for tail.written in FILE"),
        ("tail = 3", "bad table [tail] in FILE"),
        ('[power_los]\nrate = "1 /year"', "unknown table 'power_los' in FILE; did you mean 'power_loss'?"),
        ('[power_loss]\nrates = "1 /year"', "unknown key 'power_loss.rates' in FILE; did you mean 'power_loss.rate'?"),
        ('[power_loss]\nrate = "1"', "bad value '1' for power_loss.rate in FILE: write a number that is not negative and /h,"),
        ("[power_loss]\nrate = 1", "bad value 1 for power_loss.rate in FILE"),
        ('[power_loss]\nrate = "-1 /year"', "bad value '-1 /year' for power_loss.rate in FILE"),
        ('[power_loss]\nrate = "3 .. 2 /year"', "a range begins with its lower end"),
        ('[power_loss]\nduration = "0 s"', "bad value '0 s' for power_loss.duration in FILE: it lasts at least 1 s and"),
        ('[disk_failure]\nafr = "120 %"', "a probability is at most 100 %"),
        ('[disk_failure]\nafr = "100 %"', "what is certain has no rate"),
        ('[disk_failure]\nafr = "0.016"', "write a number that is not negative and %"),
        ('[rack_power]\ncommon = "101 %"', "a probability is at most 100 %"),
        ('[power_loss]\ncommon = "1 %"', "unknown key 'power_loss.common' in FILE"),
        ('[copying]\nrate = "1 /year"', "unknown key 'copying.rate' in FILE"),
        ('[planned_restart]\nwaits = "yes"', "bad value 'yes' for planned_restart.waits in FILE: write true or false"),
        ('[power_loss]\nrate = "1e300 /year"', "more than once a second"),
        ('[power_loss]\nrate = "1e999 /year"', "bad value '1e999 /year' for power_loss.rate in FILE"),
        ('[power_loss]\nrate = "nan /year"', "bad value 'nan /year' for power_loss.rate in FILE"),
        ('[copying]\nbroker = "9e99 TB"', "at most 100 years, the copying included"),
        ('[defects]\nreturning-leaders = "1 /year"', "did you mean 'defects.returning-leader'?"),
        ('[defects]\nreturning-leader = "-1 /year"', "bad value '-1 /year' for defects.returning-leader in FILE"),
        ('[disk_failure]\nafr = "1 %"\nrate = "1 /year"', "disk_failure in FILE has a rate and an afr: give one of them"),
        ('[copying]\nbandwidth = "0 MB/s"', "nothing is ever copied"),
        ("power_loss = 3", "bad value 3 for power_loss in FILE: write it as a table"),
        ("[windows.returning-leader]\nfirst = []", "windows.returning-leader.first in FILE is not yours to set"),
        ('[windows.returning]\nwithin = "1 s"', "did you mean 'windows.returning-leader'?"),
        ('[windows.returning-leader]\nwithin = "soon"', "bad value 'soon' for windows.returning-leader.within in FILE"),
        ("windows = 3", "unknown table 'windows.windows' in FILE"),
        ("[power_loss", "FILE"),
    ],
)
def test_what_is_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "rates.toml"
    file.write_text(text)
    with pytest.raises(InputError) as problem:
        rates(file)
    assert message in str(problem.value).replace(str(file), "FILE")
