"""Takes over what a bundle states beyond what was derived in the given time: each such claim is named and checked for
consistency.  A claim is taken over only where nothing was decided here; what a bundle says of itself, such as that a limit was
reached, opens nothing.  Every violation is re-executed whatever the time; a verdict that contradicts a derived one is refused.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.host.processes import INTERRUPTED, TIMEOUT
from neverlost.checker.engine.host.resources import OUT_OF_MEMORY
from neverlost.checker.engine.host.whole_files import as_json
from neverlost.checker.engine.outcome import Behaviour, Counts, Finding, Outcome, Verdict, worst
from neverlost.checker.engine.search.options import Options, SearchLimits
from neverlost.checker.questions.sweep.sweep import EXPLORED, REPLAYED, SAME, Decision, Sweep
from neverlost.reports.bundle.seal import RESULT
from neverlost.reports.counterexample.saved import SUFFIX, Counterexample
from neverlost.reports.documents import result as describe
from neverlost.reports.documents import sweep_and_baseline as describe_sweep
from neverlost.reports.documents.measurements import is_measurement, is_plain
from neverlost.reports.questions.verify import undecided
from neverlost.reports.questions.verify.derive import Derived
from neverlost.reports.results.results import Result
from neverlost.specs.configuration.choose import Chosen, chosen_of
from neverlost.specs.configuration.input import Contents
from neverlost.specs.errors import InputError, describe_misreading
from neverlost.specs.inputs import remedies
from neverlost.specs.setting import NoticeKind
from neverlost.specs.strict_json import parse_json

Document = Mapping[str, Any]
Completed = tuple[dict[str, Any], list[str]]
"""A result, and a line for each place of it that was not derived."""

OF_A_SEARCH = ("reason", "verdict", "states", "levels", "fired", "never", "depth", "proofs")
"""The places of a cell that a search decides, beside its properties."""

OF_A_PROOF = ("verdict", "obligations", "hint", "never", "open", "counterexamples")
"""The places of a proof that solvers decide: not of what it is, nor which bounds it has."""

AGAIN = "neverlost verify --full derives it"


def complete(files: Contents, own: Derived, seed: int | None, seconds: float) -> Completed:
    """Return the derived result with the bundle's claims where it is open, and a line for each place that was not derived.
    Errors: `InputError` for statements that contradict what was derived, and for violations that cannot be re-executed."""
    derived, stated = own.document(RESULT), _result(files)
    try:
        if own.question.command == "rescue":
            return derived, []  # nothing of it is searched, so nothing is open
        if "matrix" in derived:
            return _complete_sweep(derived, stated, files, own, seed, seconds)
        if own.question.command in undecided.MAIN:
            found, places = undecided.complete_tables(own.question.command, derived, stated)
            for label, advice in found["advice"].items() if "advice" in places else ():
                _require_commands([each.chosen for each in own.answer.subjects if each.label == label], advice)
            return found, [f"{each}: as stated: not decided here; {AGAIN}" for each in places]
        if own.question.command == "observe":
            return _complete_observation(derived, stated)
        return _complete_cells(derived, stated, files, own)
    except (KeyError, TypeError, AttributeError, ValueError, IndexError) as problem:
        raise InputError(f"{RESULT} is refused: {describe_misreading(problem)}") from None


def _complete_observation(derived: dict[str, Any], stated: Document) -> Completed:
    """Complete an observation; the places that a time limit cut short here are taken from the bundle."""
    left = list[str]()
    if derived["reason"] == TIMEOUT:
        left = ["verdict", "reason", "refusal", "intervals", "offset_groups", "states", "unsaid"]
    elif derived["unsaid"] == TIMEOUT:
        left = ["unsaid", "intervals"]
    taken = {name: stated[name] for name in left}
    if not is_plain(taken):
        raise InputError(f"{RESULT} is refused: it states no observation")
    return derived | taken, [f"{', '.join(left)}: as stated, cut short here ({TIMEOUT}); {AGAIN}"] if left else []


def _result(files: Contents) -> dict[str, Any]:
    found = parse_json(files[RESULT].decode("utf-8", "replace"), RESULT) if RESULT in files else None
    if not isinstance(found, dict):
        raise InputError(f"the bundle is refused: it has no {RESULT}")
    return found


def _complete_cells(derived: dict[str, Any], stated: Document, files: Contents, own: Derived) -> Completed:
    derived_cells, stated_cells = derived.get("cells", [derived]), stated.get("cells", [stated])
    if [each["id"] for each in derived_cells] != [each["id"] for each in stated_cells]:
        return derived, []  # the comparison says where
    results = own.answer.configurations
    completed = [_complete_cell(*each, derived, files, own) for each in zip(derived_cells, stated_cells, results, strict=True)]
    cells, lines = [cell for cell, _ in completed], [line for _, lines in completed for line in lines]
    if "cells" not in derived:
        return cells[0], lines
    reason = next((each["reason"] for each in cells if each.get("reason")), None)
    return derived | {"verdict": str(worst((each["verdict"] for each in cells), reason)), "cells": cells}, lines


def _complete_cell(
    derived: dict[str, Any], stated: Document, result: Result, whole: Document, files: Contents, own: Derived
) -> Completed:
    reason = derived.get("reason", whole.get("reason"))
    left_out = [each["says"] for each in derived.get("notices", ()) if each["kind"] == NoticeKind.LEFT_OUT]
    is_left_out = any(str(reason).startswith(says) for says in left_out)  # the question says so itself: nothing was cut short
    is_open = not is_left_out and _is_cut(reason, own)
    derived, lines = _complete_remedy(derived, stated, result.chosen, is_open)
    if not is_open and not is_any_witness_accepted(own):
        _require_decided(derived, stated)
        return derived, lines
    properties = _complete_properties(derived, stated, whole, is_open, files, own)
    if not is_open:
        _require_decided(derived, stated)
        return derived | {"properties": properties}, lines
    name, reason = derived["id"], stated.get("reason")
    taken = {field: stated[field] for field in OF_A_SEARCH if field in stated}
    if not is_plain(taken) or not (reason is None or isinstance(reason, str)):
        raise InputError(f"{RESULT} is refused: {name} states no counts of a search")
    for field, levels in derived.get("levels", {}).items():
        if any(one != other for one, other in zip(levels, stated["levels"][field], strict=False)):
            raise InputError(f"{RESULT} is refused: {name} has other levels than those that were derived")
    if "proofs" in derived:
        pairs = zip(derived["proofs"], stated["proofs"], strict=True)
        taken["proofs"] = [one | {field: other[field] for field in OF_A_PROOF} for one, other in pairs]
    taken["verdict"] = str(worst((each["verdict"] for each in properties), reason))
    places = ", ".join(field for field in (*OF_A_SEARCH, "properties") if field in stated)
    why = f"stated to have been cut short ({reason!r:.80})" if reason else f"stated {taken['verdict']}"
    return derived | taken | {"properties": properties}, [*lines, f"{name}: {places}: {why}; {AGAIN}"]


def _complete_properties(
    derived: Document, stated: Document, whole: Document, is_open: bool, files: Contents, own: Derived
) -> list[dict[str, Any]]:
    """Return the verdicts of a cell: the stated ones if its search was cut short here (`is_open`) or where the derived one is
    violated, else the derived ones.  Errors: `InputError` where the two contradict each other."""
    about, entries = {"model": whole.get("model"), **derived}, []
    for one, other in zip(derived["properties"], stated["properties"], strict=True):
        _require_agreement(derived["id"], one, other)
        is_stated = is_open or one["verdict"] == "violated"
        entries.append(_property_entry(about, one["name"], other, files, own) if is_stated else one)
    return entries


def _require_decided(cell: Document, stated: Document) -> None:
    """Raise `InputError` for a bundle that leaves open what was decided here."""
    if stated.get("reason") is not None and cell.get("reason") is None:
        found = ", ".join(f"{each['name']} {each['verdict']}" for each in cell["properties"])
        raise _left_open(cell["id"], f"{stated['reason']!r:.60}", found)


def _left_open(what: str, why: str, found: str) -> InputError:
    return InputError(f"{RESULT} is refused: it leaves {what} undecided ({why}), which is decided here: {found}; make it again")


def _complete_remedy(cell: dict[str, Any], stated: Document, chosen: Chosen | None, is_open: bool) -> Completed:
    """Return the derived cell, of configuration `chosen`, with the stated remedy where a search for one, or for the violation
    that it mends, was cut short here.  Errors: `InputError` if the bundle leaves changes open that were decided here."""
    mine, theirs = cell.get("remedy"), stated.get("remedy")
    if chosen is None or mine == theirs or not isinstance(theirs, dict):
        return cell, []
    if not is_open and isinstance(mine, dict) and theirs["undecided"] and not mine["undecided"]:
        raise _left_open(f"changes of {cell['id']}", f"{theirs['undecided']!r:.20} of them", mine["says"])
    if not is_open and not (isinstance(mine, dict) and mine["undecided"]):
        return cell, []
    _require_commands([chosen], theirs)
    return cell | {"remedy": theirs}, [f"{cell['id']}: remedy: some changes were not decided here; {AGAIN}"]


def _require_commands(every: Sequence[Chosen], stated: Document) -> None:
    """Raise `InputError` for a change that is none of those that are tried, and for commands that do not make it."""
    changes = stated["changes"]
    known = [each for each in every if not changes or changes in remedies.candidates(each, remedies.OF_PROPERTIES)]
    if not any(stated["commands"] == [one.document() for one in remedies.commands(each, changes)] for each in known):
        raise InputError(f"{RESULT} is refused: its commands are not those that make the change that it advises")


def _is_cut(reason: Any, own: Derived) -> bool:
    """Return True if a limit ended a search; a bounded search that reached the requested depth was not cut short."""
    if own.question.command != "prove" or not isinstance(reason, str):
        return reason is not None
    return any(each in reason for each in (TIMEOUT, INTERRUPTED, OUT_OF_MEMORY, "killed"))


def _require_agreement(where: str, derived: Document, stated: Document) -> None:
    one, other = derived["verdict"], stated["verdict"]
    if derived["name"] != stated["name"] or (one != other and "inconclusive" not in (one, other)):
        raise InputError(
            f"{RESULT} is refused: {where} states that {stated['name']} is {other}; derived, {derived['name']} is {one}"
        )
    if one == other == "violated" and derived["steps"] != stated["steps"]:
        raise InputError(f"{RESULT} is refused: {where} states {stated['steps']} steps; the shortest has {derived['steps']}")


def _property_entry(about: Document, name: str, stated: Document, files: Contents, own: Derived) -> dict[str, Any]:
    """Return a property's verdict as stated; for a violation the entry is built from the re-executed counterexample."""
    verdict = Verdict(stated["verdict"])
    if verdict is not Verdict.VIOLATED:
        return {"name": name, "verdict": str(verdict)}
    known = read_witness(files, str(stated["trace"]), about, name, own)
    finding = Finding(known.broken, 0, verdict, known.trace)
    outcome = Outcome(known.system, (finding,), Counts(), 0.0)
    found: dict[str, Any] = describe.document(outcome)["properties"][0]
    return found | {"trace": stated["trace"]}


