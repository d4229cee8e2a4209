"""`nines`: a bound of loss from what is decided and from rates."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from rich.console import Console

import neverlost
from neverlost.checker.engine.engines import explore as engines
from neverlost.checker.engine.outcome import Outcome
from neverlost.checker.engine.search.options import Options, SearchLimits
from neverlost.checker.questions.nines import exact
from neverlost.checker.questions.nines.bounds import strikes
from neverlost.checker.questions.nines.chain import alike, chain
from neverlost.checker.questions.nines.rates import KINDS, YEAR, rates
from neverlost.checker.questions.tolerance.cell_words import cell_answer
from neverlost.checker.questions.tolerance.fault_budget import FaultBudget
from neverlost.checker.questions.tolerance.region import Region, usual
from neverlost.model.sentences import sentences
from neverlost.model.system import System
from neverlost.reports.questions.nines import document as describe
from neverlost.reports.questions.nines import screen
from neverlost.reports.questions.nines.bounds import REGION_SECONDS, NinesBounds, dominant_loss
from neverlost.specs.errors import InputError
from neverlost.specs.property import Property
from tests.support.program import neverlost as run

TWO = ["kafka.version=3.9", "replication.factor=2", "bounds.records=1", "broker.rack=a,b"]

DISKS = '[disk_failure]\nrate = "0.02 /year"\nduration = "12 h"\n[copying]\nbroker = "0 MB"\n' + "".join(
    f'[{name}]\nrate = "0 /year"\n' for name in KINDS if name not in ("disk_failure", "slow_follower")
)
"""Rates of a textbook: disks fail and are replaced, and nothing else happens but what follows."""

A_NUMBER = re.compile(r"nines\b|\d%|\de-\d|0\.\d")
"""What could be read as an answer."""


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
    loss = dominant_loss(result.judged[0])
    assert loss is not None and loss[1].name == "acked-never-lost" and len(loss[2].steps) == 7


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ([*TWO, "unclean.leader.election.enable=true"], "At most 1,000 records, what is written in 0.5 s"),
        ([*TWO, "min.insync.replicas=2"], "At most 60,000 records, what is written in 30 s"),
        ([*TWO, "min.insync.replicas=2", "flush.messages=1"], None),
    ],
)
def test_how_much_one_loss_takes_is_what_its_tail_holds(
    settings: list[str], says: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The records of the shorter time where the loss takes only what is both unflushed and on one broker; without a table
    [tail], and of a lost disk, nothing."""
    file = tmp_path / "rates.toml"
    file.write_text('[tail]\nwritten = "100 .. 2000 records/s"\nunflushed = "30 s"\nbehind = "100 ms .. 500 ms"\n')
    for rates_files in ([file], []):
        result = neverlost.nines(settings, rates_files=rates_files)
        screen.show(Console(width=120), result, with_loss=True)
        printed = capsys.readouterr().out
        assert ("[tail]" in printed) == bool(says and rates_files) and "violates acked-never-lost" in printed
        assert not (says and rates_files) or says in printed


