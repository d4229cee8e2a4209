"""Which configuration a packed state belongs to, when one search holds many."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neverlost.checker.engine.outcome import EngineError
from neverlost.model.interpreters.columns import Packed, pack_rows
from neverlost.model.system import System


class Configurations:
    """A system's configurations, known by a state's frozen elements; `EngineError` if two are alike, or over 64 bits needed."""

    def __init__(self, system: System) -> None:
        self.count = len(system.configurations)
        if self.count == 1:
            return
        self._frozen = [slot for slot in system.slots if slot.field.frozen and not slot.is_constant]
        used = sum(slot.bits for slot in self._frozen)
        if used > 64:
            raise EngineError(f"{used} bits of configuration in one search; 64 is the most")
        initial = system.initial_states()
        keys = self._keys_of(pack_rows(system, [state for _, state in initial]))
        known = {key: number for key, (number, _) in zip(keys.tolist(), initial, strict=True)}
        if len(dict.fromkeys(known, 0)) != self.count:
            raise EngineError("two configurations of one search have the same frozen fields")
        self._keys = np.array(sorted(known), keys.dtype)
        self._numbers = np.array([known[key] for key in sorted(known)], np.int64)

    def of(self, states: Packed) -> NDArray[np.int64]:
        """Return the configuration number of each state."""
        if self.count == 1:
            return np.zeros(states.shape[1], np.int64)
        found: NDArray[np.int64] = self._numbers[np.searchsorted(self._keys, self._keys_of(states))]
        return found

    def _keys_of(self, states: Packed) -> NDArray[np.uint64]:
        """Return the frozen elements of each state, packed into one word."""
        key = np.zeros(states.shape[1], np.uint64)
        used = 0
        for slot in self._frozen:
            part = (states[slot.word] >> np.uint64(slot.shift)) & np.uint64(slot.mask)
            key |= part << np.uint64(used)
            used += slot.bits
        return key
