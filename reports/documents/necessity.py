"""What `necessity` finds, as a document, as Markdown and as sentences."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import neverlost
from neverlost.checker.campaign.necessity import Judgement, Need, Profile, Variant, clause_variants, judged, profiles
from neverlost.model.system import System, bind
from neverlost.reports.documents.merged_rows import many, spent
from neverlost.reports.exit_status import of_expectations
from neverlost.reports.output import verdict_line
from neverlost.reports.request import Request
from neverlost.reports.terminal.progress import PartsProgress
from neverlost.specs.configuration import choose as configuration
from neverlost.specs.configuration.asked_properties import chosen_properties
from neverlost.specs.configuration.keys import KEYS, MECHANISM, shown
from neverlost.specs.configuration.keys import configuration as complete
from neverlost.specs.errors import InputError
from neverlost.specs.necessity import Plan, plan_of
from neverlost.specs.property import Property, guarantees

SCHEMA = "neverlost.necessity/1"


@dataclass(frozen=True)
class Examined:
    """A model, the profiles in which it was examined, and what was found; `command` makes it again."""

    model: str
    command: str
    profiles: tuple[Profile, ...]
    judgements: tuple[Judgement, ...]
    explained: dict[str, str]
    is_planned: bool
    seconds: float


def examine(
    config: str | None,
    settings: Sequence[str],
    names: Sequence[str] | None,
    only: Sequence[str],
    request: Request,
    seconds_each: float | None,
    progress: PartsProgress,
) -> Examined:
    """Judge every part of the model that the keys name; a model alone is examined in its published profiles.

    Errors: `InputError` for unknown keys and values, a plan that does not fit its model, and where nothing holds anyway.
    """
    started = time.monotonic()
    given = configuration.read_given(config, settings)
    chosen = configuration.choose(given)
    plan = plan_of(chosen.model.name)
    is_planned = plan is not None and set(given) == {"model"}
    named = _planned(plan) if plan is not None and is_planned else [("as given", bind(chosen.model, chosen.configuration))]
    asked = chosen_properties(chosen.model, names) if names else _properties(named[0][1], plan if is_planned else None)
    kept = profiles(named, asked, request.workers, request.time_limit)
    if not any(each.question.properties for each in kept):
        raise InputError(
            f"no property holds in {chosen.model.name} with these keys, so nothing can break it; use smaller budgets"
        )
    variants = [*clause_variants(kept), *_mechanism_variants(kept)]
    variants = [each for each in variants if not only or any(text in each.name for text in only)]
    progress.expect(len(variants))
    found = judged(kept, variants, request.workers, request.time_limit, seconds_each, lambda each: progress(each.variant.name))
    parts = [
        *([config] if config else []),
        *[f"--set {each}" for each in settings],
        *[f"--property {each}" for each in names or ()],
    ]
    return Examined(
        chosen.model.name,
        " ".join(["neverlost necessity", *parts, *[f"--only '{each}'" for each in only]]),
        tuple(kept),
        tuple(found),
        dict(plan.explained) if plan is not None else {},
        is_planned,
        time.monotonic() - started,
    )


def _properties(system: System, plan: Plan | None) -> list[Property]:
    extra = chosen_properties(system.model, plan.properties) if plan is not None and plan.properties else []
    return list({each.name: each for each in [*guarantees(system.model), *extra]}.values())


def _planned(plan: Plan) -> list[tuple[str, System]]:
    found = []
    for name, keys in plan.profiles:
        given = {key: (value, f"profile {name!r} of {plan.model}.toml") for key, value in keys.items()}
        chosen = configuration.choose({"model": (plan.model, "the plan")} | given)
        found.append((name, bind(chosen.model, chosen.configuration)))
    return found


def _mechanism_variants(kept: Sequence[Profile]) -> Iterable[Variant]:
    """Each mechanism that a profile has, switched off there."""
    owners: dict[str, list[tuple[int, Any]]] = {}
    for number, profile in enumerate(kept):
        system = profile.question.system
        for key, value in system.configurations[0].items():
            if key.startswith(MECHANISM) and value is True and profile.question.properties:
                owners.setdefault(key, []).append((number, replace(profile.question, system=_with(system, key))))
    for key, questions in owners.items():
        yield Variant("mechanism", key, tuple(questions))


def _with(system: System, key: str) -> System:
    raw: dict[str, tuple[Any, str]] = {
        name: (shown(value), "the profile") for name, value in system.configurations[0].items()
    } | {key: (False, "necessity")}
    return bind(system.model, complete(system.model, raw))


def is_explained(found: Examined, judgement: Judgement) -> bool:
    """Whether a part is needed, or it is written down why it is there."""
    return judgement.need in (Need.NEEDED, Need.STRUCTURAL, Need.UNDECIDED) or judgement.variant.name in found.explained


def detail(found: Examined, judgement: Judgement) -> str:
    """The counterexample in words, or the reason why the part is kept; empty where none is written down."""
    answer, question = judgement.answer, judgement.question
    if answer is not None and answer.trace is not None and question is not None:
        faults = spent(answer.trace.faults(question.system))
        where = found.profiles[judgement.profile or 0].name
        return f"{answer.broken} breaks in {many(answer.steps or 0, 'step')} ({faults}; {where})"
    if judgement.need is Need.STRUCTURAL and answer is not None:
        return f"the step makes no sense without it: {answer.problem}"
    if judgement.need is Need.UNDECIDED and answer is not None:
        return str(answer.problem)
    return found.explained.get(judgement.variant.name, "")


def summary(found: Examined) -> str:
    """Counts in one sentence."""
    counts = Counter(str(each.need) for each in found.judgements)
    open_parts = sum(not is_explained(found, each) for each in found.judgements)
    listed = ", ".join(f"{counts[str(need)]} {need}" for need in Need if counts[str(need)])
    return f"{len(found.judgements)} parts: {listed}; {open_parts} not explained; {found.seconds:.0f} s"


def scope(found: Examined) -> list[str]:
    """What was explored, one line for each profile."""
    lines = []
    for each in found.profiles:
        system = each.question.system
        base = system.model.defaults
        given = {key: value for key, value in system.configurations[0].items() if not _is_default(key, value, base)}
        text = " ".join(f"{key}={shown(value)}" for key, value in given.items())
        kept = ", ".join(one.name for one in each.question.properties) or "nothing"
        gone = f"; not kept even so: {', '.join(each.left_out)}" if each.left_out else ""
        lines.append(f"{each.name}: {text} ({each.distinct:,} states up to symmetry; keeps {kept}{gone})")
    return lines


def _is_default(key: str, value: Any, base: Any) -> bool:
    """Whether a profile's line leaves a key out: it says nothing that the model does not say."""
    if key.startswith(("bounds.", "replication.", "min.")):
        return False
    return bool(value == base.get(key, KEYS[key].default if key in KEYS else None))


