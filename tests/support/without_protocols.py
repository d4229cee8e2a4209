"""A program that asks every engine about a toy protocol and prints what each one says, as JSON; see `test_toy_protocol.py`.

It is run where no module of a protocol can be imported.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from neverlost.checker.engine.compiled import compiled_search as team
from neverlost.checker.engine.disk import on_disk_search
from neverlost.checker.engine.engines import memory
from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.evidence.reachable_states import count_reachable
from neverlost.checker.engine.outcome import Outcome
from neverlost.checker.engine.proof import bounded_search
from neverlost.checker.engine.proof.induction import prove
from neverlost.checker.engine.search.options import Options
from neverlost.checker.engine.spark import session
from neverlost.model.system import System, bind
from tests.support.two_phase_commit import LEMMAS, MODEL, NEVER_COMMITS, PROPERTY

EVERYWHERE = (("neverlost.driver.states", "0"), ("neverlost.task.least", "50"))


def system(participants: int) -> System:
    return bind(MODEL, {"participants": participants})


def said(outcome: Outcome) -> list[Any]:
    """What an engine found: distinct states, those that orbits stand for, and the verdict."""
    return [outcome.counts.distinct, outcome.orbit_states, str(outcome.verdict)]


def searched(engine: str, **options: Any) -> list[Any]:
    return said(explore(system(5), [PROPERTY], Options(**options), engine=engine))


def calls(kind: type, name: str) -> list[str]:
    """A list that has an entry for every call of a method from now on."""
    seen, method = list[str](), getattr(kind, name)
    setattr(kind, name, lambda *given: seen.append(name) or method(*given))
    return seen


def here(place: Path) -> dict[str, Any]:
    """Every engine but Spark."""
    found: dict[str, Any] = {"ints": [count_reachable(system(5), [PROPERTY])]}
    found["columns"] = searched("columns", workers=1)
    memory.WORTH_COMPILING = 12
    compiled = calls(team.CompiledSearch, "expand")
    found["compiled"] = searched("memory", workers=2)
    found["compiled orbits"] = searched("memory", workers=1, symmetry=True)
    on_disk_search.TUNING["neverlost.task.columns"] = 30
    found["on disk"] = said(on_disk_search.explore(system(5), [PROPERTY], Options(state_dir=place / "levels")))
    found["rounds"] = bool(compiled)
    broken = explore(system(2), [NEVER_COMMITS], Options(workers=1)).findings[0]
    found["counterexample"] = broken.trace and len(broken.trace.steps)
    bounded = bounded_search.check(system(2), [NEVER_COMMITS, PROPERTY], 5, workers=1).outcome.findings
    found["bounded"] = [[str(each.verdict), each.trace and len(each.trace.steps)] for each in bounded]
    found["proofs"] = [str(prove(system(3), PROPERTY, lemmas).verdict) for lemmas in (LEMMAS, LEMMAS[:1])]
    return found


def on_spark(place: Path) -> dict[str, Any]:
    """Spark, with every level in its tasks."""
    session.start("local[2,4]", {}, "tests")
    return {"spark": searched("spark", spark_conf=EVERYWHERE, state_dir=place / "levels")}


if __name__ == "__main__":
    print(json.dumps({"here": here, "spark": on_spark}[sys.argv[1]](Path(sys.argv[2]))))
