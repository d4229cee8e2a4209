"""`nines` bounds the probability that an acknowledged record is lost in a year, from decided verdicts and failure rates."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike, fspath
from pathlib import Path as File
from typing import Any, Unpack

import neverlost
from neverlost.checker.engine.search.options import Reporter
from neverlost.checker.questions.atlas.index import shipped
from neverlost.checker.questions.nines.configuration_nines import ConfigurationNines
from neverlost.checker.questions.nines.rates import Rates, rates
from neverlost.checker.questions.tolerance.fault_budget import AXES
from neverlost.reports.bundle.keep import writes_bundle
from neverlost.reports.questions.nines import document as describe
from neverlost.reports.questions.nines.bounds import NinesBounds
from neverlost.reports.questions.tolerance.api import RECORDS, merge_equal, read_subjects
from neverlost.reports.request.inputs import make_labels
from neverlost.reports.request.keywords import Searching, Settings
from neverlost.reports.request.run_options import RunOptions
from neverlost.reports.results.results import Answer
from neverlost.specs.configuration.choose import (
    CHANGE,
    OURS,
    VERSION,
    Chosen,
    change_settings,
    elr_is_open_in,
    read_given,
    read_settings,
    with_all_in_sync,
)
from neverlost.specs.configuration.keys import shown
from neverlost.specs.configuration.matrix import read_matrix
from neverlost.specs.configuration.metadata_version import METADATA
from neverlost.specs.configuration.version_defaults import ELR
from neverlost.specs.errors import InputError
from neverlost.specs.setting import assumed

Path = str | PathLike[str]

SHIPPED = "shipped rates"


@dataclass(frozen=True, repr=False)
class NinesResult(Answer):
    """For each configuration a bound of the probability of loss in a year, and how long writes are refused."""

    verdict: str
    nines: Mapping[str, Mapping[str, Any]] = field(repr=False)
    judged: tuple[ConfigurationNines, ...] = field(repr=False)

    def rows(self) -> Sequence[Mapping[str, Any]]:
        return [row for subject, each in self.nines.items() for row in describe.rows(subject, each)]


@writes_bundle
def nines(
    settings: Settings = None,
    *,
    config: Path | None = None,
    kafka_version: str | None = None,
    matrix: Path | None = None,
    topics: Sequence[str] | None = None,
    rates_files: Path | Iterable[Path] | None = None,
    compare: Sequence[str | Settings] = (),
    again: bool = False,
    out: Path | None = None,
    progress: Reporter | None = None,
    files: Mapping[str, Any] | None = None,
    **search: Unpack[Searching],
) -> NinesResult:
    """Bound the probability of loss of a configuration, of each distinct one of a described cluster, or of each cell of a
    `matrix`. `settings`, `config`, `kafka_version`, `topics`, `files` and `again` are those of `tolerance`; `rates_files` are
    TOML files with rates in place of the shipped ones: with several of them there is a bound for each. `compare` are other
    settings, each beside the configuration: how many times as high their bound is at equal rates. The answer is about
    Kafka as designed, and says what the known defects of the version as shipped add. Errors: `InputError` for bad input; for
    settings in `compare` that the configuration cannot have, only after the searches."""
    given = _rates(rates_files)
    if "defects" in read_given(config, settings):
        raise InputError("defects is set: nines is about Kafka as designed and says what the defects add; leave it out")
    if matrix is None:
        asked = _in_sync(read_subjects(settings, config, kafka_version, files or {}, topics or ()))
    elif config is not None or kafka_version is not None or any((files or {}).values()):
        raise InputError("a matrix has all settings: leave the configuration, the version and the cluster out, or --matrix")
    else:
        asked = list(_cells(matrix, settings))
    options = [_option(each) for each in compare]
    known = NinesBounds(given, RunOptions(**search), progress, None if again else shipped())
    judged = [known.of(each) for each in asked]
    labels = make_labels([each.chosen for each in judged])
    answers = {label: describe.answer(each) for label, each in zip(labels, judged, strict=True)}
    for answer, chosen, each in zip(answers.values(), asked, judged, strict=True) if options else ():
        answer["compared"] = _compared(chosen, each, known, options)
    document = describe.document(answers, given, neverlost.__version__)
    document["assumed"] = assumed(each.chosen.settings for each in judged)
    return NinesResult.of(document, judged=tuple(judged))


def _compared(
    chosen: Chosen, judged: ConfigurationNines, known: NinesBounds, options: Sequence[Mapping[str, str]]
) -> list[dict[str, Any]]:
    """Return for each of these settings the bound with it, and how many times as high it is at equal rates."""
    found = []
    for each in (meant for option in options for meant in _say_what_comes_with(option, chosen)):
        other = known.of(change_settings(chosen, each))
        told = describe.describe_change(each, chosen, other)
        found.append(told | {"ratio": describe.ratio(judged.first, other.first, next(iter(known.rates.values())))})
    return found


def _say_what_comes_with(option: Mapping[str, str], chosen: Chosen) -> list[dict[str, str]]:
    """Return an option with what another Kafka version brings: its metadata version and, where the configuration does not say,
    eligible leader replicas off (as after an upgrade) and on (as in a new cluster)."""
    if VERSION not in option:
        return [{**option}]
    brought = {METADATA: change_settings(chosen, option).settings.get(METADATA)}
    said = {**option, **{key: each.value for key, each in brought.items() if each is not None}}
    is_open = chosen.settings[ELR].where == OURS and elr_is_open_in({key: (value, CHANGE) for key, value in option.items()})
    return [said | {ELR: each} for each in ("false", "true")] if is_open else [said]


def _option(given: str | Settings) -> dict[str, str]:
    """Return the settings of an option that is compared, as texts.  Errors: `InputError` for one without a setting."""
    words = shlex.split(given) if isinstance(given, str) else given
    found = {key: str(value) for key, (value, _) in read_settings(words).items()}
    if not found:
        raise InputError("bad --compare '': write the settings that differ, KEY=VALUE")
    return found


def _rates(given: Path | Iterable[Path] | None) -> dict[str, Rates]:
    """Return rates by the name of their file without its ending; without files the shipped rates, as `SHIPPED`.  Errors:
    `InputError` for a bad file, or two of one name."""
    every = [given] if isinstance(given, str | PathLike) else list(given or ())
    names = [File(fspath(each)).stem for each in every]
    if len(set(names)) < len(names):
        raise InputError(f"two files of rates have one name: {', '.join(str(fspath(each)) for each in every)}; rename one")
    return {name: rates(each) for name, each in zip(names, every, strict=True)} or {SHIPPED: rates()}


def _in_sync(every: Iterable[Chosen]) -> list[Chosen]:
    """Return the configurations with every replica back in the ISR (but for those that begin as a described partition stands),
    equal ones merged; if some have `defects=shipped`, only those. Errors: `InputError` if the model lets no broker be out."""
    every = list(every)
    for each in every:
        if not all(key in each.model.keys for key in AXES):
            raise InputError(f"model {each.model.name!r} has no {AXES[1]}; use a modern model, or kafka.version=X.Y")
    back = [each if each.is_standing else with_all_in_sync(each) for each in every]
    return merge_equal([each for each in back if each.configuration["defects"] == "shipped"] or back)


def _cells(matrix: Path, settings: Settings) -> Iterator[Chosen]:
    """Yield the configurations of a matrix, each labelled by its coordinates.  Errors: `InputError` for limits of faults, and
    for models without the two keys of faults that a table varies."""
    found = read_matrix(fspath(matrix), {RECORDS: (1, CHANGE), **read_settings(settings)})
    for cell in found.cells:
        limited = [name for name, value in cell.configuration.items() if name.startswith("faults.") and value]
        if limited:
            raise InputError(f"{limited[0]} is set in matrix {fspath(matrix)}: nines is about every number of faults")
        if not all(key in cell.model.keys for key in AXES):
            raise InputError(f"model {cell.model.name!r} in matrix {fspath(matrix)} has no {AXES[0]}; use a modern model")
        said = ", ".join(f"{key}={shown(cell.coordinates.get(key))}" for key in found.varying)
        subjects = (said,) if said else ()
        yield replace(cell, subjects=subjects, release=None)


__all__ = ["NinesResult", "nines"]