@pytest.mark.slow
def test_regions_of_many_replicas_have_a_short_time_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless --time-limit says; what is not decided by then is no number.  Up to three replicas there is no such end."""
    limits: list[SearchLimits] = []
    explore = engines.explore

    def brief(system: System, asked: Sequence[Property], options: Options, *more: Any) -> Outcome:
        limits.append(options.limits)
        return explore(system, asked, replace(options, limits=SearchLimits(seconds=0.0)), *more)

    monkeypatch.setattr(engines, "explore", brief)
    given = {"kafka.version": "2.6", "replication.factor": 4, "min.insync.replicas": 2, "broker.rack": "a,b,c,a"}
    (found,) = neverlost.nines(given).nines.values()
    assert found["verdict"] == "inconclusive" and found["loss_in_a_year"] is None
    of_regions = [each for each in limits if each.seconds is not None]  # what the table searches has no such limit
    assert {each.seconds for each in of_regions} == {REGION_SECONDS} and len({each.until for each in of_regions}) == 1
    limits.clear()
    neverlost.nines(given, time_limit=70)
    assert {each.seconds for each in limits} == {70}
    limits.clear()
    neverlost.nines(given | {"replication.factor": 2, "broker.rack": "a,b"}, again=True)
    assert limits and {each.seconds for each in limits} == {None}


def test_of_four_replicas_the_region_of_the_table_is_one_question_and_proved() -> None:
    """No search decides four replicas while one waits: what the table calls not lost is in the region, and no way out of it is
    called a loss that the table does not call one."""
    given = {"kafka.version": "4.3", "eligible.leader.replicas": "true", "min.insync.replicas": 2, "broker.rack": "a,b,c,d"}
    result = neverlost.nines(given | {"replication.factor": 4})
    (found,) = result.nines.values()
    region = found["region"]
    assert (region["out_beside"], region["is_largest"], region["verdict"]) == ([4, 3, 1, 0], True, "holds")
    says = {spot: cell_answer(result.judged[0].survived, spot)[0] for spot in result.judged[0].survived.entries}
    assert says[FaultBudget(0, 4)] == "writes stop" and found["loss_in_a_year"]["high"] < 1e-5
    assert {says[FaultBudget(*each["to"])] for each in found["exits"]} == {"LOST"}
    assert found["as_shipped"]["verdict"] == "violated"
    said = " ".join(describe.sentences(found))
    assert "larger regions are not decided" not in said and "As released, bugs can lose a record inside that region" in said
    assert "a replica falls behind or a broker is cut off" in said, "marks that last equally long are one"
    asked = given | {"replication.factor": 4, "bounds.records": 1, "defects": "fixed"} | region["faults"]
    proved = neverlost.prove(asked, method="induction", properties=["acked-never-lost"])
    assert (proved.verdict, proved.id) == ("holds", region["id"])


def test_where_larger_regions_are_not_decided_no_way_out_is_called_a_loss() -> None:
    given = {"kafka.version": "4.3", "eligible.leader.replicas": "true", "replication.factor": 4, "broker.rack": "a,b,c,d"}
    (found,) = neverlost.nines(given | {"min.insync.replicas": 2}).nines.values()
    part = found | {"region": found["region"] | {"is_largest": False}}
    said = " ".join(describe.sentences(part))
    assert "Most likely way out of what is decided (" in said and "More may hold: larger regions are not decided" in said
    assert "way to a loss" not in said and "Most likely way to a loss (" in " ".join(describe.sentences(found))


def test_marks_that_last_equally_long_are_one_and_the_probability_is_the_same() -> None:
    struck = strikes(rates(), "high", "lost")
    apart, together = (chain((1, 1, 1), each, Region((3, 1, 0))) for each in (struck, alike(struck)))
    assert len(together.states) < len(apart.states) * 0.6
    assert exact.probability(together) == pytest.approx(exact.probability(apart), rel=1e-8)
    assert exact.mean_years(together) == pytest.approx(exact.mean_years(apart), rel=1e-8)


def textbook(failures: float, repairs: float, copies: int) -> float:
    """Mean time until all copies are lost at once; each is repaired on its own.

    Two copies: Patterson, Gibson and Katz, SIGMOD 1988, for mirrored disks; more: Angus, IEEE Transactions on Reliability
    37(3), 1988, the first passage of a birth and death process.
    """
    if copies == 2:
        return (3 * failures + repairs) / (2 * failures**2)
    worse = [(copies - lost) * failures for lost in range(copies)]
    better = [lost * repairs for lost in range(copies)]
    return sum(
        math.prod(better[each] for each in range(first + 1, last + 1)) / math.prod(worse[first : last + 1])
        for last in range(copies)
        for first in range(last + 1)
    )


@pytest.mark.parametrize(("replicas", "elr"), [(2, False), (3, False), (3, True)])
def test_where_only_disks_fail_the_bound_is_that_of_independent_copies(tmp_path: Path, replicas: int, elr: bool) -> None:
    """Nothing that the protocol adds can be seen: every replica is in sync or empty."""
    file = tmp_path / "disks.toml"
    file.write_text(DISKS + '[slow_follower]\nrate = "0 /year"\n')
    region = usual({"replication.factor": replicas, "min.insync.replicas": 2, "eligible.leader.replicas": elr})
    found = exact.mean_years(chain((1,) * replicas, strikes(rates(file), "high", "out"), region))
    assert found == pytest.approx(textbook(0.02, YEAR / 43_200, replicas), rel=1e-12)


def test_what_the_protocol_adds_are_the_ways_in_which_a_replica_was_not_in_sync(tmp_path: Path) -> None:
    """Followers that are slow twice a year for an hour: the textbook's loss is one way among many, and as frequent as there."""
    file = tmp_path / "slow.toml"
    file.write_text(DISKS + '[slow_follower]\nrate = "2 /year"\nduration = "1 h"\n')
    (found,) = neverlost.nines(TWO, rates_files=file).nines.values()
    of_disks = sum(each["share"] for each in found["exits"] if {*each["during"], each["then"]} == {"disk_failure"})
    rate = -math.log1p(-found["loss_in_a_year"]["high"])
    assert of_disks < 0.02 and rate * of_disks == pytest.approx(1 / textbook(0.02, YEAR / 43_200, 2), rel=0.01)
    assert found["as_shipped"]["verdict"] == "violated"


