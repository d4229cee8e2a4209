"""Forecasts: predictions on made-up and real counts, refusals with advice, and what documents and terminals show."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from neverlost.checker.campaign import forecast as predicting
from neverlost.checker.campaign.forecast import NOT_LOWERED, Estimate, Forecast, Replicas, Sample, estimating, predicted
from neverlost.checker.engines.explore import explore as search_of
from neverlost.checker.search.options import Limits, Options, Progress
from neverlost.model.system import bind
from neverlost.model.versions import models
from neverlost.reports.api import forecasts
from neverlost.reports.api.checks import searched as search
from neverlost.reports.api.forecasts import Axis, axes_of
from neverlost.reports.documents.forecast import HELD, MEASURED_BY, OF, afterwards, sentence
from neverlost.reports.request import Request
from neverlost.reports.terminal.progress import LiveProgress, rest
from neverlost.specs.configuration.asked_properties import chosen_properties
from neverlost.specs.configuration.keys import configuration
from tests.checker.search.test_sweep import MATRIX
from tests.support.program import neverlost


def keys(model: str, **given: Any) -> Any:
    return configuration(models()[model], {name: (value, "test") for name, value in given.items()})


def samples(law: Any, points: list[tuple[int, ...]]) -> dict[tuple[int, ...], Sample]:
    return {
        each: Sample(each, int(law(each)), 3 * int(law(each)), 20, int(law(each)) // 10, law(each) / 1e6, 0.1)
        for each in points
    }


def box(*sizes: int) -> list[tuple[int, ...]]:
    return [(one, other, third) for one in range(sizes[0]) for other in range(sizes[1]) for third in range(sizes[2])]


def test_a_law_without_third_order_is_met() -> None:
    """Growth by factors, and by factors of pairs, is what both ways of predicting can express."""

    def law(point: tuple[int, ...]) -> float:
        one, other, third = point
        return 100 * 8**one * 5**other * 12**third * 1.5 ** (one * other) * 0.7 ** (other * third)

    known = {point: math.log(law(point)) for point in box(2, 2, 2) if point != (1, 1, 1)}
    found = estimating(known)((1, 1, 1))
    assert found.likely == pytest.approx(law((1, 1, 1)), rel=0.25)
    assert found.low < law((1, 1, 1)) < found.high and found.high / found.low < 12


def test_what_was_explored_is_known() -> None:
    known = {point: float(sum(point)) for point in box(2, 2, 2)}
    assert estimating(known)((1, 1, 1)) == Estimate(*[math.exp(3.0)] * 3)


def test_growth_along_one_size_slows_down() -> None:
    law = [100, 4000, 70_000, 600_000]
    known = {(number,): math.log(value) for number, value in enumerate(law[:2])}
    assert 40_000 < math.exp(predicting.excluding(known)((2,))) < 160_000
    known[2,] = math.log(law[2])
    assert math.exp(predicting.excluding(known)((3,))) == pytest.approx(law[3], rel=0.5)


def test_replicas_multiply() -> None:
    """As many states for each replica and each of its kinds of faults; what a kind does at one number it does at another."""

    def law(replicas: int, kinds: int) -> float:
        return replicas * (2.5 + 0.4 * kinds)

    known = {(kinds, more): law(2 + more, kinds) for kinds in (0, 1) for more in (0, 1)} | {(2, 0): law(2, 2)}
    states = estimating(known, Replicas(1, 2, 5))((2, 3)).likely
    assert math.log(states) == pytest.approx(law(5, 2), abs=0.5)
    orbits = {point: value - math.lgamma(3 + point[1]) for point, value in known.items()}
    found = estimating(orbits, Replicas(1, 2, 5, symmetry=True))((2, 3)).likely
    assert found == pytest.approx(states / math.factorial(5))


def test_nothing_known_about_a_size_is_a_wide_interval() -> None:
    """Two kinds of faults of `kraft-elr` beside the one that was seen, as they were found."""
    found = estimating({(0, 0): math.log(119_955)})((1, 1))
    assert found.low < 684_978 < found.likely < found.high
    closer = estimating({(0, 0): math.log(119_955), (1, 0): math.log(358_416), (0, 1): math.log(236_757)})((1, 1))
    assert closer.low < 684_978 < closer.high and closer.high / closer.low < found.high / found.low / 8


Counts = dict[tuple[int, ...], int]
FIVE_KINDS: Counts = {
    (0, 0, 0, 0, 0): 11_415,
    (1, 0, 0, 0, 0): 21_466,
    (0, 1, 0, 0, 0): 21_466,
    (0, 0, 1, 0, 0): 14_742,
    (0, 0, 0, 1, 0): 161_362,
    (0, 0, 0, 0, 1): 119_929,
    (1, 1, 0, 0, 0): 21_466,
    (1, 0, 1, 0, 0): 27_884,
    (0, 1, 1, 0, 0): 27_884,
    (1, 1, 0, 1, 0): 273_075,
    (0, 0, 1, 1, 0): 267_407,
}
"""`kraft-elr`, 1 record, up to symmetry, crashes of any number, three impaired at once: lossy crashes, disk losses, slow
followers and fences off or on; three and four replicas."""
CUT = {(0, 0, 0, 1, 1): 754_785}
"""One that was given up when it had so many."""
BUDGETS: Counts = {
    (0, 0, 0, 0, 0): 13,
    (1, 0, 0, 0, 0): 814,
    (0, 1, 0, 0, 0): 503,
    (0, 0, 1, 0, 0): 265,
    (0, 0, 0, 1, 0): 767,
    (0, 0, 0, 0, 1): 203,
    (1, 1, 0, 0, 0): 11_698,
    (1, 0, 1, 0, 0): 9_077,
    (1, 0, 0, 1, 0): 21_850,
    (1, 0, 0, 0, 1): 6_622,
    (0, 1, 1, 0, 0): 5_334,
    (0, 1, 0, 1, 0): 14_030,
    (0, 1, 0, 0, 1): 4_306,
    (0, 0, 1, 1, 0): 9_015,
    (0, 0, 0, 1, 1): 7_090,
    (0, 0, 1, 0, 1): 3_627,
    (1, 1, 0, 1, 0): 170_221,
    (1, 0, 1, 1, 0): 147_811,
    (0, 0, 1, 1, 1): 79_772,
}
"""`kraft-elr`, once each: crash, lossy crash, slow (twice), fence, leader move; 1 record."""


@pytest.mark.parametrize(
    ("found", "cut", "target", "replicas", "expected", "times"),
    [
        (FIVE_KINDS, CUT, (1, 1, 1, 1, 1), Replicas(4, 3, 4, symmetry=True), 34_014_858, 3),
        (BUDGETS, {}, (1, 1, 2, 1, 1), NOT_LOWERED, 10_560_267, 4),
        ({(0, 0): 119_955}, {}, (1, 1), NOT_LOWERED, 684_978, 20),
    ],
    ids=["five kinds of any number", "five budgets", "two kinds of which nothing is known"],
)
def test_what_was_found_is_inside_the_interval(
    found: Counts, cut: Counts, target: tuple[int, ...], replicas: Replicas, expected: int, times: int
) -> None:
    """Counts of searches that ended, and what the largest of their kind had."""
    known = {
        each: Sample(each, count, 8 * count, 30, count // 10, 1.0, 1.0, each in found) for each, count in (found | cut).items()
    }
    states = predicted(known, target, replicas, 4, 1, 1.0).states
    assert states.low <= expected <= states.high
    assert expected / times < states.likely < expected * times


def test_a_target_has_no_fewer_states_than_a_part_of_it() -> None:
    """Also where that was cut; the sizes by themselves would say less."""
    known = {(0, 0): 100, (1, 0): 110, (0, 1): 120}
    samples = {each: Sample(each, count, count, 9, 9, 1.0, 1.0) for each, count in known.items()}
    assert predicted(samples, (1, 2), NOT_LOWERED, 1, 1, 1.0).states.low < 9_000
    samples[1, 1] = Sample((1, 1), 9_000, 9_000, 9, 9, 1.0, 1.0, whole=False)
    assert predicted(samples, (1, 2), NOT_LOWERED, 1, 1, 1.0).states.low >= 9_000


def test_no_sample_takes_much_more_than_its_part_of_the_time() -> None:
    """What turns out too large is given up, and nothing that allows as much is tried."""
    chosen = keys("kraft", **{"replication.factor": 2, "bounds.records": 2} | dict.fromkeys(ANY, "any"))
    make = forecasts.Lowered("kraft", (chosen,), axes_of("kraft", [chosen]))
    found: dict[tuple[int, ...], Sample] = {}
    predicting._explore(lambda value: None, make, (0,) * len(make.target), False, math.inf, found)
    predicting._explore(lambda value: None, make, make.target, False, math.inf, found, most=3_000)
    cut = found[make.target]
    assert not cut.whole and 3_000 < cut.distinct < 5_000
    point, _ = predicting._next(found, make.target, NOT_LOWERED, 5.0)
    assert point is not None and point != make.target
    forecast = predicted(found, make.target, NOT_LOWERED, 2, 1, 1.0)
    assert not forecast.exact and cut.distinct <= forecast.states.low < forecast.states.high


ANY = ("faults.crash", "faults.isr_shrink", "faults.fence")


@pytest.mark.parametrize(
    ("model", "given"),
    [
        ("kip-320", {"bounds.records": 2, "bounds.max_leader_epoch": 2}),
        ("kraft", {"replication.factor": 2, "bounds.records": 2, "faults.crash": 2, "faults.isr_shrink": 1, "faults.fence": 1}),
        ("kraft", {"replication.factor": 2, "bounds.records": 2} | dict.fromkeys(ANY, "any")),
    ],
)
def test_real_counts_are_forecast_within_a_factor_of_three(model: str, given: dict[str, Any]) -> None:
    """From the samples that are far smaller, however fast this machine is."""
    chosen = keys(model, **given)
    make = forecasts.Lowered(model, (chosen,), axes_of(model, [chosen]))
    target = make.target
    found: dict[tuple[int, ...], Sample] = {}
    for point in predicting._box(target):
        predicting._explore(lambda value: None, make, point, False, math.inf, found)
    whole = found.pop(target)
    known = {point: each for point, each in found.items() if each.distinct * 6 < whole.distinct}
    forecast = predicted(known, target, make.replicas(False), make(target).words, 1, 1.0)
    assert whole.distinct / 3 < forecast.states.likely < whole.distinct * 3
    assert forecast.states.low < whole.distinct < forecast.states.high and not forecast.exact


def test_sampling_ends_with_the_target_when_there_is_time() -> None:
    chosen = keys("kip-320", **{"replication.factor": 2, "bounds.records": 1, "bounds.max_leader_epoch": 1})
    forecast = forecasts.forecast_of("kip-320", [chosen], Options(workers=1), 20.0)
    assert forecast is not None and forecast.exact and forecast.states.low == forecast.states.high
    assert forecast.states.likely == pytest.approx(predicting.explore(bind(models()["kip-320"], chosen)).counts.distinct)


def axes(model: str, *configurations: Any) -> dict[str, list[str]]:
    """What can be lowered, and the values."""
    return {" ".join(each.keys): [*map(str, each.values)] for each in axes_of(model, configurations)}


def test_axes_are_budgets_and_bounds_that_can_be_lowered() -> None:
    chosen = keys("kip-320", **{"bounds.records": 3, "bounds.max_leader_epoch": 1})
    assert axes("kip-320", chosen) == {"bounds.records bounds.log_size": ["1", "2", "3"], "bounds.max_leader_epoch": ["0", "1"]}
    several = [keys("kraft", **{"faults.crash": 2, "faults.fence": fence, "bounds.records": 1}) for fence in (1, 2)]
    assert axes("kraft", *several) == {"faults.crash": ["0", "1", "2"]}


def test_faults_of_any_number_are_lowered_until_one_kind_is_left() -> None:
    given = {"replication.factor": 5, "bounds.records": 1, "faults.crash": "any", "faults.isr_shrink": "any"}
    chosen = keys("kraft", **given, **{"faults.lossy_crash": "any:2", "faults.at_once": 2})
    assert axes("kraft", chosen) == {
        "faults.lossy_crash": ["0", "any:1", "any:2"],
        "faults.isr_shrink": ["0", "any"],
        "faults.at_once": ["1", "2"],
        "replication.factor": ["2", "3", "4", "5"],
    }


def test_replicas_are_lowered_to_one_more_than_the_minimum_isr() -> None:
    chosen = keys("kraft", **{"replication.factor": 5, "bounds.records": 1, "faults.crash": "any", "faults.at_once": 2})
    assert axes("kraft", chosen) == {"faults.at_once": ["1", "2"], "replication.factor": ["2", "3", "4", "5"]}
    assert axes("kraft", chosen | {"faults.at_once": 4}) == {"replication.factor": ["2", "3", "4", "5"]}
    given = {"replication.factor": 4, "min.insync.replicas": 2, "bounds.records": 1, "faults.crash": "any"}
    (lowered,) = axes_of("kraft", [keys("kraft", **given)])
    assert lowered == Axis(("replication.factor",), (3, 4))
    assert forecasts.Lowered("kraft", (), (lowered,)).replicas(symmetry=True) == Replicas(0, 3, 4, symmetry=True)


def test_what_another_setting_needs_is_not_lowered() -> None:
    racks = keys("kraft", **{"replication.factor": 4, "broker.rack": "a,a,b,b", "bounds.records": 1, "faults.crash": "any"})
    assert axes("kraft", racks) == {}
    limits = {"faults.isr_shrink": "any", "faults.data_loss": "any:1", "faults.kill": "any:data_loss"}
    assert axes("kraft", keys("kraft", **{"bounds.records": 1}, **limits)) == {"faults.isr_shrink": ["0", "any"]}


def test_what_is_large_goes_at_the_rate_of_machine_code() -> None:
    """Samples of 10^5 states a second, of a processor's second as of the clock's, or of four of the clock's."""
    seconds = []
    for slower in (1, 4):
        small = Sample((0,), 10_000, 50_000, 20, 900, 0.5 * slower, 0.5)
        seconds.append(predicted({(0,): small}, (3,), NOT_LOWERED, 1, 1, 1.0).seconds.likely)
    generated = predicted({(0,): small}, (3,), NOT_LOWERED, 1, 1, 1.0).generated.likely
    assert [generated / each for each in seconds] == pytest.approx([5e6, 1.25e6], rel=0.5)


