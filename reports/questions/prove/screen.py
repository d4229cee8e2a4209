"""Proofs at a terminal: the verdict, the times, the lemmas, and what stays open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rich.text import Text

from neverlost.checker.engine.evidence.ledger import describe_bounds
from neverlost.checker.engine.outcome import Behaviour, Outcome
from neverlost.checker.engine.proof.bounded_search import BoundedResult
from neverlost.checker.engine.proof.induction import KINDS, ObligationAnswer, Proof
from neverlost.checker.questions.coverage import cover_proof
from neverlost.reports.counterexample.timeline import Timeline, timeline
from neverlost.reports.questions.prove.document import say_hint
from neverlost.reports.terminal import results as terminal
from neverlost.reports.terminal.counterexample import show_timeline
from neverlost.specs.configuration.keys import is_without_faults


def show_bounded(bounded: BoundedResult) -> None:
    """Print the result of a bounded search."""
    out, outcome = terminal.console(), bounded.outcome
    terminal.show_outcome(out, outcome)
    _show_shortest(outcome)
    covered = f"all behaviours of up to {bounded.depth} steps" if bounded.depth >= 0 else "nothing is covered"
    text = f"{bounded.solver}, seed {bounded.seed}: {covered}, {outcome.seconds:.1f} s"
    out.print(Text(text, style="dim"))
    if outcome.reason:
        out.print(Text(f"inconclusive beyond: {outcome.reason}", style="bold yellow"))


def _show_shortest(outcome: Outcome) -> None:
    found = [(each.property, each.trace) for each in outcome.findings if each.trace is not None]
    if found and outcome.system.model.portrait is not None:
        broken, trace = min(found, key=lambda each: len(each[1].steps))
        show_timeline(terminal.console(), timeline(outcome.system, broken, trace))


def show_proofs(proofs: Sequence[Proof]) -> None:
    """Print proofs: the verdict, the times, the lemmas, and what stays open."""
    out = terminal.console()
    for proof in proofs:
        terminal.show_outcome(out, proof.outcome)
        terminal.show_coverage(out, cover_proof(proof), proof.system)
        times = ", ".join(f"{kind} {proof.seconds_of(kind):.1f} s" for kind in KINDS)
        proved = sum(1 for each in proof.answers if each.answer == "proved")
        out.print(f"{proved} of {len(proof.answers)} obligations proved for {_scope(proof)}: {times}")
        for each in proof.lemmas:
            out.print(f"  {each.name}: {each.says}")
        is_calm = is_without_faults(proof.system.configurations[0])
        if not is_calm:
            _show_open(proof)
        _show_shortest(proof.outcome)
        out.print(Text(f"{proof.solver}, seed {proof.seed}, {proof.seconds:.1f} s", style="dim"))
        if proof.reason:
            more = "; ".join(filter(None, [proof.reason, say_hint(proof)]))
            out.print(Text(f"inconclusive: {more}{VISITED if is_calm else ''}", style="bold yellow"))


def _scope(proof: Proof) -> str:
    """Return what a proof is about, with every bound that it has."""
    configuration = proof.system.configurations[0]
    if proof.unbounded:
        replicas = "" if "replicas" in proof.unbounded else f" with {configuration['replication.factor']} replicas"
        return f"all states{replicas}{describe_bounds(proof.unbounded, configuration)}"
    bounds = [key for key in proof.system.model.keys if key == "replication.factor" or key.startswith("bounds.")]
    return f"all states with {', '.join(f'{key}={configuration[key]}' for key in bounds)}"


VISITED = "; where nothing may fail, neverlost check visits every state and decides it"

REACHED = {
    True: "its first state is reachable: the lemma is wrong",
    False: "its first state is unreachable: a lemma is missing",
    None: "whether its first state is reachable is not known",
}


def _show_open(proof: Proof) -> None:
    out = terminal.console()
    by_reason: dict[str, list[ObligationAnswer]] = {}
    for each in proof.open:
        if each.answer == "refuted":
            out.print(f"  refuted: {each.goal} after {each.task.label}")
        elif each.answer == "unknown":
            by_reason.setdefault(each.reason, []).append(each)
    for reason, unknown_ones in by_reason.items():
        first = unknown_ones[0]
        more = f" and {len(unknown_ones) - 1} more" if len(unknown_ones) > 1 else ""
        out.print(f"  unknown: {first.goal} after {first.task.label}{more}: {reason}")
    for looked in {each.answer.goal: each for each in reversed(proof.looked)}.values():
        out.print(Text(f"a counterexample to induction ({REACHED[looked.is_reachable]}):", style="bold"))
        found = _before_and_after(proof, looked.answer)
        if found is not None:
            show_timeline(out, found)


def _before_and_after(proof: Proof, answer: ObligationAnswer) -> Timeline | None:
    step = answer.task.step
    if answer.states is None or step is None or proof.system.model.portrait is None:
        return None
    drawn = timeline(proof.system, proof.goal, Behaviour(answer.states, (step,)))
    first = replace(drawn.frames[0], says="a state that keeps all lemmas")
    says = {each.name: each.says for each in proof.lemmas}
    title = f"breaks {answer.goal}, which says: {says.get(answer.goal, 'every value stays within what is declared')}"
    return replace(drawn, frames=(first, *drawn.frames[1:]), title=title, lost=frozenset())
