"""Ascending states come back as they were; what is damaged, or made up, is named."""

from __future__ import annotations

import struct
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from pyarrow import Codec

from neverlost.checker.engine.storage.compact import BLOCK, Run, cut_portions, encode_block, join
from neverlost.checker.engine.storage.levels import ASCENDING, Store
from neverlost.specs.errors import InputError


@pytest.mark.parametrize(("words", "size"), [(1, 0), (2, 1), (2, BLOCK + 7), (11, 100)])
def test_rows_come_back(words: int, size: int) -> None:
    rows = np.random.default_rng(5).integers(0, 1 << 64, (size, words), dtype=np.uint64)
    rows[:, 0] >>= np.uint64(40)
    rows = rows[np.lexsort(rows.T[::-1])]
    found = [*map(join, Run(b"".join(map(encode_block, cut_portions(rows))), words).blocks())]
    assert (np.concatenate([rows[:0], *found]) == rows).all() and all(len(each) <= BLOCK for each in found)


def test_neighbours_take_little_room() -> None:
    rows = np.stack(
        [np.arange(BLOCK, dtype=np.uint64) // np.uint64(16) << np.uint64(30), np.arange(BLOCK, dtype=np.uint64)], axis=1
    )
    assert sum(map(len, map(encode_block, cut_portions(rows)))) < 2 * BLOCK


def test_blocks_without_a_state_are_passed_over() -> None:
    rows = np.arange(0, 10 * BLOCK, 2, dtype=np.uint64).reshape(-1, 1)
    run = Run(b"".join(map(encode_block, cut_portions(rows))), 1)
    whole = [*map(tuple, map(np.ndarray.tolist, map(join, run.blocks())))]
    for wanted in ([], [0], [3 * BLOCK], [2 * BLOCK - 1, 2 * BLOCK], [9 * BLOCK, 30 * BLOCK], [*range(0, 10 * BLOCK, BLOCK)]):
        states = np.array(wanted, np.uint64).reshape(-1, 1)
        numbers = {min(each // (2 * BLOCK), len(whole) - 1) for each in wanted}
        assert [whole.index(tuple(join(each).tolist())) for each in run.about(states)] == sorted(numbers)
        if wanted:
            found = [whole.index(tuple(join(each).tolist())) for each in run.between(states[0], states[-1])]
            assert found == [*range(min(numbers), -(-min(wanted[-1], 10 * BLOCK) // (2 * BLOCK)))]


def test_damaged_files_are_named(tmp_path: Path) -> None:
    store = Store.create(tmp_path, {"format": "neverlost.levels/3", "words": 2})
    states = np.arange(20, dtype=np.uint64).reshape(2, 10)
    file = store.write(states, "runs", ASCENDING)
    assert (store.read(file) == states).all()
    path = tmp_path / file.name
    whole = path.read_bytes()
    crowded = Codec("zstd").compress(b"\xff" * 20 + bytes(struct.unpack_from("<I", whole, 68)[0]), asbytes=True)
    forged = {
        "another block length": whole[:64] + struct.pack("<I", 9) + whole[68:],
        "a long block": whole[:64] + struct.pack("<I", BLOCK + 1) + whole[68:],
        "fewer bytes that differ": whole[:68] + struct.pack("<I", 1) + whole[72:],
        "more bytes than there are": whole[:68] + struct.pack("<I", 161) + whole[72:],
        "an end too early": whole[:-1],
        "half a header": whole + b"abc",
        "no block": whole[:64],
        "another content": whole[:92] + bytes(len(whole) - 92),
        "bits for bytes that are not there": whole[:72] + struct.pack("<I", len(crowded)) + whole[76:92] + crowded,
    }
    for name, content in forged.items():
        path.write_bytes(content)
        with pytest.raises(InputError, match="damaged state file"):
            Store.attach(tmp_path).read(file)
        with pytest.raises(InputError, match="damaged state file"):
            found = Store.attach(tmp_path).read(replace(file, digest=sha256(content).hexdigest()))
            raise AssertionError(f"{name}: {found}")