def test_the_race_of_a_defect_is_priced_by_its_window() -> None:
    """Two replicas; the ISR changes 4 + 1 + 24 + 24 + 2 = 55 times a year at most by each, and again within a second."""
    meets = rates().race("late-record-forgets-request", "high", 2)
    assert meets == pytest.approx((2 * 55) * (2 * 55) * 1 / YEAR)
    of_one_broker = rates().race("unregistered-fetch-skips-epoch", "high", 2)
    assert of_one_broker == pytest.approx(2 * (4 + 24) * (1 - math.log1p(-0.016)) * 18 / YEAR)
    assert rates().race("removed-replica-in-elr", "high", 3) == 0
    (found,) = neverlost.nines(TWO).nines.values()
    races = sum(rates().race(each, "high", 2) for each in found["as_shipped"]["defects"])
    priced, designed = found["as_shipped"]["by_rates"]["shipped rates"]["loss_in_a_year"], found["loss_in_a_year"]
    assert found["as_shipped"]["not_priced"] == []
    assert priced["high"] == pytest.approx(1 - (1 - designed["high"]) * math.exp(-races), rel=0.01)


def test_a_defect_without_a_rate_and_a_window_leaves_no_bound() -> None:
    old = ["kafka.version=3.2", "replication.factor=2", "bounds.records=1", "broker.rack=a,b"]
    (found,) = neverlost.nines(old).nines.values()
    shipped = found["as_shipped"]
    assert {"fenced-replica-joins", "stale-broker-epoch"} <= {*shipped["not_priced"]} and not shipped["by_rates"]
    said = f"No bound as released: give a rate for {', '.join(shipped['not_priced'])} under [defects]."
    assert said in describe.sentences(found)


def test_eligible_replicas_never_look_weaker_for_kills_that_lose_nothing() -> None:
    """With one copy a kill loses nothing, with and without ELR: both have the bound of losses of power and of disks."""
    for factor in ("1", "2"):
        settings = {"kafka.version": "4.3", "replication.factor": factor, "bounds.records": "1"}
        (without,) = neverlost.nines({**settings, "eligible.leader.replicas": "false"}).nines.values()
        (remembered,) = neverlost.nines({**settings, "eligible.leader.replicas": "true"}).nines.values()
        assert remembered["loss_in_a_year"]["high"] <= without["loss_in_a_year"]["high"] * (1 + 1e-9)
        assert remembered["loss_in_a_year"]["low"] <= without["loss_in_a_year"]["low"] * (1 + 1e-9)


