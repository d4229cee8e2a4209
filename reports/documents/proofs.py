"""What `prove` shows and writes: proofs with their obligations, bounded searches, unsafe configurations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from rich.text import Text

from neverlost.checker.campaign.necessity import clauses_of, without
from neverlost.checker.digest import model_digest
from neverlost.checker.evidence import ledger
from neverlost.checker.machine.processes import INTERRUPTED
from neverlost.checker.outcome import EngineError, Outcome, Trace, Verdict
from neverlost.checker.prove import smtlib as certificate
from neverlost.checker.prove.bounded_search import Bounded
from neverlost.checker.prove.induction import KINDS, Answer, Looked, Proof, prove, untried
from neverlost.model.kernel import Model, ModelError
from neverlost.model.system import System, bind
from neverlost.reports.counterexample.timeline import Timeline, timeline
from neverlost.reports.documents import result
from neverlost.reports.options import memory_size
from neverlost.reports.request import Request, save_counterexamples, with_traces
from neverlost.reports.terminal import results as terminal
from neverlost.specs.configuration.choose import Given, choose
from neverlost.specs.configuration.keys import KEYS, shown
from neverlost.specs.errors import InputError, unknown
from neverlost.specs.lemma import Lemma, lemmas_of
from neverlost.specs.property import Property

METHODS = ("bmc", "induction")
WIDE = 60.0
"""Seconds for mining in several configurations at once."""


def require_sense(method: str, depth: int, has_free: bool, unbounded: bool, mine: bool) -> None:
    """Errors: `InputError` for options that contradict each other."""
    if method not in METHODS:
        raise unknown("method", method, METHODS, "--method")
    if not 0 <= depth <= 1000:
        raise InputError(f"bad value '{depth}' for --depth: use a number of steps from 0 to 1000")
    if method == "induction" and has_free:
        raise InputError("--free needs --method bmc: a proof by induction speaks about one configuration")
    if unbounded and mine:
        raise InputError("--mine finds lemmas within the bounds; drop --unbounded")
    if method == "bmc" and (unbounded or mine):
        raise InputError(f"{'--unbounded' if unbounded else '--mine'} needs --method induction")


def free_cells(given: Given, free: Sequence[str]) -> tuple[System, list[str]]:
    """One system over every value of the free keys, and their names; without free keys, of the one configuration.

    Errors: `InputError` for a key that cannot be left free, or is also given.
    """
    chosen = choose(given)
    ranges = dict(_free_key(each, chosen.model, int(chosen.configuration["replication.factor"])) for each in free)
    for name in ranges:
        if name in given:
            raise InputError(f"{name} is free and has a value too, in {given[name][1]}; drop one of them")
    cells = [
        choose(given | {name: (value, "--free") for name, value in zip(ranges, values, strict=True)}).configuration
        for values in product(*ranges.values())
    ]
    system = bind(chosen.model, *cells)
    try:
        system.initial_states()
    except ModelError as problem:
        raise InputError(f"these keys cannot be left free together: {problem}") from None
    return system, list(ranges)


def weakened(system: System, clauses: Sequence[str]) -> System:
    """The system without some guard clauses, each written `action: clause`.

    Errors: `InputError` for a clause that the model does not have.
    """
    known = {f"{action}: {clause}": (action, clause) for action, clause in clauses_of(system)}
    for each in clauses:
        name = ": ".join(part.strip() for part in each.split(":", 1))
        if name not in known:
            raise unknown("guard clause", name, known, "--without")
        system = without(system, *known[name])
    return system


def _weaknesses(system: System) -> dict[str, list[str]]:
    """What a document says of a system that is not the protocol as it is."""
    return {"without": sorted(f"{action}: {clause}" for action, clause in system.disabled)} if system.disabled else {}


def _free_key(text: str, model: Model, replicas: int) -> tuple[str, list[Any]]:
    """A free key and its values: those that are listed, or all there are."""
    name, equals, listed = text.partition("=")
    if name not in model.keys:
        raise unknown("key", name, model.keys, "--free")
    if equals:
        return name, list(dict.fromkeys(listed.split(",")))
    key = KEYS.get(name)
    if key is None or key.kind == "flag":
        return name, ["true", "false"] if key is not None else ["on", "off"]
    if key.kind == "choice":
        return name, sorted(set((key.spellings or {}).values()))
    if name == "min.insync.replicas":
        return name, list(range(1, replicas + 1))
    raise InputError(f"{name} cannot be left free without its values: write --free {name}={key.low or 1},{(key.low or 1) + 1}")


def inductions(system: System, goals: Sequence[Property], unbounded: bool, mine: bool, request: Request) -> list[Proof]:
    """One proof per property; after an interrupt the rest is not begun."""
    found: list[Proof] = []
    for goal in goals:
        is_over = bool(found) and found[-1].is_interrupted
        found.append(untried(system, goal, INTERRUPTED) if is_over else induction(system, goal, unbounded, mine, request))
    return found


def induction(system: System, goal: Property, unbounded: bool, mine: bool, request: Request) -> Proof:
    """A proof with the model's own lemmas, or with mined ones."""
    lemmas, work = lemmas_of(system, goal.name), None
    if mine:
        lemmas, work = _mined(system, goal, 600.0 if request.time_limit is None else request.time_limit / 2)
    if not lemmas:
        alone = f"{goal.says} (by itself: no written lemmas cover this configuration)"
        lemmas = (Lemma("the-property", alone, "it is what is to be proved", lambda k, s: [goal.condition(k, s)]),)
    reading, names = None, ()
    if unbounded:
        from neverlost.checker.prove.unbounded import Open

        reading = Open(system, lemmas, goal)
        names = reading.unbounded
    proof = prove(
        system,
        goal,
        lemmas,
        seconds=request.time_limit,
        workers=request.workers or 2,
        with_texts=request.out is not None,
        given=reading,
        unbounded=names,
        memory_bytes=memory_size(request.memory_limit),
    )
    return proof if work is None else replace(proof, mined=work)


