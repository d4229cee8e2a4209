"""`plan` decides what an operator's maintenance plan loses or stops, step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any, Unpack

import neverlost
from neverlost.checker.engine.outcome import Outcome, Verdict
from neverlost.checker.engine.search.options import Reporter
from neverlost.checker.questions.roll import plan_phases
from neverlost.checker.questions.roll.controller_steps import LOST_METADATA, ControllerStep, decide_controller_step
from neverlost.checker.questions.roll.maintenance_plan import MaintenancePlan, read_plan
from neverlost.checker.questions.roll.plan_phases import Phase, PhaseTrace, Said
from neverlost.checker.questions.tolerance.cell_words import ASKED, LOST, OK, STOPS, UNDECIDED, answer_text, combine
from neverlost.checker.questions.tolerance.tolerance import SEARCH, CellVerdict
from neverlost.model.sentences import sentences
from neverlost.reports.bundle.keep import writes_bundle
from neverlost.reports.counterexample.timeline import Timeline, timeline
from neverlost.reports.questions.tolerance import document as tolerance_document
from neverlost.reports.request.keywords import Searching, Settings
from neverlost.reports.request.run_options import RunOptions
from neverlost.reports.results.results import Answer
from neverlost.specs.properties import properties
from neverlost.specs.property import SAFETY

BEFORE = "before"
"""What the phase before the first step is called."""


@dataclass(frozen=True, repr=False)
class PlanResult(Answer):
    """The verdict of each phase of a plan; `found` has the phases with their counterexamples, `quorum` the searches of steps
    that change the controllers."""

    verdict: str
    phases: Sequence[Mapping[str, Any]] = field(repr=False)
    found: tuple[Phase, ...] = field(repr=False)
    quorum: tuple[Outcome, ...] = field(default=(), repr=False)

    def rows(self) -> Sequence[Mapping[str, Any]]:
        return self.phases

    def first_loss(self) -> Timeline | None:
        """Return the counterexample of the first loss, through all phases up to it, of which each after the first begins with a
        frame that names it; that of a controllers' step if no other loses; None without a loss."""
        said = (each for phase in self.found for each in phase.said)
        loss = next((each for each in said if each.asked.kind == SAFETY and each.parts), None)
        if loss is None:
            every = (
                timeline(one.system, each.property, each.trace) for one in self.quorum for each in one.findings if each.trace
            )
            return next(every, None)
        shown = [timeline(each.system, loss.asked, each.trace, breaks=each is loss.parts[-1]) for each in loss.parts]
        frames = list(shown[0].frames)
        for part, one in zip(loss.parts[1:], shown[1:], strict=True):
            first, *others = one.frames
            frames += [replace(first, says=f"STEP {part.phase}: {title(self.found[part.phase])}"), *others]
        return replace(shown[-1], frames=tuple(replace(each, number=number) for number, each in enumerate(frames)))


@writes_bundle
def plan(
    file: str | PathLike[str],
    settings: Settings = None,
    *,
    out: str | PathLike[str] | None = None,
    progress: Reporter | None = None,
    **search: Unpack[Searching],
) -> PlanResult:
    """Decide what can be lost, or stop, while the maintenance plan in `file` is carried out and after each of its steps.  Each
    step begins in every state that the one before can be in once it was taken, and whatever faults the plan allows go on
    meanwhile. `settings` win over what the file says where the plan begins. With `out` an evidence bundle is written there.
    Errors: `InputError` for a file that is no plan, and for a step that cannot be decided."""
    asked, options = read_plan(file, settings), RunOptions(**search).options()
    found = plan_phases.decided(asked, [properties()[name] for name in ASKED], options, progress)
    quorum = tuple(decide_controller_step(each, options, progress) for each in asked.of_controllers)
    return PlanResult.of(_document(asked, found, quorum), found=tuple(found), quorum=quorum)


