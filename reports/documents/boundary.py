"""The boundary between safe and violated cells of a matrix: the cells at the edge, the rule, exceptions from what is expected,
and the nearest safe cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from neverlost.checker.engine.outcome import Verdict
from neverlost.checker.questions.sweep.boundary_rule import FAULTS, BoundaryRule, OrderedLabel, smallest_rule
from neverlost.checker.questions.sweep.sweep import Sweep
from neverlost.model.any_number import AnyNumber
from neverlost.model.kraft.mechanisms import parsed
from neverlost.model.limits import AT_ONCE, encoded
from neverlost.reports.counterexample.comparison import follow
from neverlost.reports.wording.merged_rows import merge_rows, value_text, values_of
from neverlost.specs.configuration.keys import is_setting, shown
from neverlost.specs.configuration.matrix import Matrix

SAFER: dict[str, Sequence[Any]] = {
    "acks": ("0", "1", "min.insync.replicas", "all"),
    "unclean.leader.election.enable": (True, False),
    "eligible.leader.replicas": (False, True),
    "model": ("truncate-to-hw", "kip-101", "kip-279", "kip-320-first-try", "kip-320", "kraft", "kraft-elr"),
    "flush.messages": ("default", "1"),
    "enable.idempotence": (False, True),
}
"""Values from the riskier to the safer, as people expect; where a matrix says otherwise, it is an exception worth a line."""

UPWARD = ("replication.factor", "min.insync.replicas")


def rank(key: str, value: Any) -> Any:
    """Return a sort key of a key's value, larger for what people expect to be safer; None if they expect no order."""
    if key == "kafka.version":
        return parsed(str(value))
    if key in UPWARD:
        return value
    if not is_setting(key):
        return -value if isinstance(value, int) else None
    return SAFER[key].index(value) if key in SAFER and value in SAFER[key] else None