def test_options_are_compared_at_equal_rates() -> None:
    """A second copy: the ratio lies between those of both ends, and is far narrower than their ranges; itself is 1."""
    one = [*TWO[:1], "replication.factor=1", "bounds.records=1"]
    done = run("nines", *(f"--set={each}" for each in one), "--compare", "replication.factor=2", "--compare", "acks=1")
    assert (
        done.returncode == 0 and "With acks=1: " in done.stdout and "at equal rates the same bound; as released" in done.stdout
    )
    (found,) = neverlost.nines(TWO, compare=["broker.rack=a,a", {"acks": "0"}]).nines.values()
    close, none = found["compared"]
    ends = [close["loss_in_a_year"][end] / found["loss_in_a_year"][end] for end in ("low", "high")]
    assert 1 < close["ratio"]["low"] <= min(ends) <= max(ends) <= close["ratio"]["high"]
    assert (none["verdict"], none["ratio"]) == ("violated", None)
    short = run("nines", *(f"--set={each}" for each in one), "--compare", "acks=1", "--quiet").stdout.splitlines()
    assert len(short) == 2 and "With acks=1: " in short[1]


def test_what_another_version_brings_is_said_and_both_answers_about_elr_are_given() -> None:
    """As after an upgrade and as in a new cluster; as released with that version's own bugs, as if it had been asked alone."""
    before = {"kafka.version": "3.9", "min.insync.replicas": "2", "broker.rack": "a,b,c"}
    (found,) = neverlost.nines(
        before, compare=["kafka.version=4.3", "kafka.version=4.3 eligible.leader.replicas=true"]
    ).nines.values()
    upgraded, new, asked = found["compared"]
    brought = "kafka.version=4.3, metadata.version=4.3-IV0, eligible.leader.replicas="
    assert [each["changes"] for each in (upgraded, new)] == [f"{brought}false", f"{brought}true"]
    assert new["nines"] == asked["nines"] and upgraded["nines"]["low"] < new["nines"]["low"]
    for each, says in ((upgraded, "false"), (new, "true")):
        (alone,) = neverlost.nines(before | {"kafka.version": "4.3", "eligible.leader.replicas": says}).nines.values()
        assert all(each[what] == alone[what] for what in ("nines", "loss_in_a_year", "as_shipped"))
    (settled,) = neverlost.nines(before | {"eligible.leader.replicas": "false"}, compare=["kafka.version=4.3"]).nines.values()
    assert len(settled["compared"]) == 1


def test_a_ratio_says_which_is_lower() -> None:
    said = {
        "higher at none of the rates tried": (0.004, 1.0),
        "lower at none of the rates tried": (1.0, 7.5),
        "lower at some of the rates tried, higher at others": (0.5, 4.0),
    }
    for words, (low, high) in said.items():
        assert describe._ratio({"low": low, "high": high}).endswith(f" times the first bound: {words}")
    assert (
        describe._ratio({"low": 12.0, "high": 281.7})
        == "at equal rates 12 to 282 times the first bound: lower at none of the rates tried"
    )


def test_what_is_not_bounded_says_why() -> None:
    racks = {"kafka.version": "3.9", "min.insync.replicas": "2", "replication.factor": "5", "broker.rack": "a,b,c,a,b"}
    (found,) = neverlost.nines(racks).nines.values()
    assert describe.sentences(found) == [f"Not decided, so nothing is bounded: {found['why']}."] and "racks" in found["why"]


def test_a_bad_comparison_is_refused_before_anything_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    def search(*_: object) -> None:
        raise AssertionError("it searches")

    monkeypatch.setattr(NinesBounds, "of", search)
    with pytest.raises(InputError, match="bad --compare"):
        neverlost.nines(TWO, compare=[""])


