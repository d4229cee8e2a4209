"""How the questions of a unit are decided: by a search, by induction, or by a search that only looks for losses.

Each way gives a finding for every configuration and property, or nothing where memory, disk or patience ended it: then the
unit is asked again by the next build.  What an answer is does not depend on how fast the machine is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.outcome import Finding, Verdict, find_same_steps, follow_steps, replay
from neverlost.checker.engine.proof.induction import ObligationAnswer, discharge
from neverlost.checker.engine.proof.obligations import SAFETY, BoundedEncoding, ProofTask
from neverlost.checker.engine.search.options import Options, SearchLimits
from neverlost.model.kernel import Configuration, Model
from neverlost.model.system import System, bind
from neverlost.specs.lemma import Lemma
from neverlost.specs.lemmas import find_lemmas
from neverlost.specs.property import Property

Found = list[Finding] | None

PATIENCE = 600.0
"""How long a solver may go on about one step.  Units: seconds."""


def by_search(model: Model, configurations: Sequence[Configuration], asked: Sequence[Property], most_states: int) -> Found:
    """Decide by a complete search; a search that needs more than `most_states` (0: no limit) is inconclusive."""
    limits = SearchLimits(states=most_states or None)
    options = Options(limits, workers=1, symmetry=True, every_configuration=True)
    outcome = explore(bind(model, *configurations), asked, options)
    return list(outcome.findings) if outcome.reason in (None, limits.too_many_states) else None


def by_induction(model: Model, configurations: Sequence[Configuration], asked: Sequence[Property]) -> Found:
    """Decide by the lemmas that were written for these configurations; all else is inconclusive."""
    system = bind(model, *configurations)
    lemmas = find_lemmas(system)
    nothing = Property("nothing", "", lambda k, s: True, (), "")
    steps = _answers(
        system, lemmas, nothing, [each for each in BoundedEncoding(system, lemmas, nothing).tasks() if each.kind != SAFETY]
    )
    found, answers = [], steps
    for number, configuration in enumerate(configurations):
        for each in asked:
            implied = _answers(bind(model, configuration), lemmas, each, [ProofTask(SAFETY, label=each.name)])
            is_proved = all(one.answer == "proved" for one in (*steps, *implied))
            found.append(Finding(each, number, Verdict.HOLDS if is_proved else Verdict.INCONCLUSIVE))
            answers = answers + implied
    return None if any(each.answer == "unknown" for each in answers) else found


def _answers(system: System, lemmas: Sequence[Lemma], goal: Property, tasks: Sequence[ProofTask]) -> list[ObligationAnswer]:
    reading, found = BoundedEncoding(system, lemmas, goal), list[ObligationAnswer]()
    for task in tasks:
        discharge(found.append, reading, task, PATIENCE, None)
    return found


def without_recovery_actions(model: Model, configurations: Sequence[Configuration], asked: Sequence[Property]) -> Found:
    """A loss among the behaviours in which no replica comes back, taken again among all; that there is none says nothing.

    It need not be a shortest one, so the finding has no trace.
    """
    fewer = replace(model, actions=tuple(each for each in model.actions if not each.can_be_left_out))
    outcome = explore(bind(fewer, *configurations), asked, Options(workers=1, symmetry=True, every_configuration=True))
    if outcome.reason is not None:
        return None
    return [_lost(outcome.system, bind(model, *configurations), each) for each in outcome.findings]


def _lost(fewer: System, whole: System, found: Finding) -> Finding:
    if found.trace is None:
        return replace(found, verdict=Verdict.INCONCLUSIVE)
    replay(whole, follow_steps(whole, found.trace.states[0], find_same_steps(fewer, found.trace, whole)), found.property)
    return replace(found, trace=None)