def _mined(system: System, goal: Property, seconds: float) -> tuple[tuple[Lemma, ...], str]:
    """Lemmas that are true in larger configurations too; where those do not suffice, lemmas of this one; and the work done."""
    from neverlost.checker.prove.mining import mined

    wide = mined(system, goal, seconds=min(WIDE, seconds / 2), also=_neighbours(system))
    if wide.is_inductive:
        return wide.lemmas, wide.says
    alone = mined(system, goal, seconds=seconds)
    return alone.lemmas, f"{wide.says}; then {alone.says}"


def _neighbours(system: System) -> list[System]:
    """The same configuration with each of its bounds one larger: what is mined must be true there too."""
    model, configuration = system.model, system.configurations[0]
    return [
        bind(model, {**configuration, key: configuration[key] + 1}, disabled=system.disabled)
        for key in model.keys
        if key.startswith("bounds.")
    ]


def bounded_document(bounded: Bounded, free: list[str]) -> dict[str, Any]:
    """The result document of a bounded search; with free keys, a cell for each of their values."""
    outcome = bounded.outcome
    proved = {"method": "bmc", "depth": bounded.depth, "solver": bounded.solver, "seed": bounded.seed}
    proved |= _weaknesses(outcome.system)
    if not free:
        return result.document(outcome) | proved
    cells = [result.cell(outcome, number) for number in range(len(outcome.system.configurations))]
    unsafe = [{name: each["config"][name] for name in free} for each in cells if each["verdict"] == Verdict.VIOLATED]
    return result.shared(outcome) | proved | {"verdict": str(outcome.verdict), "free": free, "unsafe": unsafe, "cells": cells}