def test_a_defect_is_priced_by_a_rate_of_ones_own(tmp_path: Path) -> None:
    file = tmp_path / "races.toml"
    (found,) = neverlost.nines(TWO).nines.values()
    defects = found["as_shipped"]["defects"]
    assert "returning-leader" in defects and len(defects) > 1
    file.write_text("[defects]\n" + "".join(f'{name} = "0 .. 0.5 /year"\n' for name in defects))
    done = run("nines", *(f"--set={each}" for each in TWO), "--rates", str(file), "--json", "-")
    (found,) = json.loads(done.stdout)["nines"].values()
    with_races = found["as_shipped"]["by_rates"]["races"]["loss_in_a_year"]
    assert with_races["low"] == pytest.approx(found["loss_in_a_year"]["low"])
    assert with_races["high"] == pytest.approx(
        1 - (1 - found["loss_in_a_year"]["high"]) * math.exp(-0.5 * len(defects)), rel=0.01
    )


def test_a_described_cluster_has_a_bound_for_each_group_of_topics(tmp_path: Path) -> None:
    """Two topics of one setting, one of them with a replica outside the ISR now, and one of another; racks are as described."""
    lines = []
    for name, replicas, isr in (("orders", "1,2", "1,2"), ("bills", "2,1", "2"), ("logs", "1", "1")):
        factor = len(replicas.split(","))
        lines.append(f"Topic: {name}\tPartitionCount: 1\tReplicationFactor: {factor}\tConfigs: min.insync.replicas=1")
        lines.append(f"\tTopic: {name}\tPartition: 0\tLeader: {isr[0]}\tReplicas: {replicas}\tIsr: {isr}")
    described = tmp_path / "topics.txt"
    described.write_text("\n".join(lines) + "\n")
    found = neverlost.nines({"metadata.version": "3.9-IV0"}, kafka_version="3.9", files={"describe": described}).nines
    assert [sorted(each.split(", ")) for each in found] == [["bills", "orders"], ["logs"]]
    one = neverlost.nines({"metadata.version": "3.9-IV0"}, kafka_version="3.9", files={"describe": described}, topics=["logs"])
    assert [*one.nines] == ["logs"] and one.rows()[0]["loss_high"] == found["logs"]["loss_in_a_year"]["high"]


def test_settings_times_rates(tmp_path: Path) -> None:
    matrix, calm, rough = (tmp_path / name for name in ("pairs.toml", "calm.toml", "rough.toml"))
    matrix.write_text('[topic]\nreplication.factor = [1, 2]\n[producer]\nacks = ["0", "all"]\n[cluster]\nbroker.rack = ""\n')
    matrix.write_text('kafka.version = "3.9"\n' + matrix.read_text().replace('[cluster]\nbroker.rack = ""\n', ""))
    calm.write_text('[power_loss]\nrate = "0.01 /year"\n')
    rough.write_text('[power_loss]\nrate = "4 /year"\n')
    done = run("nines", "--matrix", str(matrix), "--rates", str(calm), "--rates", str(rough))
    assert done.returncode == 0, done.stderr
    head, *cells = done.stdout.splitlines()[:5]
    assert head.split() == ["settings", "calm", "rough", "as", "shipped"]
    assert [each.count("no bound") for each in cells] == [2, 2, 0, 0], done.stdout
    result = neverlost.nines(matrix=matrix, rates_files=[calm, rough], out=tmp_path / "page")
    assert {row["rates"] for row in result.rows()} == {"calm", "rough"} and len(result.rows()) == 4
    assert all(low["loss_high"] < high["loss_high"] for low, high in zip(result.rows()[::2], result.rows()[1::2], strict=True))
    page = (tmp_path / "page" / "report.md").read_text()
    assert "![Bounds](bounds.svg)" in page and "## Rates: rough" in page and "## What is assumed" in page
    picture = ElementTree.parse(tmp_path / "page" / "bounds.svg")
    assert len(picture.findall(".//{*}path")) == 4 and "no bound" in "".join(picture.getroot().itertext())


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
        (["kafka.version=3.9", "defects=shipped"], "nines is about Kafka as designed"),
        (["kafka.version=3.9", "faults.kill=1"], "faults.kill is set"),
        (["model=kip-320"], "model 'kip-320' has no faults.data_loss"),
        (["model=majority"], "model 'majority' has no faults.out"),
    ],
)
def test_bad_input(settings: list[str], message: str) -> None:
    with pytest.raises(InputError) as problem:
        neverlost.nines(settings)
    assert message in str(problem.value)


