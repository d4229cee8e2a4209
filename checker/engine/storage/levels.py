"""The levels of a search as immutable files, committed one by one, checked when they are read.

    meta.json                    what was searched: model and its digest, configurations, layout of a state
    level-0007/….states          the states that are 7 steps from an initial one, in any number of files
    level-0007.json              the level's manifest: its files with their digests, its counts, what was found
    runs/….states                levels merged for looking up visited states; they can be rebuilt from the levels

A level exists when its manifest does, and the manifest is written last.  Each manifest carries the digest of the one
before it, so that a missing, exchanged or foreign one is noticed.  The last level of a complete search has no states.

Shapes: states are `uint64[words, n]`; a file is a 64-byte header and the little-endian words, one array after another,
or the blocks of `neverlost.checker.engine.storage.compact`.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import re
import struct
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neverlost.checker.engine.digest import model_digest, property_digest
from neverlost.checker.engine.host.locks import FILE, OWNER
from neverlost.checker.engine.outcome import EngineError
from neverlost.checker.engine.storage import compact
from neverlost.checker.engine.storage.sorted_states import make_packed
from neverlost.checker.engine.storage.storage import Bytes, Storage, open_storage
from neverlost.model.plain import plain
from neverlost.model.system import System
from neverlost.specs.errors import InputError
from neverlost.specs.property import Property

FORMAT = "neverlost.levels/3"
KEYED = "keyed"
"""States in the form and order of `neverlost.checker.engine.storage.sorted_states`."""
PACKED = "packed"
"""Packed states in any order."""
ASCENDING = "ascending"
"""Packed states in ascending order, compressed."""

_HEADER = struct.Struct("<8sIIQ32s8x")
_MAGIC = b"NLSTATES"
_VERSIONS = {KEYED: 1, PACKED: 1, ASCENDING: 3}
"""How states are written, by their order."""
_META = "meta.json"
_UNCOMMITTED = re.compile(r"(level-\d+|runs)/|\.?(meta|level-\d+)\.json\.")
"""Names that only a search gives: files of states, and manifests that are being written."""
_REMEDY = "restore it, or delete the state directory and start again"

Packed = NDArray[np.uint64]


@dataclass(frozen=True)
class StateFile:
    """One file of states.

    Units: every key in a keyed file is in `low..high - 1`; another file says nothing about them.
    """

    name: str
    rows: int
    digest: str
    order: str = KEYED
    low: int = 0
    high: int = 1 << 64


@dataclass(frozen=True)
class Violation:
    """The smallest state of a level that violates a property under a configuration, by the configuration's number."""

    property: str
    configuration: int
    state: tuple[int, ...]


