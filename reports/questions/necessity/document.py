"""The result of `necessity` as a document, as Markdown and as sentences."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from typing import Any

import neverlost
from neverlost.checker.questions.necessity.examined_model import Examined
from neverlost.checker.questions.necessity.necessity import Need, VariantVerdict
from neverlost.reports.output.exit_status import of_expectations
from neverlost.reports.output.output import verdict_line
from neverlost.reports.wording.merged_rows import faults_text, pluralize
from neverlost.specs.configuration.keys import KEYS, shown

SCHEMA = "neverlost.necessity/1"


def detail(found: Examined, judgement: VariantVerdict) -> str:
    """Return the counterexample in words, or why a part is structural or undecided, or the written reason to keep it, or ''."""
    answer, question = judgement.answer, judgement.question
    if answer is not None and answer.trace is not None and question is not None:
        faults = faults_text(answer.trace.faults(question.system))
        where = found.profiles[judgement.profile or 0].name
        return f"{answer.broken} breaks in {pluralize(answer.steps or 0, 'step')} ({faults}; {where})"
    if judgement.need is Need.STRUCTURAL and answer is not None:
        return f"the step makes no sense without it: {answer.problem}"
    if judgement.need is Need.UNDECIDED and answer is not None:
        return str(answer.problem)
    return found.explained.get(judgement.variant.name, "")


def summary(found: Examined) -> str:
    """Return one sentence: how many parts there are, how many have each judgement, how many are not explained, the seconds."""
    counts = Counter(str(each.need) for each in found.judgements)
    open_parts = sum(not found.is_explained(each) for each in found.judgements)
    listed = ", ".join(f"{counts[str(need)]} {need}" for need in Need if counts[str(need)])
    return f"{len(found.judgements)} parts: {listed}; {open_parts} not explained; {found.seconds:.0f} s"


def scope(found: Examined) -> list[str]:
    """Return a line for each profile that was explored: its settings, how many states it has, what it keeps and does not."""
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
    """Return True if a profile need not show a key: it has its default (model's in `base`), and is no bound or replica key."""
    if key.startswith(("bounds.", "replication.", "min.")):
        return False
    return bool(value == base.get(key, KEYS[key].default if key in KEYS else None))


def document(found: Examined, command: str) -> dict[str, Any]:
    """Return the result document; `command` is the command line that makes it again."""
    return {
        "schema": SCHEMA,
        "version": neverlost.__version__,
        "model": found.model,
        "command": command,
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
        "unexplained": [each.variant.name for each in found.judgements if not found.is_explained(each)],
    }


def verdict_lines(stated: Mapping[str, Any]) -> list[str]:
    """Return the lines that `--quiet` prints, one for each part."""
    return [verdict_line(each["need"], each["name"]) for each in stated["parts"]]


def _part(found: Examined, judgement: VariantVerdict) -> dict[str, Any]:
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


def markdown(found: Examined, command: str) -> str:
    lines = [
        f"# What {found.model} needs",
        "",
        f"Made by `{command} --out reports/published` (neverlost {neverlost.__version__}, {os.cpu_count()} cores).",
        "",
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
        *[f"| {each.variant.name} | {each.need} | {detail(found, each) or '**not explained**'} |" for each in found.judgements],
    ]
    return "\n".join(lines) + "\n"


def exit_status(found: Examined) -> int:
    """Return 21 if the model's own plan was run and a part is not explained, else 20 if a part is undecided, else 0."""
    are_explained = not found.is_planned or all(found.is_explained(each) for each in found.judgements)
    return of_expectations(are_explained, all(each.need is not Need.UNDECIDED for each in found.judgements))