def test_a_counterexample_is_not_shown_quietly() -> None:
    for command, show in (("nines", ("--show",)), ("tolerance", ("--show", "1,2"))):
        done = run(command, *(f"--set={each}" for each in TWO), *show, "--quiet")
        assert (done.returncode, done.stdout) == (64, "") and done.stderr.startswith(
            "neverlost: --show prints a counterexample"
        )
        assert len(done.stderr.splitlines()) == 1


def test_bad_rates_are_one_line_and_no_number(tmp_path: Path) -> None:
    """What else is refused of a file of rates: `tests/specs/test_rates.py`."""
    file = tmp_path / "rates.toml"
    file.write_text('[power_loss]\nrate = "-1 /year"\n')
    done = run("nines", *(f"--set={each}" for each in TWO), "--rates", str(file))
    assert (done.returncode, done.stdout) == (64, "") and len(done.stderr.splitlines()) == 1
    assert "bad value '-1 /year' for power_loss.rate" in done.stderr and not A_NUMBER.search(done.stderr)
    with pytest.raises(InputError, match="two files of rates have one name"):
        neverlost.nines(TWO, rates_files=[file.with_name("a.toml"), file.with_name("a.toml")])


def test_both_ends_of_a_range_have_one_unit() -> None:
    """From 0.00995 to 0.183: one in a hundred at best, not one in ten thousand.  Every probability is in percent."""
    three = ("kafka.version=3.9", "replication.factor=3", "min.insync.replicas=1", "bounds.records=1")
    done = run("nines", *(f"--set={each}" for each in three))
    assert "with a probability of at most 1% to 18% (0.7 to 2.0 nines)." in done.stdout
    far = sentences_of({"low": 9.1e-5, "high": 0.1})
    assert "of at most 0.009% to 10% (" in far and "of at most 0.0002% to 0.5% (" in sentences_of({"low": 2e-6, "high": 0.005})
    assert "of at most 4e-11% to 5e-07% (" in sentences_of({"low": 4e-13, "high": 5e-9})


def sentences_of(loss: dict[str, float]) -> str:
    """The first sentence about a probability of loss."""
    (found,) = neverlost.nines(TWO).nines.values()
    return describe.sentences({**found, "loss_in_a_year": loss})[0]


def test_what_is_not_decided_has_no_number() -> None:
    done = run("nines", *(f"--set={each}" for each in TWO), "--again", "--time-limit", "0.001")
    answer = done.stdout.partition("\nThe probability of loss is a bound")[0]
    assert done.returncode == 20 and "Not decided, so nothing is bounded" in answer and not A_NUMBER.search(answer), answer


def test_what_no_fault_is_needed_for_has_no_bound() -> None:
    (found,) = neverlost.nines([*TWO, "acks=0"]).nines.values()
    assert (found["verdict"], found["nines"], found["region"]) == ("violated", None, None)