def is_any_witness_accepted(own: Derived) -> bool:
    """Return True if any counterexample of the right length is accepted, since a solver chooses which one it finds."""
    return own.question.command == "prove"


def read_witness(files: Contents, name: str, about: Document, broken: str, own: Derived) -> Counterexample:
    """Return a counterexample of the bundle, re-executed, and write its file into the derived folder.  Errors: `InputError` for
    one of another question, or not written as neverlost writes it."""
    if name not in files or not name.endswith(SUFFIX):
        raise InputError(f"{RESULT} is refused: {about['id']} is said to violate {broken}, but there is no {name}")
    (own.folder / name).parent.mkdir(parents=True, exist_ok=True)
    (own.folder / name).write_bytes(files[name])
    found, chosen = Counterexample.read(own.folder / name), chosen_of(about)
    brokers = {each: tuple(ids) for each, ids in about.get("brokers", {}).items()}
    if (found.system.model.name, found.system.configurations[0]) != (chosen.model.name, chosen.configuration):
        raise InputError(f"{name} is not a counterexample of {about['id']}")
    without = sorted(f"{action}: {clause}" for action, clause in found.system.disabled)
    if found.broken.name != broken or without != sorted(own.question.arguments.get("without", [])):
        raise InputError(f"{name} is not a counterexample to {broken} for {about['id']}")
    again = replace(found, brokers=brokers)
    if as_json(again.itf).encode() != files[name]:
        raise InputError(f"{name} is refused: it is not written as neverlost writes it")
    return again