def document(found: Examined) -> dict[str, Any]:
    """The answer for `--json`."""
    return {
        "schema": SCHEMA,
        "version": neverlost.__version__,
        "model": found.model,
        "command": found.command,
        "seconds": round(found.seconds, 3),
        "profiles": [
            {
                "name": each.name,
                "config": {key: shown(value) for key, value in each.question.system.configurations[0].items()},
                "properties": [one.name for one in each.question.properties],
                "not_kept": list(each.left_out),
                "distinct": each.distinct,
            }
            for each in found.profiles
        ],
        "parts": [_part(found, each) for each in found.judgements],
        "counts": dict(Counter(str(each.need) for each in found.judgements)),
        "unexplained": [each.variant.name for each in found.judgements if not is_explained(found, each)],
    }


def verdict_lines(stated: Mapping[str, Any]) -> list[str]:
    """What `--quiet` prints: a line for each part."""
    return [verdict_line(each["need"], each["name"]) for each in stated["parts"]]


def _part(found: Examined, judgement: Judgement) -> dict[str, Any]:
    answer, question = judgement.answer, judgement.question
    has_trace = answer is not None and answer.trace is not None and question is not None
    return {
        "kind": judgement.variant.kind,
        "name": judgement.variant.name,
        "need": str(judgement.need),
        "profile": None if judgement.profile is None else found.profiles[judgement.profile].name,
        "property": answer.broken if answer is not None else None,
        "steps": answer.steps if answer is not None else None,
        "faults": answer.trace.faults(question.system) if has_trace and answer and answer.trace and question else {},
        "distinct": answer.distinct if answer is not None else None,
        "problem": answer.problem if answer is not None else None,
        "explained": found.explained.get(judgement.variant.name),
    }


def markdown(found: Examined) -> str:
    """The report as a page."""
    lines = [
        f"# What {found.model} needs",
        "",
        f"Made by `{found.command} --out reports/published` (neverlost {neverlost.__version__}, {os.cpu_count()} cores).",
        "",
    ]
    lines += [
        "Every guard clause and every mechanism was switched off, one at a time, and everything else explored exhaustively",
        "within the profiles below. *needed*: a property breaks, in the fewest steps possible in that profile. *structural*:",
        "the step makes no sense without it. *not needed*: other states are reachable and every property still holds. *changes",
        "nothing*: the same states are reachable.",
        "",
        summary(found).replace(f"; {found.seconds:.0f} s", "") + ".",
        "",
        "## Profiles",
        "",
        *[f"- {line}" for line in scope(found)],
        "",
        "## Parts",
        "",
        "| part | without it | counterexample or reason |",
        "| --- | --- | --- |",
    ]
    for each in found.judgements:
        lines.append(f"| {each.variant.name} | {each.need} | {detail(found, each) or '**not explained**'} |")
    return "\n".join(lines) + "\n"


def exit_status(found: Examined) -> int:
    """21 when a published plan leaves a part unexplained, 20 when something is undecided, else 0."""
    are_explained = not found.is_planned or all(is_explained(found, each) for each in found.judgements)
    return of_expectations(are_explained, all(each.need is not Need.UNDECIDED for each in found.judgements))