class Boundary:
    """The verdicts on one property over a matrix; a cell that holds while an allowed fault never struck counts as undecided."""

    def __init__(self, matrix: Matrix, sweep: Sweep, place: int) -> None:
        self.matrix, self.sweep, self.place = matrix, sweep, place
        self.rows = [{key: each.coordinates.get(key) for key in matrix.varying} for each in matrix.cells]
        self.every = values_of(self.rows)
        verdicts = [decisions[place].verdict for decisions in sweep.decisions]
        self.vacuous = [n for n, each in enumerate(verdicts) if each is Verdict.HOLDS and sweep.unstruck(n, place)]
        self.verdicts = [Verdict.INCONCLUSIVE if n in self.vacuous else each for n, each in enumerate(verdicts)]
        self.numbers = {tuple(row.values()): number for number, row in enumerate(self.rows)}
        self.orders = {key: self._order(key) for key in matrix.varying}

    def _order(self, key: str) -> list[Any]:
        """Return the values of a key from riskier to safer, as people expect; empty if no order is expected."""
        values = list(dict.fromkeys(row[key] for row in self.rows if row[key] is not None))
        if any(rank(key, value) is None for value in values):
            return []
        return sorted(values, key=lambda value: rank(key, value))

    def neighbours(self, number: int, direction: int) -> dict[str, int]:
        """Return, by key, the number of the next cell expected to be safer (+1) or riskier (-1) in that key alone, if any."""
        found = {}
        for key, order in self.orders.items():
            if self.rows[number][key] not in order:
                continue
            place = order.index(self.rows[number][key]) + direction
            while 0 <= place < len(order):
                other = self.numbers.get(tuple((self.rows[number] | {key: order[place]}).values()))
                if other is not None:
                    found[key] = other
                    break
                place += direction
        return found

    def edge(self, verdict: Verdict, direction: int, opposite: Verdict) -> list[int]:
        """Return the numbers of cells with `verdict` that have neighbours in `direction` by keys that are settings, no faults,
        all of them `opposite`."""
        found = []
        for number, each in enumerate(self.verdicts):
            if each is verdict:
                around = {key: other for key, other in self.neighbours(number, direction).items() if is_setting(key)}
                if around and all(self.verdicts[other] is opposite for other in around.values()):
                    found.append(number)
        return found

    def exceptions(self) -> list[dict[str, str]]:
        """Return an entry for each value that is expected to be safer, but is violated where a riskier one holds."""
        found = []
        for number, verdict in enumerate(self.verdicts):
            if verdict is not Verdict.VIOLATED:
                continue
            for key, other in self.neighbours(number, -1).items():
                if self.verdicts[other] is Verdict.HOLDS:
                    rest = {name: value for name, value in self.rows[number].items() if name != key and value is not None}
                    found.append((rest, (key, value_text(self.rows[number][key]), value_text(self.rows[other][key]))))
        return [
            {
                "key": key,
                "expected_safer": safer,
                "than": riskier,
                "where": where,
                "says": f"{key}={safer} is violated where {key}={riskier} holds: {where}",
            }
            for where, (key, safer, riskier) in merge_rows(found, self.every)
        ]

    @property
    def is_known(self) -> bool:
        """True if at least one cell is decided; with none no rule can be derived."""
        return any(each is not Verdict.INCONCLUSIVE for each in self.verdicts)

    def rule(self) -> tuple[BoundaryRule, int]:
        """Return the smallest rule for which of the decided cells are violated, and how many cells are decided."""
        decided = [number for number, each in enumerate(self.verdicts) if each is not Verdict.INCONCLUSIVE]
        rows = [{key: self._placed(key, value) for key, value in self.rows[number].items()} for number in decided]
        if not rows or not rows[0]:
            rows = [{"cell": number} for number in decided]
        return smallest_rule(rows, [self.verdicts[number] is Verdict.VIOLATED for number in decided]), len(decided)

    def _placed(self, key: str, value: Any) -> Any:
        """Return a value so that rules can compare it: versions and fault limits in order, an absent fault as a limit of 0."""
        if key.startswith(FAULTS):
            is_none = key == AT_ONCE and not value
            return OrderedLabel(encoded(AnyNumber() if is_none else value or 0), str(shown(value or 0)))
        return OrderedLabel(self.orders[key].index(value), str(value)) if key == "kafka.version" else value

    def sibling(self, number: int) -> dict[str, Any] | None:
        """Return the nearest cell that holds under the same faults and bounds, which keys differ, and where the steps diverge;
        None if no such cell holds."""
        row = self.rows[number]
        fixed = [key for key in row if not is_setting(key)]
        nearest: tuple[int, float, int] | None = None
        for other, each in enumerate(self.verdicts):
            if each is not Verdict.HOLDS or any(self.rows[other][key] != row[key] for key in fixed):
                continue
            changed = [key for key in row if self.rows[other][key] != row[key]]
            far = sum(self._distance(key, row[key], self.rows[other][key]) for key in changed)
            nearest = min(nearest or (len(changed), far, other), (len(changed), far, other))
        if nearest is None:
            return None
        other = nearest[2]
        changed = [key for key in row if self.rows[other][key] != row[key]]
        trace, system = self.sweep.decisions[number][self.place].trace, self.sweep.systems[number]
        comparison = None if trace is None else follow(system, trace, self.sweep.systems[other]).document(system, trace)
        return {
            "cell": other,
            "changed": {key: [shown(row[key]), shown(self.rows[other][key])] for key in changed},
            "comparison": comparison,
        }

    def _distance(self, key: str, one: Any, other: Any) -> float:
        order = self.orders[key]
        return abs(order.index(one) - order.index(other)) if one in order and other in order else 0.5

    def _listed(self, cells: list[int]) -> list[str]:
        return [line for line, _ in merge_rows([(self.rows[number], True) for number in cells], self.every)]

    def document(self) -> dict[str, Any]:
        rule, decided = self.rule()
        name = self.sweep.decisions[0][self.place].property.name
        return {
            "property": name,
            "rule": {
                "violated_iff": str(rule),
                "terms": [" and ".join(map(str, term)) for term in rule.terms],
                "atoms": rule.size,
                "cells": decided,
                "vacuous": len(self.vacuous),
                "smallest": rule.smallest,
                "proved": rule.proved,
            },
            "minimal_unsafe": self._listed(self.edge(Verdict.VIOLATED, 1, Verdict.HOLDS)),
            "maximal_safe": self._listed(self.edge(Verdict.HOLDS, -1, Verdict.VIOLATED)),
            "exceptions": self.exceptions(),
        }
