"""Logs of any length in the modern models: what stands for the lemmas that count records, or go from one offset to the next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from neverlost.model.kernel import Value, implies
from neverlost.model.kraft.broker.log import EMPTY, log_end, offsets
from neverlost.model.kraft.state import everyone
from neverlost.specs.any_modern_log import end_of_log
from neverlost.specs.lemmas.kraft_elr import is_committed, no_gaps, watermark_is_committed


def logs_have_an_end(k: Any, s: Any) -> list[Value]:
    """Return as conjuncts that each log has records just up to its end, and what is committed has no gap: for `no-gaps`."""
    ends = [(s.log_record[r][o] != EMPTY) == (s.log_end_offset[r] > o) for r in everyone(s) for o in offsets(s)]
    return ends + [
        implies(k, k.all_of(is_committed(s, later), later > o), is_committed(s, o)) for o in offsets(s) for later in offsets(s)
    ]


def watermarks_are_in_logs(k: Any, s: Any) -> list[Value]:
    """Return as conjuncts that no high watermark is beyond its log, and that what is below one is committed, and in that log
    the record that is committed there: for `watermark-is-committed`."""
    found = []
    for r in everyone(s):
        found.append(s.high_watermark[r] <= s.log_end_offset[r])
        for o in offsets(s):
            same = s.log_record[r][o] == s.ghost_committed[o]
            found.append(implies(k, s.high_watermark[r] > o, k.all_of(is_committed(s, o), same)))
    return found


IN_CONDITIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    log_end: end_of_log,
    no_gaps.conjuncts: logs_have_an_end,
    watermark_is_committed.conjuncts: watermarks_are_in_logs,
}
"""What lemmas and properties call in place of some functions."""