def test_the_widest_level_is_no_wider_than_it_was() -> None:
    found: dict[tuple[int, ...], Sample] = {}
    chosen = keys("kip-320", **{"replication.factor": 2, "bounds.records": 2, "bounds.max_leader_epoch": 2})
    make = forecasts.Lowered("kip-320", (chosen,), ())
    predicting._explore(lambda value: None, make, (), False, math.inf, found)
    assert found[()].distinct == 5_973 and 5_973 / 18 < found[()].widest < 5_973 / 5


def test_what_is_left_is_estimated_once_a_search_shrinks() -> None:
    """At a steady rate; the last states are over before they are estimated."""
    system = bind(
        models()["kraft"], keys("kraft", **{"replication.factor": 2, "bounds.records": 2} | dict.fromkeys(ANY, "any"))
    )
    seen: list[Progress] = []
    total = search_of(system, (), Options(workers=1), seen.append).counts.distinct
    shown = LiveProgress()
    for again in range(2):  # a second search begins anew
        left = [shown.left(replace(each, seconds=each.distinct / 100)) for each in seen]
        known = [(guess, (total - each.distinct) / 100) for guess, each in zip(left, seen, strict=True) if guess is not None]
        assert left[: len(left) // 4] == [None] * (len(left) // 4) and len(known) > 8, again
        assert all(rest / 4 < guess < 4 * rest for guess, rest in known if rest > total / 100 / 20)


def test_what_is_left_is_the_mirror_image_or_less() -> None:
    def levels(widths: list[int]) -> list[tuple[int, int]]:
        return [(width, sum(widths[: number + 1])) for number, width in enumerate(widths)]

    growth = [1, 10, 50, 200, 400, 500]
    assert rest(levels(growth)) is None and rest(levels([*growth, 360])) is None
    assert rest(levels([*growth, 400, 200])) == pytest.approx(261)
    assert rest(levels([*growth, 100, 20, 4])) == pytest.approx(1, rel=0.1)


BIG = Forecast(
    states=Estimate(1e12, 2e12, 4e12),
    generated=Estimate(3e12, 6e12, 1e13),
    seconds=Estimate(1e6, 2e6, 3e6),
    memory=Estimate(3e13, 5e13, 9e13),
    widest=Estimate(1e11, 2e11, 4e11),
    stored=Estimate(1.6e13, 3.2e13, 6e13),
    smaller={0: 5e7, 1: 1e9},
    samples=12,
    sampled_seconds=9.0,
    exact=False,
)
AXES = (Axis(("faults.crash",), (0, 1, 2)), Axis(("bounds.records",), (1, 2, 3)))


@pytest.mark.parametrize(
    ("options", "engine", "said"),
    [
        (Options(), "memory", "of memory, and this machine has"),
        (Options(limits=Limits(memory_bytes=10**9)), "memory", "for its levels alone, and --memory-limit is 1 GB"),
        (Options(limits=Limits(memory_bytes=10**14)), "memory", "on disk, and"),
        (Options(state_dir="levels"), "spark", "on disk, and"),
    ],
)
def test_what_cannot_fit_is_refused_with_advice(options: Options, engine: str, said: str) -> None:
    why = forecasts.refusal(BIG, AXES, options, engine)
    assert why is not None and said in why and "lower faults.crash to 1 (about 50 million states)" in why
    small = replace(BIG, memory=Estimate(1e6, 2e6, 4e6), stored=Estimate(1, 2, 3))
    assert forecasts.refusal(small, AXES, options, engine) is None


def test_levels_elsewhere_are_not_measured_here() -> None:
    assert forecasts.refusal(BIG, AXES, Options(state_dir="s3a://bucket/levels"), "spark") is None


def test_how_often_intervals_held_is_what_was_published() -> None:
    page = (Path(__file__).parents[3] / "reports" / "published" / "forecast.md").read_text()
    ended = re.search(r"^(\d+) of (\d+) are inside their interval", page, re.MULTILINE)
    assert ended is not None and tuple(map(int, ended.groups())) == (HELD, OF) and MEASURED_BY in page
    assert f"intervals held for {HELD} of {OF} searches" in sentence(BIG)
    assert "intervals" not in sentence(replace(BIG, exact=True))


def searched(monkeypatch: pytest.MonkeyPatch, request: Request, given: dict[str, Any], asked: list[str]) -> Any:
    monkeypatch.setattr(forecasts, "forecast_of", lambda *_: BIG)
    chosen = keys("kip-320", **given)
    system = bind(models()["kip-320"], chosen)
    return search(system, chosen_properties(models()["kip-320"], asked), request)


def test_a_refused_search_is_inconclusive_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forecasts, "time_for", lambda limit: 0.6)
    request = Request(workers=1, time_limit=10.0)
    outcome, cost = searched(monkeypatch, request, {"bounds.records": 4, "bounds.max_leader_epoch": 3}, ["strong-isr"])
    assert outcome.verdict == "inconclusive" and outcome.reason.startswith("refused, because it cannot fit: it needs about")
    assert cost["forecast"]["states"] == {"low": 10**12, "likely": 2 * 10**12, "high": 4 * 10**12}