def _complete_sweep(
    derived: dict[str, Any], stated: Document, files: Contents, own: Derived, seed: int | None, seconds: float
) -> Completed:
    """Complete a sweep in which some cells were not decided again; whatever follows from all cells is computed from the
    completed cells."""
    cells, sweep = stated["cells"], own.answer.swept
    if [each["id"] for each in cells] != [each["id"] for each in derived["cells"]]:
        return derived, []  # the comparison says where
    is_open = [any(each.verdict is Verdict.INCONCLUSIVE for each in decisions) for decisions in sweep.decisions]
    open_cells = [number for number in range(len(cells)) if is_open[number]]
    if not open_cells:
        return derived, []
    completed = _merge_decisions(sweep, cells, open_cells, files, own)
    confirmed = set(_sample_cells(completed, open_cells, derived["symmetry"], seed, seconds))
    traces = {
        (number, each["name"]): each["trace"]
        for number, cell in enumerate(cells)
        for each in cell["properties"]
        if "trace" in each
    }
    document = describe_sweep.document(own.answer.spanned, completed, derived["engine"], derived["symmetry"], traces)
    if not is_measurement(stated["searches"]):
        raise InputError(f"{RESULT} is refused: searches are no counts of searches")
    document["searches"] = stated["searches"]
    if own.answer.expected is not None:
        document["changes"] = describe_sweep.changes(own.answer.expected, document)
    document |= own.question.answered
    unconfirmed = [number for number in open_cells if number not in confirmed]
    lines = [f"{cells[number]['id']}: {_as_stated(completed, number)}; {AGAIN}" for number in unconfirmed]
    return document, [*lines, f"searches: which there were, and their counts, are as stated; {AGAIN}"]


