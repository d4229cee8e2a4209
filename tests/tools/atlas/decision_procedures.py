"""How the questions of a unit are decided: by a search, by induction, or by a search that only looks for losses.

Each way gives a finding for every configuration and property, or nothing where memory, disk or patience ended it: then the
unit is asked again by the next build.  What an answer is does not depend on how fast the machine is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.outcome import Finding, Verdict, find_same_steps, follow_steps, replay
from neverlost.checker.engine.search.options import Options, SearchLimits
from neverlost.model.kernel import Configuration, Model
from neverlost.model.system import System, bind
from neverlost.specs.property import Property

Found = list[Finding] | None


def by_search(model: Model, configurations: Sequence[Configuration], asked: Sequence[Property], most_states: int) -> Found:
    """Decide by a complete search; a search that needs more than `most_states` (0: no limit) is inconclusive."""
    limits = SearchLimits(states=most_states or None)
    options = Options(limits, workers=1, symmetry=True, every_configuration=True)
    outcome = explore(bind(model, *configurations), asked, options)
    return list(outcome.findings) if outcome.reason in (None, limits.too_many_states) else None


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