@dataclass(frozen=True)
class Level:
    """What a manifest says.

    Units: `generated` and `fired` are of the expansion that led here (initial states for level 0), `violations` of this
    level's states; `runs` hold all visited states after it.
    """

    depth: int
    files: tuple[StateFile, ...] = ()
    generated: int = 0
    fired: Mapping[str, int] = field(default_factory=dict)
    violations: tuple[Violation, ...] = ()
    runs: tuple[StateFile, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """How many states are at this level."""
        return sum(each.rows for each in self.files)

    @property
    def is_last(self) -> bool:
        """True for a level without states: the search is complete."""
        return self.rows == 0


def describe_search(system: System, properties: Iterable[Property] = (), symmetry: bool = False) -> dict[str, Any]:
    """Return what a store notes of its search, and one that resumes it must be equal in: model, configurations, properties."""
    asked = sorted(properties, key=lambda each: each.name)
    return {
        "format": FORMAT,
        "model": system.model.name,
        "model_digest": model_digest(system.model),
        "configurations": [plain(each) for each in system.configurations],
        "disabled": sorted([action, clause] for action, clause in system.disabled),
        "symmetry": symmetry,
        "properties": [each.name for each in asked],
        "property_digests": [property_digest(each) for each in asked],
        "words": system.words,
        "slots": [[each.name, each.low, each.high, each.word, each.shift, each.bits] for each in system.slots],
    }


class Store:
    """The committed levels of one search.  Use `create`, `open` or `attach`."""

    def __init__(self, files: Storage, meta: Mapping[str, Any]) -> None:
        self.files, self.meta = files, meta
        self._verified: dict[str, Bytes] = {}
        self._runs: dict[str, compact.Run] = {}

    @classmethod
    def create(cls, location: str | Path, meta: Mapping[str, Any]) -> Store:
        """Make an empty store.  Errors: `InputError` when the place holds a store already, or files that are no store's."""
        place = open_storage(location)
        others = [name for name in place.names() if name not in (_META, FILE, OWNER) and not _UNCOMMITTED.match(name)]
        if others and place.read(_META) is None:
            raise InputError(f"state directory {place.location!r} has other files, such as {others[0]!r}: name an empty one")
        if not place.create(_META, [json.dumps(meta, indent=1).encode()]):
            raise InputError(f"state directory {place.location!r} already holds a search; add --resume, or choose another")
        return cls(place, meta)

    @classmethod
    def open(cls, location: str | Path, expected: Mapping[str, Any]) -> Store:
        """Return the store of an earlier search for the same thing.

        Errors: `InputError` when there is none, or when it was made for something else (what differs is named).
        """
        store = cls.attach(location)
        for name, value in expected.items():
            if store.meta.get(name) != value:
                held, asked = _shorten(store.meta.get(name)), _shorten(value)
                raise InputError(
                    f"state directory {store.files.location!r} was made for another {name}: it holds {held},"
                    f" asked is {asked}; choose another directory, or search without --resume in a new one"
                )
        return store

    @classmethod
    def attach(cls, location: str | Path) -> Store:
        """Return the store at a place, whatever search it is of.  Errors: `InputError` where there is none to be read."""
        place = open_storage(location)
        content = place.read(_META)
        if content is None:
            raise InputError(f"no stored search in {place.location!r} (meta.json is missing); search without --resume first")
        return cls(place, _parse_object(content, f"{place.location}/meta.json"))

    @cached_property
    def identity(self) -> bytes:
        """The SHA-256 of the meta data, 32 bytes: each file and each manifest carries it."""
        return hashlib.sha256(json.dumps(self.meta, sort_keys=True).encode()).digest()

    @property
    def words(self) -> int:
        """Words of a state."""
        return int(self.meta["words"])

    def write(self, states: Packed, folder: str, order: str = KEYED, low: int = 0, high: int = 1 << 64) -> StateFile:
        """Write states to a new file under a name used once; return its entry, which counts once a manifest has it."""
        content: Sequence[Bytes]
        if order == ASCENDING:
            content = [compact.encode_block(rows) for rows in compact.cut_portions(states.T)]
        else:
            content = [memoryview(word).cast("B") for word in np.ascontiguousarray(states, dtype="<u8")]
        return self.write_content(content, states.shape[1], folder, order, low, high)

    def write_content(
        self, content: Sequence[Bytes], rows: int, folder: str, order: str, low: int = 0, high: int = 1 << 64
    ) -> StateFile:
        """Write states, in their stored form already, to a new file; return its entry, which counts once a manifest has it."""
        parts = [_HEADER.pack(_MAGIC, _VERSIONS[order], self.words, rows, self.identity), *content]
        digest = hashlib.sha256()
        for part in parts:
            digest.update(part)
        name = f"{folder}/{uuid.uuid4().hex}.states"
        if not self.files.create(name, parts):
            raise EngineError(f"{name} exists already")
        return StateFile(name, rows, digest.hexdigest(), order, low, high)

    def write_level(self, depth: int, states: Packed, order: str = KEYED, low: int = 0, high: int = 1 << 64) -> StateFile:
        return self.write(states, _name_level(depth), order, low, high)

    def write_level_content(self, depth: int, content: Sequence[Bytes], rows: int, order: str) -> StateFile:
        """Write states of a depth that are in their stored form already to a new file, and return its entry."""
        return self.write_content(content, rows, _name_level(depth), order)

    def read(self, file: StateFile) -> Packed:
        """Return the states of a file, as they were written; the digest is checked when this store first reads it.

        Errors: `InputError` names a file that is missing or was changed.
        """
        if file.order == ASCENDING:
            return np.concatenate([np.empty((self.words, 0), np.uint64), *(rows.T for rows in self.blocks(file))], axis=1)
        return np.frombuffer(self._verify_content(file), dtype="<u8", offset=_HEADER.size).reshape(self.words, file.rows)

    def blocks(self, file: StateFile, by: compact.Join = compact.join, about: Packed | None = None) -> Iterator[Packed]:
        """Yield the states of an ascending file as rows, a block at a time: all, or the blocks that may have a row of `about`.

        Errors: `InputError` names a file that is missing, damaged or was changed.
        """
        try:
            run = self.run(file)
            yield from map(by, run.blocks() if about is None else run.about(about))
        except (ValueError, OSError) as problem:
            raise self._report_damage(file, problem) from None

    def run(self, file: StateFile) -> compact.Run:
        """Return the run of states that an ascending file holds.  Errors: `InputError` if it is missing or was changed."""
        if file.name not in self._runs:
            try:
                found = compact.Run(memoryview(self._verify_content(file))[_HEADER.size :], self.words)
            except (ValueError, struct.error) as problem:
                raise self._report_damage(file, problem) from None
            if len(found) != file.rows:
                raise self._report_damage(file, f"not {file.rows} states")
            self._runs[file.name] = found
        return self._runs[file.name]

    def rest(self) -> None:
        """Let go of the pages of files that were read; they are read again where they are needed."""
        for content in self._verified.values():
            if isinstance(content, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
                content.madvise(mmap.MADV_DONTNEED)

    def _report_damage(self, file: StateFile, problem: object) -> InputError:
        return InputError(f"damaged state file {self.files.location}/{file.name}: {problem}; {_REMEDY}")

    def _verify_content(self, file: StateFile) -> Bytes:
        found = self._verified.get(file.name)
        if found is None:
            found = self._verified[file.name] = self._check(file)
        return found

    def forget(self, keep: Iterable[StateFile] = ()) -> None:
        """Drop from memory what was read, except for the files in `keep`; no file is deleted."""
        names = {each.name for each in keep}
        self._verified = {name: content for name, content in self._verified.items() if name in names}
        self._runs = {name: run for name, run in self._runs.items() if name in names}

    def _check(self, file: StateFile) -> Bytes:
        place = f"{self.files.location}/{file.name}"
        content = self.files.read(file.name)
        if content is None:
            raise InputError(f"missing state file {place}; {_REMEDY}")
        size = memoryview(content).nbytes
        if file.order != ASCENDING and size != _HEADER.size + 8 * self.words * file.rows:
            raise InputError(f"damaged state file {place}: {size} bytes do not hold {file.rows} states; {_REMEDY}")
        if hashlib.sha256(content).hexdigest() != file.digest:
            raise InputError(f"damaged state file {place}: its content is not what the level's manifest names; {_REMEDY}")
        expected = _MAGIC, _VERSIONS.get(file.order), self.words, file.rows, self.identity
        if size < _HEADER.size or _HEADER.unpack_from(content) != expected:
            raise InputError(f"state file {place} belongs to another search; {_REMEDY}")
        return content

    def read_packed(self, file: StateFile) -> Packed:
        """Return the packed states of a file, whatever its order."""
        states = self.read(file)
        return make_packed(states) if file.order == KEYED else states

    def level(self, depth: int) -> Iterator[Packed]:
        """Yield the packed states at a depth, file by file."""
        for file in self.levels()[depth].files:
            yield self.read_packed(file)

    def commit(self, level: Level) -> None:
        """Write the manifest of a level, which exists from then on.

        Errors: `InputError` when it exists already: another search is writing here; `EngineError` without the level before it.
        """
        previous = self._manifest_bytes(level.depth - 1) if level.depth else b""
        if previous is None:
            raise EngineError(f"level {level.depth} is committed before level {level.depth - 1}")
        body = asdict(level) | {
            "format": FORMAT,
            "search": self.identity.hex(),
            "previous": hashlib.sha256(previous).hexdigest(),
            "rows": level.rows,
        }
        body["checksum"] = _compute_checksum(body)
        if not self.files.create(f"{_name_level(level.depth)}.json", [json.dumps(body, indent=1).encode()]):
            raise InputError(
                f"{self.files.location}/{_name_level(level.depth)}.json appeared meanwhile:"
                " another search is writing to this state directory; wait for it, or choose another"
            )

    def levels(self) -> list[Level]:
        """Return the committed levels, from the initial one on.

        Errors: `InputError` names a manifest that is missing, damaged, exchanged or foreign.
        """
        numbers = [name for name in self.files.names() if name.startswith("level-") and name.endswith(".json")]
        found: list[Level] = []
        previous = b""
        for depth in range(len(numbers)):
            content = self._manifest_bytes(depth)
            place = f"{self.files.location}/{_name_level(depth)}.json"
            if content is None:
                raise InputError(f"missing {place}, but later levels exist; {_REMEDY}")
            found.append(self._parse_level(content, place, depth, previous))
            previous = content
        return found

    def _manifest_bytes(self, depth: int) -> bytes | None:
        content = self.files.read(f"{_name_level(depth)}.json")
        return None if content is None else bytes(content)

    def _parse_level(self, content: bytes, place: str, depth: int, previous: bytes) -> Level:
        body = _parse_object(content, place)
        if body.get("checksum") != _compute_checksum({name: value for name, value in body.items() if name != "checksum"}):
            raise InputError(f"damaged {place}: its checksum does not match its content; {_REMEDY}")
        if body["search"] != self.identity.hex():
            raise InputError(f"{place} belongs to another search; {_REMEDY}")
        if body["depth"] != depth or body["previous"] != hashlib.sha256(previous).hexdigest():
            raise InputError(f"{place} does not continue the level before it; {_REMEDY}")
        return Level(
            depth=depth,
            files=tuple(StateFile(**each) for each in body["files"]),
            generated=body["generated"],
            fired=body["fired"],
            violations=tuple(Violation(**each | {"state": tuple(each["state"])}) for each in body["violations"]),
            runs=tuple(StateFile(**each) for each in body["runs"]),
            facts=body["facts"],
        )

    def check(self) -> None:
        """Read every file of every committed level, but no run, and compare it with the digest in its manifest.

        Errors: `InputError` names the first file that is missing or was changed.
        """
        for level in self.levels():
            for file in level.files:
                self._check(file)

    def discard_uncommitted(self, levels: Sequence[Level]) -> int:
        """Delete what a killed search had begun: files of states that the committed `levels` do not need, and manifests that
        are not whole.  Return how many."""
        needed = {file.name for level in levels for file in level.files}
        if levels:
            needed |= {file.name for file in levels[-1].runs}
        spare = [name for name in self.files.names() if _UNCOMMITTED.match(name) and name not in needed]
        self.files.remove(spare)
        return len(spare)


def _name_level(depth: int) -> str:
    return f"level-{depth:04d}"


def _compute_checksum(body: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def _parse_object(content: Bytes, place: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(bytes(content))
    except ValueError:
        raise InputError(f"damaged {place}: it is not JSON; {_REMEDY}") from None
    given = found.get("format") if isinstance(found, dict) else None
    if given != FORMAT:
        raise InputError(f"{place} has format {given!r}, and this version reads {FORMAT!r}; {_REMEDY}")
    return found


def _shorten(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 120 else text[:117] + "..."