def _as_stated(sweep: Sweep, number: int) -> str:
    decisions = [f"{each.property.name} {each.verdict}" for each in sweep.decisions[number]]
    return f"{', '.join(decisions)}, how they were decided and the number of states are as stated"


def _merge_decisions(
    sweep: Sweep, cells: Sequence[Document], open_cells: Sequence[int], files: Contents, own: Derived
) -> Sweep:
    """Return the sweep with the stated decisions in the open cells.  Errors: `InputError` for ones that contradict it."""
    numbers = {each["id"]: number for number, each in enumerate(cells)}
    decisions, distinct = list(sweep.decisions), list(sweep.distinct)
    for number in open_cells:
        cell = cells[number]
        found = []
        for one, other in zip(sweep.decisions[number], cell["properties"], strict=True):
            _require_agreement(cell["id"], _about(one), other)
            found.append(_decision(one, other, cell, numbers, files, own))
        decisions[number] = tuple(found)
        count = (cell.get("states") or {}).get("distinct")
        if count is not None and (type(count) is not int or count < 0):
            raise InputError(f"{RESULT} is refused: {cell['id']} has {count!r} states")
        distinct[number] = count
    return replace(sweep, decisions=tuple(decisions), distinct=tuple(distinct))


def _decision(
    one: Decision, stated: Document, cell: Document, numbers: Mapping[str, int], files: Contents, own: Derived
) -> Decision:
    verdict, how = Verdict(stated["verdict"]), stated["how"]
    if how not in (EXPLORED, SAME, REPLAYED):
        raise InputError(f"{RESULT} is refused: {cell['id']} was decided by {how!r}, which is no way")
    trace: Behaviour | None = None
    if verdict is Verdict.VIOLATED:
        trace = read_witness(files, str(stated["trace"]), cell, one.property.name, own).trace
    source = numbers[stated["from"]] if "from" in stated else None
    return Decision(one.property, verdict, how, trace, source)


def _sample_cells(sweep: Sweep, open_cells: Sequence[int], symmetry: bool, seed: int | None, seconds: float) -> Iterator[int]:
    """Search open cells by themselves, as many as there is time for, in an order that the bundle cannot predict; yield
    those that were confirmed.  Errors: `InputError` for a cell with another answer than is stated."""
    drawn = random.Random(seed) if seed is not None else random.SystemRandom()
    started = time.monotonic()
    for number in drawn.sample(list(open_cells), len(open_cells)):
        left = seconds - (time.monotonic() - started)
        if left <= 0:
            return
        decisions = sweep.decisions[number]
        if all(each.verdict is not Verdict.INCONCLUSIVE for each in decisions) and _is_confirmed(sweep, number, symmetry, left):
            yield number


def _is_confirmed(sweep: Sweep, number: int, symmetry: bool, seconds: float) -> bool:
    """Search a cell by itself; return True if it has the stated verdicts and states, False if the time did not suffice.
    Errors: `InputError` for another verdict, number of steps or number of states."""
    decisions, system = sweep.decisions[number], sweep.systems[number]
    options = Options(limits=SearchLimits(seconds), symmetry=symmetry, every_configuration=True)
    outcome = explore(system, [each.property for each in decisions], options)
    if outcome.reason is not None:
        return False
    for one, other in zip(outcome.findings, decisions, strict=True):
        _require_agreement(f"cell {number + 1}", _about(one), _about(other))
    known = sweep.distinct[number]
    if known is not None and known != outcome.counts.distinct:
        raise InputError(f"{RESULT} is refused: cell {number + 1} states {known} states; there are {outcome.counts.distinct}")
    return True


def _about(found: Finding | Decision) -> Document:
    steps = {} if found.trace is None else {"steps": len(found.trace.steps)}
    return {"name": found.property.name, "verdict": str(found.verdict), **steps}
