"""A system that begins where another search ended, in any number of states.

NumPy is imported when it is needed: what is looked up in the atlas replays nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from neverlost.model.system import State, System

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from neverlost.model.interpreters.columns import Packed


def _none() -> Packed:
    import numpy as np

    return np.empty((0, 0), np.uint64)


@dataclass(frozen=True)
class Continued(System):
    """A system that begins in given states, all of configuration 0.  Shapes: `beginning` is `uint64[words, n]`."""

    beginning: Packed = field(default_factory=_none, compare=False, repr=False)

    def initial_states(self) -> list[tuple[int, State]]:
        return [(0, self.unpack([int(word[row]) for word in self.beginning])) for row in range(self.beginning.shape[1])]

    def rows_of(self, state: State) -> NDArray[np.intp]:
        """Return the positions of a state among the initial ones: an empty array if it is none of them."""
        import numpy as np

        wanted = np.array(self.pack(state), np.uint64)[:, None]
        return np.flatnonzero((self.beginning == wanted).all(axis=0))


def pack_initial_states(system: System) -> Packed:
    if isinstance(system, Continued):
        return system.beginning
    from neverlost.model.interpreters.columns import pack_rows

    return pack_rows(system, sorted({state for _, state in system.initial_states()}))


def is_initial(system: System, state: State) -> bool:
    if isinstance(system, Continued):
        return bool(len(system.rows_of(state)))
    return state in {each for _, each in system.initial_states()}