ORDERED: list[tuple[int, dict[str, str]]] = [
    (0, {"replication.factor": "3", "broker.rack": "a,b,c", "acks": "0"}),
    (0, {"replication.factor": "3", "broker.rack": "a,b,c", "acks": "1"}),
    (1, {"replication.factor": "1", "broker.rack": "a"}),
    (2, {"replication.factor": "3", "broker.rack": "a,a,a", "min.insync.replicas": "2"}),
    (3, {"replication.factor": "2", "broker.rack": "a,b"}),
    (4, {"replication.factor": "2", "broker.rack": "a,b", "min.insync.replicas": "2", "eligible.leader.replicas": "true"}),
    (5, {"replication.factor": "3", "broker.rack": "a,b,c", "min.insync.replicas": "1"}),
    (5, {"replication.factor": "3", "broker.rack": "a,b,c", "min.insync.replicas": "2"}),
    (6, {"replication.factor": "3", "broker.rack": "a,b,c", "min.insync.replicas": "2", "eligible.leader.replicas": "true"}),
    (7, {"replication.factor": "3", "broker.rack": "a,b,c", "min.insync.replicas": "3", "eligible.leader.replicas": "true"}),
]
"""Ten configurations of Kafka 4.3 as an expert ranks them, the worst first: what is acknowledged early, then one copy, then all
copies on one supply, then two, three, and three that remember who was in sync."""


@pytest.mark.slow
def test_ten_configurations_are_ordered_as_an_expert_orders_them() -> None:
    """The surprise: without eligible leader replicas min.insync.replicas=2 buys no nine.  The counterexample says why: the ISR
    shrinks below the minimum, and its last member, which has lost what was acknowledged before, is elected."""
    usual_settings = {"kafka.version": "4.3", "eligible.leader.replicas": "false"}
    found: dict[int, list[float]] = {}
    for rank, settings in ORDERED:
        result = neverlost.nines({**usual_settings, **settings})
        (one,) = result.nines.values()
        found.setdefault(rank, []).append(one["nines"]["low"] if one["nines"] else -1.0)
        if settings.get("min.insync.replicas") == "2" and rank == 5:
            loss = dominant_loss(result.judged[0])
            assert loss is not None and loss[1].name == "acked-never-lost"
            said = sentences(loss[0], loss[2].states, loss[2].steps)
            assert any("the ISR is below min.insync.replicas=2" in each for each in said), said
            assert any("is elected leader as the last member of the ISR, though it lacks" in each for each in said), said
    assert [max(each) - min(each) < 1e-6 for each in found.values()] == [True] * len(found)
    worst = [each[0] for each in found.values()]
    assert worst == sorted(set(worst)), found


def test_a_loss_that_the_answers_show_inside_the_region_is_no_question() -> None:
    """Of four replicas the region as released is not searched; one broker out, which lies inside, loses a record."""
    found = neverlost.nines({"kafka.version": "3.9", "replication.factor": "4", "min.insync.replicas": "2"})
    assert found.document["nines"]["configuration"]["as_shipped"]["verdict"] == "violated"


@pytest.mark.parametrize("racks", ["a,b,c,a,b", "a,b,c,d,a", "a,a,a,a,b"])
def test_five_replicas_in_uneven_racks_are_not_computed_for_many_minutes(racks: str) -> None:
    """Their chains have up to 15,400 states: `--time-limit 20` once ended after 775 s."""
    asked = {"kafka.version": "4.3", "replication.factor": 5, "min.insync.replicas": 3, "broker.rack": racks}
    (found,) = neverlost.nines({**asked, "eligible.leader.replicas": "true"}).nines.values()
    assert found["verdict"] == "inconclusive" and found["loss_in_a_year"] is None


def test_the_time_limit_ends_the_numbers_too() -> None:
    asked = ["kafka.version=3.9", "replication.factor=3", "min.insync.replicas=2", "broker.rack=a,b,c"]
    (decided,) = neverlost.nines([*asked, "metadata.version=3.9-IV0"]).nines.values()
    (late,) = neverlost.nines([*asked, "metadata.version=3.9-IV0"], time_limit=1e-6).nines.values()
    assert decided["verdict"] == "holds" and late["verdict"] == "inconclusive" and late["loss_in_a_year"] is None