def _document(asked: MaintenancePlan, found: Sequence[Phase], quorum: Sequence[Outcome]) -> dict[str, Any]:
    configuration = asked.first.configuration
    phases = [_phase(each, found) for each in found]
    phases += [
        {"number": step.number, "says": step.says, "changes": dict(step.changes), "meanwhile": UNDECIDED}
        for step in asked.steps[len(found) - 1 :]
    ]
    phases += [_controller_phase(*each) for each in zip(asked.of_controllers, quorum, strict=True)]
    phases.sort(key=lambda each: int(each["number"]))
    says = {each[name] for each in phases for name in ("meanwhile", "done") if each.get(name)}
    return {
        "schema": "neverlost.plan/1",
        "version": neverlost.__version__,
        "verdict": str(_verdict(says)),
        "says": asked.says,
        "begins": tolerance_document.heading(configuration, asked.first.release, ()),
        "faults": tolerance_document.fault_limits({**configuration, "faults.min_isr_change": 0}),
        "records": configuration["bounds.records"],
        "phases": phases,
    }


def _verdict(says: set[str]) -> Verdict:
    if any(each.startswith((LOST, STOPS)) for each in says):
        return Verdict.VIOLATED
    return Verdict.INCONCLUSIVE if UNDECIDED in says else Verdict.HOLDS


def _controller_phase(step: ControllerStep, outcome: Outcome) -> dict[str, Any]:
    """Return the phase of a plan in which the controllers change: can committed metadata be lost, and records with it?"""
    (found,) = outcome.findings
    steps = None if found.trace is None else len(found.trace.steps)
    word = {Verdict.HOLDS: OK, Verdict.VIOLATED: LOST}.get(found.verdict, UNDECIDED)
    says = () if found.trace is None else sentences(outcome.system, found.trace.states, found.trace.steps)[1:]
    return {
        "number": step.number,
        "says": step.says,
        "changes": dict(step.changes),
        "assumed": [step.assumed, *([LOST_METADATA] if says else [])],
        "states": outcome.counts.distinct,
        "meanwhile": answer_text(word, steps),
        "done": None,
        "verdicts": [{"property": found.property.name, "when": "meanwhile", "verdict": str(found.verdict), "steps": steps}],
        "counterexample": [{"phase": step.says, "steps": list(says)}] if says else [],
    }


def _phase(phase: Phase, every: Sequence[Phase]) -> dict[str, Any]:
    step = phase.step
    meanwhile, done = ([each for each in phase.said if each.is_done is is_done] for is_done in (False, True))
    worst = next(iter(sorted((each for each in phase.said if each.parts), key=_order)), None)
    return {
        "number": 0 if step is None else step.number,
        "says": BEFORE if step is None else step.says,
        "changes": {} if step is None else dict(step.changes),
        "assumed": [] if step is None else list(step.assumed),
        "states": phase.outcome.counts.distinct,
        "meanwhile": _in_words(meanwhile),
        "done": _in_words(done) if done else None,
        "verdicts": [
            {"property": each.asked.name, "when": "done" if each.is_done else "meanwhile", "verdict": str(each.verdict)}
            | {"steps": each.steps}
            for each in phase.said
        ],
        "counterexample": [] if worst is None else [_part(part, every) for part in worst.parts],
    }


def _order(said: Said) -> tuple[bool, int]:
    return said.asked.kind != SAFETY, said.steps or 0


def _in_words(said: Sequence[Said]) -> str:
    return answer_text(*combine([CellVerdict(each.asked, each.verdict, each.steps, SEARCH) for each in said]))


def _part(part: PhaseTrace, every: Sequence[Phase]) -> dict[str, Any]:
    says = sentences(part.system, part.trace.states, part.trace.steps)
    return {"phase": title(every[part.phase]), "steps": list(says[1:])}


def title(phase: Phase) -> str:
    return BEFORE if phase.step is None else phase.step.says


__all__ = ["PlanResult", "plan"]
