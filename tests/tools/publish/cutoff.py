"""How far a search has to go until nothing new can matter: `python -m tests.tools.publish.cutoff`.

What a verdict about lost records looks at is projected from every state: who is impaired, who is in the ISR and the ELR, and
which replica has which record.  The page says at which level the last new projection appears, and how many levels there are.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neverlost.checker.engine.storage.levels import Store
from neverlost.model.interpreters.columns import evaluate_condition
from neverlost.model.kraft.broker.log import holds_record
from neverlost.model.kraft.sizes import is_impaired
from neverlost.model.system import System, bind
from neverlost.specs.configuration.choose import choose_each, read_settings

MODELS, RECORDS = ("kraft", "kraft-elr"), (1, 2, 3)
REPLICAS = (2, 3, 4, 5)
SECONDS = 240
"""A space that is not closed by then is named, and has no level."""

TITLES = ("model", "replicas", "records", "orbits", "levels", "projections", "last new one at level")


def settings(model: str, replicas: int, records: int) -> list[str]:
    """Any number of brokers that lose data, are slow, fenced or stopped: the finite space that the tables of tolerance have."""
    given = {"replication.factor": replicas, "min.insync.replicas": 2, "bounds.records": records, "defects": "fixed"}
    given |= {"faults.data_loss": "any", "faults.out": "any"}
    return [f"model={model}", *(f"{key}={value}" for key, value in given.items())]


def bits(system: System) -> Iterator[Any]:
    """The conditions that make a projection: for each broker, then for each record and broker."""
    sizes: Any = system.sizes
    names = ("isr", "elr") if sizes.elr else ("isr",)
    brokers = range(sizes.replica)
    for broker in brokers:
        yield lambda k, s, broker=broker: is_impaired(k, s, broker)
        for name in names:
            yield lambda k, s, name=name, broker=broker: getattr(s, name)[broker]
        for record in range(sizes.record):
            yield lambda k, s, broker=broker, record=record: holds_record(k, s, broker, record)


def project(system: System, words: Any) -> NDArray[np.uint64]:
    """The projection of each packed state, as a number."""
    found = np.zeros(len(words[0]), np.uint64)
    for place, each in enumerate(bits(system)):
        found |= evaluate_condition(system, words, each).astype(np.uint64) << np.uint64(place)
    return np.unique(found)


def lowest(replicas: int, width: int, projection: int) -> int:
    """The least of the projections that differ by the names of brokers only."""
    parts = [projection >> width * each & (1 << width) - 1 for each in range(replicas)]
    return sum(part << width * place for place, part in enumerate(sorted(parts)))


def examine(model: str, replicas: int, records: int) -> tuple[str, ...]:
    """A row: how many orbits and levels a space has, how many projections, and where the last new one appears."""
    asked = settings(model, replicas, records)
    (chosen,) = choose_each(read_settings(asked))
    system = bind(chosen.model, chosen.configuration)
    head = (f"`{model}`", str(replicas), str(records))
    with tempfile.TemporaryDirectory() as place:
        given = [part for each in asked[1:] for part in ("--set", each)]
        limits = ("--time-limit", str(SECONDS), "--state-dir", str(Path(place, "levels")), "--symmetry", "--json", "-")
        command = [sys.executable, "-m", "neverlost", "explore", model, *given, *limits]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        counts = json.loads(done.stdout)["states"]
        if done.returncode != 0:
            return (*head, f"more than {counts['distinct']:,}", f"more than {counts['depth']}", "not closed", "not known")
        store = Store.attach(Path(place, "levels"))
        width = len(list(bits(system))) // replicas
        canonical = cache(partial(lowest, replicas, width))
        seen, last = set[int](), 0
        for level in range(counts["depth"]):
            reached = {canonical(int(each)) for words in store.level(level) for each in project(system, words)}
            last, seen = (level, seen | reached) if reached - seen else (last, seen)
        return (*head, f"{counts['distinct']:,}", str(counts["depth"]), f"{len(seen):,}", str(last))


PAGE = """# How far a search has to go

Made by `python -m tests.tools.publish.cutoff`: `kraft` and `kraft-elr` as designed, min.insync.replicas=2, any number of
brokers that lose data (`faults.data_loss=any`) and that are slow, fenced or stopped (`faults.out=any`). Each space is
searched to its end, by orbits of the replicas, in at most {seconds} s.

A verdict about lost records looks at few things of a state: who is impaired, who is in the ISR and in the ELR, and which
replica has which record. That is its projection; two that differ by the names of replicas are one. The last column is the
level (the initial one is 0) at which the last new projection appears: no deeper state differs from all before it in what
the verdict looks at. It was measured, not proved, and it says nothing of a size that is not here: the depth of a
counterexample is not bounded by it, since a property may look at what was acknowledged too.

The limits of these questions are read from the state: a fault strikes while fewer than so many brokers are impaired, and
how often it has struck is forgotten. That is a counter abstraction of fault histories: it keeps how many brokers are
impaired now, and by which kind, and no history.

{table}
"""


def main() -> None:
    """Print the page."""
    rows = [TITLES, ("---",) * len(TITLES)]
    for model, replicas in itertools.product(MODELS, REPLICAS):
        for records in RECORDS:
            rows.append(examine(model, replicas, records))
            print("| " + " | ".join(rows[-1]) + " |", file=sys.stderr, flush=True)
            if rows[-1][-1] == "not known":
                break
    table = "\n".join(f"| {' | '.join(each)} |" for each in rows)
    print(PAGE.format(table=table, seconds=SECONDS), end="")


if __name__ == "__main__":
    main()