def induction_document(proofs: Sequence[Proof]) -> dict[str, Any]:
    """The result document of proofs by induction of several properties."""
    first = proofs[0].outcome
    merged = Outcome(
        first.system,
        tuple(finding for each in proofs for finding in each.outcome.findings),
        first.counts,
        sum(each.seconds for each in proofs),
        "; ".join(dict.fromkeys(each.reason for each in proofs if each.reason)) or None,
        engine=first.engine,
    )
    return (
        result.document(merged)
        | _weaknesses(first.system)
        | {
            "method": "induction",
            "solver": proofs[0].solver,
            "seed": proofs[0].seed,
            "proofs": [_proof(each) for each in proofs],
        }
    )


def _proof(proof: Proof) -> dict[str, Any]:
    return {
        "property": proof.goal.name,
        "verdict": str(proof.verdict),
        "unbounded": list(proof.unbounded),
        "lemmas": [{"name": each.name, "says": each.says, "why": each.why} for each in proof.lemmas],
        "mined": proof.mined,
        "obligations": len(proof.answers),
        "open": [
            {"kind": each.task.kind, "step": each.task.label, "goal": each.goal, "answer": each.answer, "reason": each.reason}
            for each in proof.open
        ],
        "seconds": {kind: round(proof.seconds_of(kind), 3) for kind in KINDS},
        "counterexamples": [_looked(proof, each) for each in proof.looked],
    }


def _looked(proof: Proof, looked: Looked) -> dict[str, Any]:
    before, after = looked.answer.states or ((), ())
    return {
        "goal": looked.answer.goal,
        "step": looked.answer.task.label,
        "reachable": looked.is_reachable,
        "before": proof.system.nested(before),
        "after": proof.system.nested(after),
    }


def save(document: dict[str, Any], proofs: Sequence[Proof], bounded: Bounded | None, directory: str) -> dict[str, Any]:
    """Traces, certificates and the ledger; the document with the names of the traces."""
    folder = Path(directory)
    outcomes = [each.outcome for each in proofs] or ([bounded.outcome] if bounded is not None else [])
    saved: dict[str, str] = {}
    lines = []
    digest = model_digest(outcomes[0].system.model)
    for proof in proofs:
        if proof.is_complete:
            certificate.write(folder / "certificates" / proof.goal.name, proof.texts, proof.about)
        how = f"{proof.solver}, {len(proof.lemmas)} lemmas"
        lines += ledger.lines_of(proof.outcome, digest, how, unbounded=proof.unbounded, proved=True)
    if bounded is not None:
        lines += ledger.lines_of(bounded.outcome, digest, f"{bounded.solver}, bounded", depth=bounded.depth)
    if not outcomes[0].system.disabled:  # the ledger is about the protocol as it is
        ledger.record(folder, lines)
    if len(outcomes[0].system.configurations) > 1:
        cells = [
            with_traces(each, save_counterexamples(outcomes[0], directory, f"{number + 1:02}-", number))
            for number, each in enumerate(document["cells"])
        ]
        return document | {"cells": cells}
    for outcome in outcomes:
        saved |= save_counterexamples(outcome, directory)
    return with_traces(document, saved)


def show_bounded(bounded: Bounded, free: list[str]) -> None:
    """A bounded search for people."""
    out, outcome = terminal.console(), bounded.outcome
    if free:
        _show_unsafe(bounded, free)
    else:
        terminal.show_outcome(out, outcome)
        _show_shortest(outcome)
    covered = f"all behaviours of up to {bounded.depth} steps" if bounded.depth >= 0 else "nothing is covered"
    text = f"{bounded.solver}, seed {bounded.seed}: {covered}, {outcome.seconds:.1f} s"
    out.print(Text(text, style="dim"))
    if outcome.reason:
        out.print(Text(f"inconclusive beyond: {outcome.reason}", style="bold yellow"))


