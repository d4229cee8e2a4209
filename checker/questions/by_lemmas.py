"""Decides questions by induction, with the lemmas that were written for them."""

from __future__ import annotations

from collections.abc import Sequence

from neverlost.checker.engine.outcome import Finding, Verdict
from neverlost.checker.engine.proof.induction import ObligationAnswer, discharge
from neverlost.checker.engine.proof.obligations import SAFETY, BoundedEncoding, ProofTask
from neverlost.model.kernel import Configuration, Model
from neverlost.model.system import System, bind
from neverlost.specs.lemma import Lemma
from neverlost.specs.lemmas import find_lemmas
from neverlost.specs.property import Property

PATIENCE = 600.0
"""How long a solver may go on about one step.  Units: seconds."""


def by_induction(model: Model, configurations: Sequence[Configuration], asked: Sequence[Property]) -> list[Finding] | None:
    """Return a finding, holds or inconclusive, for each configuration and property; None if a solver gives up on anything."""
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
