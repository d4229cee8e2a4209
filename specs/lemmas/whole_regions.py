"""Why no committed record is lost in a region of the tolerance table, asked as one question: for any number of faults.

Any number may be out while fewer have lost data than are remembered; beside more of them one broker is unimpaired
(`one-is-left`), and so in the ISR (`who-is-out-was-struck`).  A sound member is left in either case, whichever a history passes
through first, and the rest of `whole_logs` needs to know only that there is one.
"""

from __future__ import annotations

from typing import Any

from neverlost.model.any_number import AnyNumber
from neverlost.model.faults import BY_NAME, DATA_LOSS, OUT
from neverlost.model.kernel import Configuration, Value, count
from neverlost.model.kraft.state import everyone, minimum_isr
from neverlost.specs.lemma import Theory, as_lemma
from neverlost.specs.lemmas import by_kind, whole_logs


def covers(configuration: Configuration) -> bool:
    """Return True if `faults.out` says how many may be out beside as many losses of data as the controller remembers members,
    or more, and this leaves a broker each time; and if all begin in the ISR, and all losses of data count as `DATA_LOSS`."""
    out, (kinds, remembered) = configuration[OUT.key], whole_logs.losing(configuration)
    beside = list(enumerate(out.beside if isinstance(out, AnyNumber) else ()))[remembered:]
    is_left = all(lost + many < configuration["replication.factor"] for lost, many in beside)
    return bool(beside and remembered and is_left and kinds == {DATA_LOSS.key} and not configuration["start.outside_isr"])


@as_lemma(
    "fewer brokers have lost data than are remembered, or one is marked by no limited kind of fault",
    "a broker loses data, or is out beside those that have, only where one is left afterwards",
)
def one_is_left(k: Any, s: Any) -> list[Value]:
    marks = [getattr(s, BY_NAME[each].struck) for each in s.sizes.limits.marked]
    free = [k.not_(k.any_of(False, *[each[r] for each in marks])) for r in everyone(s)]
    lost = count(k, [whole_logs.has_lost_data(k, s, r) for r in everyone(s)])
    return [k.any_of(lost < (minimum_isr(k, s) if s.sizes.elr else 1), *free)]


THEORY = Theory(
    models=whole_logs.THEORY.models,
    covers=covers,
    lemmas=(*whole_logs.THEORY.lemmas, by_kind.who_is_out_was_struck, one_is_left),
)