def _show_unsafe(bounded: Bounded, free: list[str]) -> None:
    out, outcome = terminal.console(), bounded.outcome
    total = len(outcome.system.configurations)
    for name in dict.fromkeys(each.property.name for each in outcome.findings):
        unsafe = [each for each in outcome.findings if each.property.name == name and each.trace is not None]
        out.print(Text(f"{name}: {len(unsafe)} of {total} configurations are unsafe", style="bold"))
        for each in sorted(unsafe, key=lambda each: len(each.trace.steps) if each.trace else 0):
            configuration = outcome.system.configurations[each.configuration]
            values = " ".join(f"{key}={str(shown(configuration[key])).lower()}" for key in free)
            out.print(f"  {values} ({len(each.trace.steps) if each.trace else 0} steps)")
        if bounded.depth >= 0:
            out.print(f"the other {total - len(unsafe)} have no counterexample of up to {bounded.depth} steps")


def _show_shortest(outcome: Outcome) -> None:
    found = [each for each in outcome.findings if each.trace is not None]
    if not found or outcome.system.model.portrait is None:
        return
    shortest = min(found, key=lambda each: len(each.trace.steps) if each.trace else 0)
    if shortest.trace is None:
        raise EngineError("a counterexample without a trace")
    terminal.show_timeline(terminal.console(), timeline(outcome.system, shortest.property, shortest.trace))


def show_proofs(proofs: Sequence[Proof]) -> None:
    """Proofs for people: the verdict, the times, the lemmas, and what stays open."""
    out = terminal.console()
    for proof in proofs:
        terminal.show_outcome(out, proof.outcome)
        beyond = f"any number of {' and '.join(proof.unbounded)}" if proof.unbounded else "all states within the bounds"
        times = ", ".join(f"{kind} {proof.seconds_of(kind):.1f} s" for kind in KINDS)
        proved = sum(1 for each in proof.answers if each.answer == "proved")
        out.print(f"{proved} of {len(proof.answers)} obligations proved for {beyond}: {times}")
        if proof.mined is not None:
            out.print(proof.mined)
        for each in proof.lemmas:
            out.print(f"  {each.name}: {each.says}")
        _show_open(proof)
        _show_shortest(proof.outcome)
        out.print(Text(f"{proof.solver}, seed {proof.seed}, {proof.seconds:.1f} s", style="dim"))
        if proof.reason:
            out.print(Text(f"inconclusive: {proof.reason}", style="bold yellow"))


REACHED = {
    True: "its first state is reachable: the lemma is wrong",
    False: "its first state is unreachable: a lemma is missing",
    None: "whether its first state is reachable is not known",
}


def _show_open(proof: Proof) -> None:
    out = terminal.console()
    for each in proof.open:
        if each.answer == "refuted":
            out.print(f"  refuted: {each.goal} after {each.task.label}")
    for reason, unknown_ones in _by_reason(proof).items():
        first = unknown_ones[0]
        more = f" and {len(unknown_ones) - 1} more" if len(unknown_ones) > 1 else ""
        out.print(f"  unknown: {first.goal} after {first.task.label}{more}: {reason}")
    for looked in {each.answer.goal: each for each in reversed(proof.looked)}.values():
        out.print(Text(f"a counterexample to induction ({REACHED[looked.is_reachable]}):", style="bold"))
        found = _before_and_after(proof, looked.answer)
        if found is not None:
            terminal.show_timeline(out, found)


def _by_reason(proof: Proof) -> dict[str, list[Answer]]:
    found: dict[str, list[Answer]] = {}
    for each in proof.open:
        if each.answer == "unknown":
            found.setdefault(each.reason, []).append(each)
    return found


def _before_and_after(proof: Proof, answer: Answer) -> Timeline | None:
    """The two states of a counterexample to induction, with the action between."""
    step = answer.task.step
    if answer.states is None or step is None or proof.system.model.portrait is None:
        return None
    drawn = timeline(proof.system, proof.goal, Trace(answer.states, (step,)))
    first = replace(drawn.frames[0], says="a state that keeps all lemmas")
    says = {each.name: each.says for each in proof.lemmas}
    title = f"breaks {answer.goal}: not always: {says.get(answer.goal, 'every value stays within what is declared')}"
    return replace(drawn, frames=(first, *drawn.frames[1:]), title=title, lost=frozenset())
