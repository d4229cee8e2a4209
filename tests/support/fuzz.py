"""Files that a user may give, damaged at random: each is read, or refused with one clear error, and nothing else happens.

`python -m tests.support.fuzz --count 10000 --seed 1` prints how many were read and how many refused, and every other end.
"""

from __future__ import annotations

import argparse
import random
import shutil
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from neverlost.checker.questions.nines.rates import rates
from neverlost.reports.bundle.question import BundleQuestion
from neverlost.reports.questions.observe import api as observing
from neverlost.reports.questions.replay.api import replay
from neverlost.reports.questions.verify import verify
from neverlost.reports.request.inputs import read_configurations
from neverlost.specs.configuration.choose import read_given
from neverlost.specs.configuration.matrix import parse_matrix
from neverlost.specs.errors import InputError
from tests.support import forger
from tests.support.program import DATA

TOKENS = (
    *(b"\x00", b"\xff\xfe", b"\xed\xa0\x80", "\u202e".encode(), b"\x1b[2J", b"'", b'"', b"\\", b"=", b":", b",", b"\t", b"\r"),
    *(b"\n\n", b"-1", b"99999999999999999999", b"1e999", b"NaN", b"null", b"true", b"{}", b"[" * 200, b"{" * 200, b"${x}"),
    *(
        b"*a",
        b"&a [*a]",
        b"!!python/object:os.system",
        b"Topic: ",
        b"Isr: ",
        b"Elr: 1,2",
        b"ReplicationFactor: 0",
        b"broker.id=",
    ),
)

Reader = Callable[[Path], object]


def _described(**named: Any) -> Reader:
    option = next(iter(named))
    return lambda path: read_configurations(read_given(None, {}), **{option: str(path)})


def _bundle_file(name: str, whole: Mapping[str, bytes]) -> Reader:
    """Return what reads a damaged file of a bundle: whose digests are right, so that the file itself is looked at."""

    def read(path: Path) -> object:
        files = forger.sealed(dict(whole), **{name: path.read_bytes()})
        return forger.judged(files, _own[0]) if name != "question.json" else BundleQuestion.of(files)

    return read


_own: list[Any] = []


def readers(place: Path) -> list[tuple[bytes, Reader]]:
    """Every kind of file, with what reads it."""
    kafka = DATA / "kafka"
    found: list[tuple[bytes, Reader]] = []
    for path in sorted([*kafka.glob("describe*.txt"), *(kafka / "formats").rglob("*"), DATA / "repository" / "topics.yaml"]):
        if path.is_file():
            found.append((path.read_bytes(), _described(describe=None)))
    for path in sorted(kafka.glob("configs*.txt")):
        found.append((path.read_bytes(), _described(configs=None)))
    for path in sorted([kafka / "producer.properties", *(kafka / "clients").rglob("*")]):
        if path.is_file():
            found.append((path.read_bytes(), _described(producer_properties=None)))
    found.append(((kafka / "consumer.properties").read_bytes(), _described(consumer_properties=None)))
    found.append(((kafka / "server.properties").read_bytes(), _described(server_properties=None)))
    found.append((forger.MATRIX.encode(), lambda path: parse_matrix("m", path.read_text("utf-8", "replace"), str(path), {})))
    found.append((b'model = "kraft"\n[topic]\n"replication.factor" = 2\n', lambda path: read_given(str(path), None)))
    found.append((b'[rates]\nkill = "1/year"\n', lambda path: rates(str(path))))
    history = b"".join((DATA / "observed" / "run-4.3.jsonl").read_bytes().splitlines(keepends=True)[:12])
    found.append((history, lambda path: observing.observe(str(path), losses=False, time_limit=5)))
    bundle = forger.bundle("check", place / "check")
    _own[:] = [bundle.own]
    found += [(content, _bundle_file(name, bundle.files)) for name, content in bundle.files.items() if name.endswith(".json")]
    found += [(content, replay) for name, content in bundle.files.items() if name.endswith(".itf.json")]
    found.append((bundle.files["manifest.json"], lambda path: _with_manifest(place, path)))
    return found


def _with_manifest(place: Path, path: Path) -> object:
    shutil.copy(path, place / "check" / "bundle" / "manifest.json")
    return verify.open_bundle(str(place / "check" / "bundle"))


def damage(content: bytes, drawn: random.Random) -> bytes:
    """Return the content with one to four random changes."""
    found = bytearray(content)
    for _ in range(drawn.randint(1, 4)):
        start = drawn.randrange(len(found) + 1)
        end = min(len(found), start + int(drawn.expovariate(0.1)))
        how = drawn.randrange(6)
        if how == 0 and found:
            found[start % len(found)] ^= 1 << drawn.randrange(8)
        elif how == 1:
            del found[start:end]
        elif how == 2:
            found[start:start] = drawn.choice(TOKENS)
        elif how == 3:
            found[start:end] = drawn.choice(TOKENS)
        elif how == 4:
            found[start:start] = found[end : end + drawn.randint(1, 200)]
        else:
            del found[start:]
    return bytes(found)


def fuzz(count: int, seed: int) -> tuple[Counter[str], list[str]]:
    """Damage and read so many files; how each ended, and what must not happen, with how to repeat it."""
    ends, wrong = Counter[str](), []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        every, path = readers(Path(folder)), Path(folder, "file")
        for number in range(count):
            drawn = random.Random(f"{seed}-{number}")
            kind = drawn.randrange(len(every))
            content, read = every[kind]
            path.write_bytes(damage(content, drawn))
            try:
                read(path)
                ends["read"] += 1
            except InputError as problem:
                ends["refused"] += 1
                if "\n" in str(problem) or len(str(problem)) > 3000:
                    wrong.append(f"{number}: not one clear line: {str(problem)[:200]!r}")
            except Exception:
                wrong.append(f"{number} (reader {kind}): {traceback.format_exc(limit=-3)}")
    return ends, wrong


def main() -> None:
    parser = argparse.ArgumentParser(description="damaged files are read or refused")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    ends, wrong = fuzz(asked.count, asked.seed)
    print("\n".join(wrong))
    print(f"{asked.count} files: {ends['read']} read, {ends['refused']} refused, {len(wrong)} with another end")
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
