"""A whole model examined: which of its clauses and mechanisms its properties need, in the profiles that its plan names."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from neverlost.checker.questions.necessity.necessity import (
    Need,
    Profile,
    Variant,
    VariantVerdict,
    clause_variants,
    judged,
    profiles,
)
from neverlost.model.protocols import models
from neverlost.model.system import System, bind
from neverlost.specs.cases.necessity_plan import NecessityPlan, find_plan
from neverlost.specs.configuration import choose as configuration
from neverlost.specs.configuration.keys import MECHANISM, is_without_faults, shown
from neverlost.specs.configuration.keys import configuration as complete
from neverlost.specs.defects import FIXES
from neverlost.specs.errors import InputError
from neverlost.specs.properties import choose_properties, guarantees
from neverlost.specs.property import Property


@dataclass(frozen=True)
class Examined:
    """A model, the profiles in which it was examined, and what was found; `explained`: why what is not needed is kept."""

    model: str
    profiles: tuple[Profile, ...]
    judgements: tuple[VariantVerdict, ...]
    explained: dict[str, str]
    is_planned: bool
    seconds: float

    def is_explained(self, judgement: VariantVerdict) -> bool:
        """Return True if a part is needed, structural or undecided, or a reason to keep it is written down."""
        return judgement.need in (Need.NEEDED, Need.STRUCTURAL, Need.UNDECIDED) or judgement.variant.name in self.explained


class NecessityProgress(Protocol):
    """`expect` is told how many parts there are; then this is called with the name of each part once it is decided."""

    def expect(self, total: int) -> None: ...
    def __call__(self, name: str) -> None: ...


@dataclass(frozen=True)
class Budget:
    """How many processes to use, and the time limits: in all, and for each part in each profile. Units: seconds."""

    workers: int | None = None
    seconds: float | None = None
    seconds_each: float | None = None


def examine(
    config: str | None,
    settings: Sequence[str],
    names: Sequence[str] | None,
    only: Sequence[str],
    budget: Budget,
    progress: NecessityProgress,
) -> Examined:
    """Judge every part of the model that the keys name, or those with a text of `only` in the name; a model alone is examined
    in its published profiles.  Errors: `InputError` for unknown keys and values, a plan that does not fit its model, keys that
    allow no fault, and where no property holds anyway."""
    started = time.monotonic()
    given = configuration.read_given(config, settings)
    chosen = configuration.choose(given)
    plan = find_plan(chosen.model.name)
    is_planned = plan is not None and set(given) == {"model"}
    if not is_planned and is_without_faults(chosen.configuration):
        raise InputError(
            "nothing may fail here (every faults.* is 0), so no guard is needed; say what may, such as "
            "--set faults.lossy_crash=1, or name a model alone, such as --set model=kraft-elr"
        )
    named = _planned(plan) if plan is not None and is_planned else [("as given", bind(chosen.model, chosen.configuration))]
    asked = choose_properties(chosen.model, names) if names else _properties(named[0][1], plan if is_planned else None)
    kept = profiles(named, asked, budget.workers, budget.seconds)
    if not any(each.question.properties for each in kept):
        raise InputError(
            f"no property holds in {chosen.model.name} with these keys, so nothing can break it; use smaller budgets"
        )
    variants = [*clause_variants(kept), *_mechanism_variants(kept)]
    variants = [each for each in variants if not only or any(text in each.name for text in only)]
    progress.expect(len(variants))
    limits = budget.workers, budget.seconds, budget.seconds_each
    found = judged(kept, variants, *limits, lambda each: progress(each.variant.name))
    explained = plan.explain(each.name for each in variants) if plan is not None else {}
    seconds = time.monotonic() - started
    return Examined(chosen.model.name, tuple(kept), tuple(found), explained, is_planned, seconds)


def _properties(system: System, plan: NecessityPlan | None) -> list[Property]:
    extra = choose_properties(system.model, plan.properties) if plan is not None and plan.properties else []
    return list({each.name: each for each in [*guarantees(system.model), *extra]}.values())


def _planned(plan: NecessityPlan) -> list[tuple[str, System]]:
    """Return a plan's profiles by name, without known defects of Kafka, which would break what a part is to keep."""
    model, found = models()[plan.model], []
    fixed = {key: ("on", "defects=fixed") for key in FIXES if key in model.keys}
    for name, keys in plan.profiles:
        given = fixed | {key: (value, f"profile {name!r} of {plan.model}.toml") for key, value in keys.items()}
        found.append((name, bind(model, complete(model, given))))
    return found


def _mechanism_variants(kept: Sequence[Profile]) -> Iterable[Variant]:
    """Yield a variant for each mechanism that is on in a profile in which some property holds: there it is switched off."""
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
