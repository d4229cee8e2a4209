"""`roll`: which broker may be stopped now, one at a time, and what one more data loss would do meanwhile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack

import neverlost
from neverlost.checker.atlas import lookup
from neverlost.checker.atlas.index import shipped
from neverlost.checker.campaign import tolerance as campaign
from neverlost.checker.outcome import Verdict
from neverlost.checker.search.options import Reporter
from neverlost.inputs import configurations
from neverlost.keywords import Searching, Settings
from neverlost.reports.documents import tolerance as describe
from neverlost.reports.request import Request
from neverlost.results import Answer
from neverlost.specs.configuration.choose import Chosen, read_given, read_settings
from neverlost.specs.errors import InputError
from neverlost.specs.property import properties
from neverlost.specs.spot import Spot

NOW, THEN = Spot(0, 0), Spot(1, 0)
"""What is asked once a broker is stopped: whether anything is wrong with no further fault, and with one data loss."""

OUTSIDE = "start.outside_isr"


@dataclass(frozen=True)
class RollResult(Answer):
    """For each broker what its stop does to each partition that it has a replica of."""

    verdict: str
    brokers: Mapping[str, Mapping[str, Any]] = field(repr=False)

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """A row per broker."""
        return [{"broker": broker, **each} for broker, each in self.brokers.items()]


def roll(
    settings: Settings = None,
    *,
    files: Mapping[str, Any],
    kafka_version: str | None = None,
    progress: Reporter | None = None,
    **search: Unpack[Searching],
) -> RollResult:
    """Whether each broker of a described cluster may be stopped now, in a controlled way and alone.

    A stopped broker is outside the ISR of each of its partitions, beside those that are outside already and may stay there.
    So the stop comes first, whatever it does, and what is asked is what holds from there.  `files` are the Kafka files of
    `check` by the names of its parameters.

    Errors: `InputError` for bad input, before anything is searched.
    """
    request, atlas = Request(**search), shipped()
    stated = [f"{key}={value}" for key, (value, _) in read_settings(settings).items()]
    given = read_given(None, settings)
    if any(key.startswith("faults.") for key in given):
        raise InputError("roll asks about stops itself: leave limits of faults out")
    if not files.get("describe"):
        raise InputError("roll needs the partitions of a cluster: give --describe FILE or --bootstrap-server HOST:PORT")
    records = [] if "bounds.records" in given else ["bounds.records=1"]
    known: dict[tuple[int, int], tuple[str, str]] = {}

    def after(chosen: Chosen, outside: int) -> tuple[str, str]:
        """What the table says of a partition with so many outside its ISR: now, and after one data loss."""
        if outside >= chosen.configuration["replication.factor"]:
            return describe.STOPS, describe.STOPS
        key = (id(chosen), outside)
        if key not in known:
            find = None if atlas is None else lambda *asked: lookup.answers(atlas, *asked)
            table = campaign.tolerance(
                chosen.model,
                {**chosen.configuration, OUTSIDE: outside},
                [properties()[name] for name in describe.ASKED],
                request.options(),
                engine=request.engine,
                reporter=progress,
                known=find,
                only=[NOW, THEN],
            )
            known[key] = describe.words(table, NOW), describe.words(table, THEN)
        return known[key]

    found: dict[str, dict[str, dict[str, list[str]]]] = {}
    for chosen in configurations([*stated, *records], None, kafka_version, **files):
        outside = chosen.configuration.get(OUTSIDE, 0)
        for partition, brokers in chosen.brokers.items():
            inside = brokers[: len(brokers) - outside]
            for broker in brokers:
                now, then = after(chosen, outside + (broker in inside))
                lists = found.setdefault(broker, {"now": {}, "then": {}})
                lists["now"].setdefault(now, []).append(partition)
                lists["then"].setdefault(then, []).append(partition)
    document: dict[str, Any] = {"schema": "neverlost.roll/1", "version": neverlost.__version__, "brokers": _answers(found)}
    worst = [each["may_be_stopped"] for each in document["brokers"].values()]
    document["verdict"] = str(Verdict.HOLDS if all(worst) else Verdict.VIOLATED)
    return RollResult.of(document)


def _answers(found: Mapping[str, Mapping[str, Mapping[str, list[str]]]]) -> dict[str, Any]:
    """Brokers that may be stopped first, each with what its stop does by partitions."""
    answers = {
        broker: {"may_be_stopped": set(lists["now"]) == {describe.OK}, **{key: dict(each) for key, each in lists.items()}}
        for broker, lists in found.items()
    }
    return dict(sorted(answers.items(), key=lambda each: (not each[1]["may_be_stopped"], len(each[0]), each[0])))
