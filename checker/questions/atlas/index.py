"""The atlas as it is looked up: a file that opens in milliseconds, with the identifiers in order and beside each its answer.

The first line is JSON: `digests` of the models whose meaning the answers speak about, `answers` (how many there are),
`verdicts` (the names behind their numbers), and `reads`: which of the frozen `fields` matter to questions of some sizes, as
bits.  Then come the identifiers (8 bytes each, the low one first), a byte for each verdict, and a byte for the steps of each
shortest counterexample (255: there is none).  The table beside it has the questions themselves.
"""

from __future__ import annotations

import hashlib
import json
import sys
import warnings
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

from neverlost.checker.engine.digest import question_digest
from neverlost.checker.engine.host.whole_files import write_bytes
from neverlost.checker.engine.outcome import Verdict
from neverlost.model.kernel import Model, Sizes
from neverlost.specs.properties import properties

FILE, DIGEST = "atlas.index", "atlas.index.sha256"

NONE = 255
"""Stands for the steps of no counterexample."""

Answer = tuple[Verdict, int | None]
"""A verdict and the steps of a shortest counterexample, if there is one."""


TABLE = ("acked-never-lost", "committed-never-lost", "stays-writable")
"""The properties that a tolerance table is about."""

ANSWERED = (*TABLE, "recovers-writable")
"""Every property that the atlas answers for."""


class AnswersWarning(UserWarning):
    """Warns that the shipped file of answers is not as it was shipped, so that nothing is looked up in it."""


@dataclass(frozen=True)
class Atlas:
    """Sorted `ids` of questions, for each a byte in `verdicts` and in `steps`; `header` is the first line of the file."""

    header: Mapping[str, Any]
    ids: Sequence[int]
    verdicts: bytes
    steps: bytes

    def __len__(self) -> int:
        return len(self.ids)

    def find(self, question_id: str) -> Answer | None:
        number = number_of(question_id)
        place = bisect_left(self.ids, number)
        if place == len(self.ids) or self.ids[place] != number:
            return None
        steps = self.steps[place]
        return Verdict(self.header["verdicts"][self.verdicts[place]]), None if steps == NONE else steps

    def read_by(self, model: Model, sizes: Sizes) -> frozenset[str] | None:
        """Return the frozen fields on which a step or a property depends at some sizes; None where that is not noted."""
        bits = self.header["reads"].get(size_key(model, sizes))
        fields = enumerate(self.header["fields"])
        return None if bits is None else frozenset(name for place, name in fields if int(bits, 16) >> place & 1)


def number_of(question_id: str) -> int:
    """Return the number that the hexadecimal digits of an id, which come after `nl-`, stand for."""
    return int(question_id.removeprefix("nl-"), 16)


def size_key(model: Model, sizes: Sizes) -> str:
    """Return a key of 16 hexadecimal digits for a model at these sizes, which changes with what model and properties mean."""
    meaning = question_digest(model, [properties()[name] for name in ANSWERED])
    return _size_key(model.name, meaning, sizes)


@cache
def _size_key(name: str, meaning: str, sizes: Sizes) -> str:
    text = json.dumps([name, meaning, type(sizes).__name__, asdict(cast(Any, sizes))], sort_keys=True, default=sorted)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


_left_out = False


@contextmanager
def without_answers() -> Iterator[None]:
    """While the context is open, make `shipped` return None, so that nothing is looked up."""
    global _left_out
    before, _left_out = _left_out, True
    try:
        yield
    finally:
        _left_out = before


def shipped() -> Atlas | None:
    """Return the atlas in the package; None if there is none, its digest is wrong (it warns), or in `without_answers`."""
    return None if _left_out else _read_shipped()


@cache
def _read_shipped() -> Atlas | None:
    place, known = in_package(FILE), in_package(DIGEST)
    if not place.is_file():
        return None
    if not known.is_file() or known.read_text().strip() != hashlib.sha256(place.read_bytes()).hexdigest():
        says = f"{place} is not as it was shipped: nothing is looked up in it; install neverlost again"
        warnings.warn(AnswersWarning(says), stacklevel=2)
        return None
    return read(place)


def in_package(name: str) -> Path:
    """Return the path of a file of the shipped atlas."""
    return Path(__file__).with_name(name)


def read(path: Path) -> Atlas:
    head, _, data = path.read_bytes().partition(b"\n")
    header = json.loads(head)
    many = header["answers"]
    ids = array("Q", data[: 8 * many])
    if sys.byteorder == "big":
        ids.byteswap()
    return Atlas(header, ids, data[8 * many : 9 * many], data[9 * many :])


def write(rows: Iterable[tuple[str, str, int | None]], header: Mapping[str, Any], path: Path) -> None:
    """Write `header` (`digests`; `reads`: fields by `size_key`), then answers (id, verdict, steps); and their digest beside."""
    verdicts, names = [str(each) for each in Verdict], sorted(set().union(*header["reads"].values()))
    every = sorted(
        (number_of(each), verdicts.index(verdict), NONE if steps is None else steps) for each, verdict, steps in rows
    )
    more = {
        "answers": len(every),
        "fields": names,
        "reads": {key: f"{sum(1 << names.index(each) for each in found):x}" for key, found in header["reads"].items()},
        "verdicts": verdicts,
    }
    ids = b"".join(number.to_bytes(8, "little") for number, _, _ in every)
    answers = bytes(verdict for _, verdict, _ in every) + bytes(steps for _, _, steps in every)
    content = json.dumps({**header, **more}, sort_keys=True).encode() + b"\n" + ids + answers
    write_bytes(path, content)
    write_bytes(path.with_name(f"{path.name}.sha256"), hashlib.sha256(content).hexdigest().encode() + b"\n")
