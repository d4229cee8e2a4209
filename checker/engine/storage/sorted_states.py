"""Exact identity of packed states, in the order in which explorers keep them.

A *keyed* array is `uint64[words, n]` like a packed one, with the first word of each state replaced by a
well-mixed key.  The mix is invertible given the other words, so a keyed state is the state itself and never
a hash of it: two states are equal exactly when all their keyed words are.  Keyed arrays are sorted by key
(then by the other words), which spreads any set of states evenly over ranges of keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

Keyed = NDArray[np.uint64]
Keys = NDArray[np.uint64]

KEY_BITS = 64
_WORD = 1 << KEY_BITS
_SPREAD, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_FIRST_BACK, _SECOND_BACK = pow(_FIRST, -1, _WORD), pow(_SECOND, -1, _WORD)
_CHUNK = 1 << 15
"""Rows mixed at a time: they stay in the processor's cache."""


def make_keyed(words: NDArray[np.uint64]) -> Keyed:
    """Return a copy of packed states, a column each, whose first words are mixed from all words; `make_packed` undoes it."""
    found = np.array(words, dtype=np.uint64, order="C")
    for start in range(0, found.shape[1], _CHUNK):
        _mix(found[:, start : start + _CHUNK])
    return found


def make_packed(states: Keyed) -> NDArray[np.uint64]:
    found = np.array(states, dtype=np.uint64, order="C")
    for start in range(0, found.shape[1], _CHUNK):
        _unmix(found[:, start : start + _CHUNK])
    return found


def _mix_other_words(part: Keyed) -> Keys | None:
    """Return what the words after the first contribute to the key; None without any."""
    mixed: Keys | None = None
    for word in part[1:]:
        turned = word * np.uint64(_SPREAD) if mixed is None else (word ^ mixed) * np.uint64(_SPREAD)
        turned ^= turned >> np.uint64(32)
        mixed = turned
    return mixed


def _mix(part: Keyed) -> None:
    key, others = part[0], _mix_other_words(part)
    if others is not None:
        key ^= others
    key *= np.uint64(_FIRST)
    key ^= key >> np.uint64(29)
    key *= np.uint64(_SECOND)
    key ^= key >> np.uint64(32)


def _unmix(part: Keyed) -> None:
    key, others = part[0], _mix_other_words(part)
    key ^= key >> np.uint64(32)
    key *= np.uint64(_SECOND_BACK)
    key ^= (key >> np.uint64(29)) ^ (key >> np.uint64(58))
    key *= np.uint64(_FIRST_BACK)
    if others is not None:
        key ^= others


def sort_distinct(states: Keyed) -> Keyed:
    """Return the same states sorted by key, then by the other words, each once."""
    return _drop_repeats(_tidy_order(states.take(_sort_roughly(states[0]), axis=1), _count_tag_bits(states.shape[1])))


def merge_runs(runs: Sequence[Keyed]) -> Keyed:
    """Return sorted runs as one; a state that is in several of them appears once."""
    if len(runs) == 1:
        return runs[0]
    both = np.concatenate(runs, axis=1)
    order = np.argsort(both[0], kind="stable")  # stable is a merge sort: linear on a few sorted runs
    return _drop_repeats(_tidy_order(both.take(order, axis=1), 0))


def subtract_run(states: Keyed, run: Keyed) -> Keyed:
    """Return the states that are not in a sorted run; both are sorted."""
    if not states.shape[1] or not run.shape[1]:
        return states
    place = np.searchsorted(run[0], states[0])
    np.minimum(place, run.shape[1] - 1, out=place)
    same_key = np.flatnonzero(run[0].take(place) == states[0])
    if not len(same_key):
        return states
    place = place.take(same_key)
    known = np.ones(len(same_key), dtype=np.bool_)
    for mine, theirs in zip(states[1:], run[1:], strict=True):
        known &= theirs.take(place) == mine.take(same_key)
    for each in np.flatnonzero(~known):  # equal keys of different states: look through all of them
        known[each] = _is_within(states[:, same_key[each]], run, int(place[each]))
    keep = np.ones(states.shape[1], dtype=np.bool_)
    keep[same_key[known]] = False
    return states if keep.all() else np.ascontiguousarray(states[:, keep])


def _is_within(state: NDArray[np.uint64], run: Keyed, place: int) -> bool:
    while place < run.shape[1] and run[0, place] == state[0]:
        if bool((run[:, place] == state).all()):
            return True
        place += 1
    return False


def slice_range(states: Keyed, low: int, high: int) -> Keyed:
    """Return the part of sorted states whose keys are in `low..high - 1`."""
    first = int(np.searchsorted(states[0], np.uint64(low)))
    last = states.shape[1] if high >= _WORD else int(np.searchsorted(states[0], np.uint64(high)))
    return states[:, first:last]


def compute_key_range(part: int, parts: int) -> tuple[int, int]:
    """Return `low, high`: part number `part`, from 0, of `parts` equal parts owns the keys `low..high - 1`."""
    return _WORD * part // parts, _WORD * (part + 1) // parts


def _count_tag_bits(length: int) -> int:
    return max(length - 1, 0).bit_length()


def _sort_roughly(keys: Keys) -> NDArray[np.intp]:
    """Return an order by the high bits of the keys: row numbers ride in the low bits, because sorting values is several
    times as fast as sorting indices."""
    mask = np.uint64((1 << _count_tag_bits(len(keys))) - 1)
    tagged = keys & ~mask
    tagged |= np.arange(len(keys), dtype=np.uint64)
    tagged.sort()
    tagged &= mask
    return tagged.astype(np.intp)


def _tidy_order(states: Keyed, rough_bits: int) -> Keyed:
    """Sort, in place, where the rough order, or equal keys of different states, left disorder; return the states."""
    keys = states[0]
    disordered = keys[1:] < keys[:-1]
    if len(states) > 1:
        same = np.flatnonzero(keys[1:] == keys[:-1])
        differ = reduce(np.logical_or, [word.take(same + 1) != word.take(same) for word in states[1:]])
        disordered[same[differ]] = True
    where = np.flatnonzero(disordered)
    if len(where):
        groups = keys >> np.uint64(rough_bits)
        for group in np.unique(groups[where]):
            first, last = np.searchsorted(groups, group), np.searchsorted(groups, group, side="right")
            part = states[:, first:last]
            states[:, first:last] = part[:, np.lexsort(part[::-1])]
    return states


def _drop_repeats(states: Keyed) -> Keyed:
    if states.shape[1] < 2:
        return states
    keep = np.ones(states.shape[1], dtype=np.bool_)
    repeated: Any = states[0, 1:] == states[0, :-1]
    for word in states[1:]:
        repeated &= word[1:] == word[:-1]
    np.logical_not(repeated, out=keep[1:])
    return states if keep.all() else np.ascontiguousarray(states[:, keep])