def test_what_is_decided_at_once_is_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    request = Request(workers=1, time_limit=100.0)
    outcome, cost = searched(monkeypatch, request, {"replication.factor": 2, "bounds.max_leader_epoch": 1}, ["strong-isr"])
    assert outcome.verdict == "holds" and outcome.reason is None
    said = afterwards(cost["forecast"], outcome.counts.distinct, False)
    assert "OUTSIDE the interval of 1 trillion to 4 trillion" in said


def test_without_limits_or_time_nothing_is_forecast(monkeypatch: pytest.MonkeyPatch) -> None:
    for request in (
        Request(workers=1),
        Request(workers=1, time_limit=1.0),
        Request(time_limit=60.0, forecast=False),
    ):
        _, cost = searched(monkeypatch, request, {"replication.factor": 2, "bounds.max_leader_epoch": 0}, ["weak-isr"])
        assert cost == {}


def test_the_command_only_forecasts_when_asked(tmp_path: Path) -> None:
    settings = ["--set", "replication.factor=2", "--set", "bounds.max_leader_epoch=1"]
    done = neverlost("explore", "kip-320", *settings, "--forecast", "--json", "-")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["schema"] == "neverlost.forecast/1" and found["fits"] is True and found["forecast"]["exact"] is True
    counted = json.loads(neverlost("explore", "kip-320", *settings, "--json", "-").stdout)["states"]["distinct"]
    assert found["forecast"]["states"] == {"low": counted, "likely": counted, "high": counted}
    done = neverlost("check", "--set", "model=kip-320", *settings, "--time-limit", "30", "--out", "b", cwd=tmp_path)
    assert done.returncode == 0 and "forecast: " in done.stderr
    assert "1.00 of the states found, inside the interval" in done.stdout
    assert json.loads((tmp_path / "b" / "result.json").read_text())["forecast"]["states"]["likely"] == counted
    assert neverlost("verify", str(tmp_path / "b")).returncode == 0


def test_a_sweep_is_forecast_as_the_sum_of_its_searches(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text(MATRIX.replace('"0..2"', "1"))
    done = neverlost("sweep", "m.toml", "--forecast", "--json", "-", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["cells"] == 24 and found["fits"] is True and found["forecast"]["exact"] is True
    done = neverlost("sweep", "m.toml", "--time-limit", "90", "--out", "b", cwd=tmp_path)
    assert done.returncode == 0 and "forecast: " in done.stderr
    document = json.loads((tmp_path / "b" / "result.json").read_text())
    swept = sum(each["states"]["distinct"] for each in document["searches"])
    assert swept <= document["forecast"]["states"]["high"]
    assert neverlost("verify", str(tmp_path / "b")).returncode == 0
