"""A reachability certificate: every reachable state, and a verifier that trusts nothing that wrote it.

The verifier shares no code with the engines: it walks from the initial states with the ints interpreter, one state at a time,
and demands that what it meets is exactly the listed set and that the property holds everywhere in it.  A state that was
removed, added or changed is refused by name.
"""

from __future__ import annotations

import lzma
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from neverlost.model.interpreters import ints
from neverlost.model.system import State, System
from neverlost.specs.errors import InputError
from neverlost.specs.property import RECOVERY, Property

MAGIC = b"neverlost.reachable/1\n"
LARGEST = 4 * 1024**3


def pack_states(words: int, states: Iterable[Sequence[int]]) -> bytes:
    """Return packed states, sorted, as fixed-width numbers under LZMA."""
    ordered = sorted(tuple(map(int, each)) for each in states)
    body = b"".join(word.to_bytes(8, "big") for each in ordered for word in each)
    return MAGIC + f"{words} {len(ordered)}\n".encode() + lzma.compress(body, preset=6)


def read(path: Path, system: System) -> set[State]:
    """Return the states that a certificate lists. Errors: `InputError` for any other, a cut or a misshapen file."""
    try:
        whole = path.read_bytes()
        if not whole.startswith(MAGIC):
            raise ValueError("it does not start as a certificate does")
        end = whole.index(b"\n", len(MAGIC))
        words, count = map(int, whole[len(MAGIC) : end].split())
        decompressor = lzma.LZMADecompressor()
        body = decompressor.decompress(whole[end + 1 :], LARGEST)
        if not decompressor.eof or decompressor.unused_data:
            raise ValueError("it is cut short, or something follows it")
        if words != system.words or len(body) != 8 * words * count:
            raise ValueError(f"{len(body)} bytes for {count} states of {words} words")
        numbers = [int.from_bytes(body[at : at + 8], "big") for at in range(0, len(body), 8)]
        rows = [tuple(numbers[at : at + words]) for at in range(0, len(numbers), words)]
        if any(one >= other for one, other in pairwise(rows)):
            raise ValueError("its states are not in order")
        return {system.unpack(row) for row in rows}
    except (OSError, ValueError, lzma.LZMAError, EOFError) as problem:
        raise InputError(f"{str(path)!r} is not a reachability certificate: {problem}") from None


def verify(path: Path, system: System, properties: Sequence[Property]) -> int:
    """Walk the listed set; how many states were confirmed.

    Errors: `InputError` with the state that is missing, that nothing reaches, or in which a property fails.
    """
    listed = read(path, system)
    starts = {state for _, state in system.initial_states()}
    missing = starts - listed
    if missing:
        raise InputError(f"{str(path)!r} lacks an initial state: {min(missing)}")
    seen, waiting = set(starts), sorted(starts)
    backwards: dict[State, list[State]] = {state: [] for state in listed}
    while waiting:
        state = waiting.pop()
        for each in properties:
            if each.kind != RECOVERY and not ints.evaluate(system, state, each.condition):
                raise InputError(f"{str(path)!r}: {each.name} does not hold in state {state}")
        for step in system.steps:
            after = ints.take(system, state, step)
            if after is None:
                continue
            if after not in listed:
                raise InputError(
                    f"{str(path)!r} is not closed: {step.label} leads from {state} to {after}, which is not listed"
                )
            if not step.action.fault:
                backwards[after].append(state)
            if after not in seen:
                seen.add(after)
                waiting.append(after)
    if len(seen) != len(listed):
        raise InputError(f"{str(path)!r} lists {len(listed) - len(seen)} unreachable states, the first is {min(listed - seen)}")
    for each in properties:
        if each.kind == RECOVERY:
            _can_recover(path, system, each, backwards)
    return len(seen)


def count_reachable(system: System, properties: Sequence[Property]) -> int | None:
    """Count the reachable states one by one on the ints interpreter; return None if a property fails in one of them."""
    safety = [each for each in properties if each.kind != RECOVERY]
    seen = {state for _, state in system.initial_states()}
    waiting = list(seen)
    while waiting:
        state = waiting.pop()
        if not all(ints.evaluate(system, state, each.condition) for each in safety):
            return None
        for step in system.steps:
            after = ints.take(system, state, step)
            if after is not None and after not in seen:
                seen.add(after)
                waiting.append(after)
    return len(seen)


def _can_recover(path: Path, system: System, asked: Property, backwards: Mapping[State, Sequence[State]]) -> None:
    """Check recovery by walking back from the wanted states; `backwards` maps a state to its fault-free predecessors."""
    met = {state for state in backwards if ints.evaluate(system, state, asked.condition)}
    waiting = list(met)
    while waiting:
        earlier = set(backwards[waiting.pop()]) - met
        met |= earlier
        waiting += earlier
    if len(met) != len(backwards):
        raise InputError(f"{str(path)!r}: {asked.name} does not hold: nothing leads on from {min(backwards.keys() - met)}")
