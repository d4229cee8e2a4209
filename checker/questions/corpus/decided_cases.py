"""Cases of the corpus, decided: what `scenarios` and `claims` share."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from neverlost.checker.engine.host.processes import INTERRUPTED
from neverlost.checker.engine.outcome import Verdict
from neverlost.checker.questions.coverage import list_never_struck, list_single
from neverlost.checker.questions.search_questions import ExecutionTarget, SearchAnswer, SearchQuestion, answers
from neverlost.model.kernel import Value
from neverlost.model.system import bind
from neverlost.specs.cases.case import Case
from neverlost.specs.configuration import choose as configuration
from neverlost.specs.properties import properties, require_fields
from neverlost.specs.property import SAFETY, Property

MEMORY = ExecutionTarget()


@dataclass(frozen=True)
class CaseResult:
    """A case of the corpus with its outcome."""

    name: str
    case: Case
    question: SearchQuestion
    answer: SearchAnswer

    @property
    def is_decided(self) -> bool:
        return self.answer.verdict is not Verdict.INCONCLUSIVE

    @property
    def is_expected(self) -> bool:
        """True if the verdict is the expected one, and the counterexample has the expected length where one is given."""
        same = str(self.answer.verdict) == self.case.expected
        return same and (self.case.steps is None or self.answer.steps == self.case.steps)

    @property
    def never_happened(self) -> list[str]:
        """Why `holds` says little: faults never struck, just one of what is compared, a premise never true; empty if it does
        not."""
        if self.answer.verdict is not Verdict.HOLDS:
            return []
        system = self.question.system
        fired = {each.name for each in system.model.actions} - {*self.answer.unfired}
        never = [
            f"no {each}" for each in (*list_never_struck(system, fired), *list_single(system, self.question.properties[0]))
        ]
        if self.answer.is_premise_true:
            return never
        return [*never, next(says for name, (says, _) in PREMISES.items() if name in self.question.properties[0].needs)]

    @property
    def faults(self) -> dict[str, int]:
        return self.answer.trace.faults(self.question.system) if self.answer.trace is not None else {}


def _never(name: str) -> Property:
    """Return the property that a field of this name is never set: where it holds, a guarantee about that field says nothing."""

    def is_unset(k: Any, s: Any) -> Value:
        found = getattr(s, name)
        places = found if hasattr(found, "__len__") else [found]
        return k.not_(k.any_of(*[each > 0 if name in COUNTED else each for each in places]))

    return Property(f"no-{name.removeprefix('ghost_').replace('_', '-')}", "nothing of the kind happens", is_unset, (name,), "")


COUNTED = ("ghost_committed", "ghost_processed")
PREMISES = {
    "ghost_acked": ("nothing was acknowledged", _never("ghost_acked")),
    "ghost_committed": ("nothing was committed", _never("ghost_committed")),
    "ghost_processed": ("nothing was processed", _never("ghost_processed")),
}
"""For what a property speaks about, by the field that it reads: that it never comes about, in words and as a property."""


def question_of(case: Case) -> SearchQuestion:
    """Return the question that a case asks.  Errors: `InputError` for keys and values that its model does not have."""
    chosen = configuration.choose({key: (value, case.where) for key, value in case.keys.items()})
    system = bind(chosen.model, chosen.configuration, disabled=case.disabled)
    asked = properties()[case.property]
    require_fields(system, (asked,))
    never = next((each for name, (_, each) in PREMISES.items() if name in asked.needs), None)
    is_probed = case.expected == "holds" and asked.kind == SAFETY and never is not None
    return SearchQuestion(system, (asked,), probe=never if is_probed else None)


def judge(
    cases: Mapping[str, Case],
    workers: int | None = None,
    seconds: float | None = None,
    notify: Callable[[str], None] = lambda name: None,
    means: ExecutionTarget = MEMORY,
) -> dict[str, CaseResult]:
    """Return every case with its answer; equal questions are asked once.  `notify` gets the name of each as it is decided.
    Ctrl-C keeps what was decided; the others are inconclusive, and say why."""
    questions = {name: replace(question_of(case), means=means) for name, case in cases.items()}
    groups: dict[tuple[Any, ...], list[str]] = {}
    for name, question in questions.items():
        groups.setdefault(_key(question), []).append(name)
    order = list(groups.values())
    found: dict[str, CaseResult] = {}

    def decided(number: int, answer: SearchAnswer) -> None:
        for name in order[number]:
            found[name] = CaseResult(name, cases[name], questions[name], answer)
            notify(name)

    with contextlib.suppress(KeyboardInterrupt):
        answers([questions[names[0]] for names in order], workers, seconds, None, decided)
    interrupted = SearchAnswer(Verdict.INCONCLUSIVE, problem=INTERRUPTED)
    return {name: found.get(name) or CaseResult(name, each, questions[name], interrupted) for name, each in cases.items()}


def _key(question: SearchQuestion) -> tuple[Any, ...]:
    system = question.system
    asked = tuple(each.name for each in question.properties)
    config = tuple(sorted(system.configurations[0].items()))
    return (system.model.name, config, tuple(sorted(system.disabled)), asked, question.probe)
