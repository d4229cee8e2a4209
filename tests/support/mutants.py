"""Mutated inputs, each given to the reader that it is for: a forked child with a limit of time and of memory runs it.

`python -m tests.support.mutants --count 10000 --seed 1` runs many, and prints what answered with a status outside the contract.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import resource
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from neverlost.checker.questions.nines.rates import rates
from neverlost.reports import cli
from neverlost.specs.cases.claim import read_source
from neverlost.specs.cases.necessity_plan import read_plan
from neverlost.specs.cases.scenario import read_scenario
from neverlost.specs.errors import InputError
from tests.support import forger, forked
from tests.support.program import DATA, ROOT, neverlost
from tests.tools.publish.bundles import PLACE

CONTRACT = (0, 12, 13, 20, 21, 22, 64)
SECONDS, BYTES = 60, 2 << 30
"""Of the processor, and of memory."""

PATIENCE = 5 * SECONDS
"""Until what stands still is killed, on a machine that may do other things too."""

CONFIG = (
    'model = "kraft"\n[topic]\nreplication.factor = 2\nmin.insync.replicas = 1\n[producer]\nacks = "all"\n[faults]\ncrash = 1\n'
)
BRIEF = (
    *("--set", "faults.crash=0", "--set", "bounds.records=1"),
    *("--time-limit", "0.3", "--workers", "1", "--quiet"),
)
"""What is read is what is tried: with faults to search for, `check` would make whole tables of what it reads."""
ELSEWHERE = ("--out", "--state-dir", "--export", "--json", "-")
"""Not for a drawn word to follow: nothing is written, and standard input is empty."""

OBSERVED = ("--no-losses", "--time-limit", "0.5", "--quiet")

STORED = ("explore", "kip-101", "--set", "replication.factor=2", "--workers", "1")
COMMANDS = (
    ("tolerance", "--set", "kafka.version=4.1", "--set", "min.insync.replicas=2", "--with", "kill", "--quiet"),
    ("tolerance", "--at-least", "crash=any lossy_crash=any:1 at_once=2", "--set", "kafka.version=3.9", *BRIEF[4:]),
    ("check", "--set", "model=kraft", "--set", "faults.data_loss=any:1", "--set", "broker.rack=a,a,b", *BRIEF[2:]),
    ("nines", "--set", "kafka.version=3.9", "--set", "acks=all", "--quiet"),
    ("explain", "faults.lossy_crash"),
    ("sweep", "small", "--time-limit", "0.3", "--workers", "1", "--memory-limit", "512M", "--quiet"),
)
"""Arguments that are mutated themselves."""

TOKENS = (
    b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\xe2\x80\xae", b"NaN", b"1e400", b"-1", b"9" * 400, b"[" * 300, b"{" * 300,
    b'"', b"'",
    b"\\", b"\n", b"\r", b"../../etc/passwd", b"/dev/zero", b"null", b"true", b"[]", b"{}", b"=", b":", b",", b"\t",
    b"0x7f", b"&a *a",
    b"!!python/object:os.system", b"${x}", b"%s", b"<![CDATA[", b"\xc3\x28", b"inf", b"1..99999", b"any:99", b"[[pair]]",
)  # fmt: skip


@dataclass(frozen=True)
class Reader:
    """What reads a file: `argv` of the program with `{}` for the file, or a function; `file` is what is mutated.

    With `folder` the whole of it is given; with `is_command` the file has the arguments themselves, one a line.
    """

    name: str
    file: Path
    argv: tuple[str, ...] = ()
    function: Callable[[Path], object] | None = None
    folder: Path | None = None
    is_command: bool = False


@dataclass(frozen=True)
class Tried:
    """A mutant: its reader, the exit status, the input, the last words, and the seconds that it took."""

    number: int
    reader: str
    status: int
    content: bytes
    said: str
    seconds: float


def readers(place: Path) -> list[Reader]:
    """Every reader with a file that it accepts."""
    (place / "config.toml").write_text(CONFIG)
    (place / "matrix.toml").write_text(forger.MATRIX)
    kafka, observed = DATA / "kafka", DATA / "observed"
    found = [
        Reader("config", place / "config.toml", ("check", "{}", *BRIEF)),
        Reader("matrix", place / "matrix.toml", ("sweep", "{}", *BRIEF)),
        Reader("baseline", PLACE / "sweep" / "result.json", ("sweep", str(place / "matrix.toml"), "--baseline", "{}", *BRIEF)),
        Reader("replay", PLACE / "proof" / "weak-isr.itf.json", ("replay", "{}", "--quiet")),
        Reader(
            "reproduce",
            PLACE / "sweep" / "traces" / "0001-acked-never-lost.itf.json",
            ("reproduce", "{}", "--dry-run", "--kafka-version", "3.9.2"),
        ),
        Reader("server", kafka / "server.properties", ("check", "--server-properties", "{}", *BRIEF)),
        Reader("history", PLACE / "observation" / "history.jsonl", ("observe", "{}", *OBSERVED)),
        Reader("metadata log", observed / "metadata-4.3.log", ("observe", "--metadata-log", "{}", "--topic", "t", *OBSERVED)),
        Reader("scenario", ROOT / "specs" / "scenarios" / "last-replica-standing.toml", function=read_scenario),
        Reader("claims", ROOT / "specs" / "claims" / "confluent-replication.toml", function=read_source),
        Reader("plan", ROOT / "specs" / "necessity" / "kip-320.toml", function=read_plan),
        Reader("rates", ROOT / "specs" / "rates" / "default.toml", function=rates),
        Reader("roll", kafka / "describe-3.9.txt", ("roll", "--describe", "{}", "--quiet", "--time-limit", "0.3")),
        Reader(
            "tolerance", kafka / "describe-4.1-elr.txt", ("tolerance", "--describe", "{}", "--quiet", "--time-limit", "0.3")
        ),
        Reader("consumer", kafka / "consumer.properties", ("check", "--consumer-properties", "{}", *BRIEF)),
    ]
    for number, words in enumerate(COMMANDS):
        (place / f"command-{number}").write_text("\n".join(words))
        found.append(Reader(f"command {words[0]}", place / f"command-{number}", is_command=True))
    levels = place / "levels"
    neverlost(*STORED, "--state-dir", str(levels))
    for name in ("meta.json", "level-0003.json"):
        resumed = (*STORED, "--state-dir", "{}", "--resume", "--quiet", "--time-limit", "3")
        found.append(Reader(f"levels {name}", levels / name, resumed, folder=levels))
    for path in sorted((kafka / "formats").iterdir()):
        found.append(Reader(f"describe {path.name}", path, ("check", "--describe", "{}", "--no-advise", *BRIEF)))
    for path in sorted(kafka.glob("describe-*.txt")) + sorted(kafka.glob("configs-*.txt")):
        option = "--describe" if path.name.startswith("describe") else "--configs"
        found.append(Reader(path.name, path, ("check", option, "{}", "--no-advise", *BRIEF)))
    for path in sorted((kafka / "clients").iterdir()):
        found.append(Reader(f"producer {path.name}", path, ("check", "--producer-properties", "{}", *BRIEF)))
    for kind in ("proof", "observation", "roll"):
        for name in ("manifest.json", "question.json", "result.json", "ledger.json"):
            found.append(Reader(f"verify {kind} {name}", PLACE / kind / name, ("verify", "{}"), folder=PLACE / kind))
    found.append(Reader("report", PLACE / "check" / "result.json", ("report", "{}"), folder=PLACE / "check"))
    return [each for each in found if each.file.exists()]


def mutated(content: bytes, drawn: random.Random) -> bytes:
    """A content with one to four places changed."""
    for _ in range(drawn.randint(1, 4)):
        at = drawn.randrange(len(content) + 1)
        end = min(len(content), at + drawn.choice((1, 1, 4, 30, 300)))
        how = drawn.randrange(6)
        middle = content[at:end]
        if how == 0 and middle:
            middle = bytes([middle[0] ^ (1 << drawn.randrange(8))]) + middle[1:]
        elif how == 1:
            middle = b""
        elif how == 2:
            middle = middle * 2
        elif how == 3:
            middle = drawn.choice(TOKENS) + middle
        elif how == 4:
            middle = drawn.choice(TOKENS)
        else:
            lines = content.split(b"\n")
            drawn.shuffle(lines[: drawn.randint(2, 9)])
            other = drawn.choice(lines)
            middle += b"\n" + other + b"\n"
        content = content[:at] + middle + content[end:]
    return content


def status(reader: Reader, content: bytes, place: Path, is_apart: bool = True) -> int:
    """How the reader ends with a content; 70 for an error of ours, -9 where it had to be killed."""
    shutil.rmtree(place, ignore_errors=True)
    if reader.folder is None:
        place.mkdir()
        given = place / reader.file.name
    else:
        shutil.copytree(reader.folder, place)
        given = place
    target = place / reader.file.name
    target.write_bytes(content)
    if reader.folder is not None and reader.argv[0] == "verify" and reader.file.name != "manifest.json":
        sealed = forger.sealed(
            {each.relative_to(place).as_posix(): each.read_bytes() for each in place.rglob("*") if each.is_file()}
        )
        (place / "manifest.json").write_bytes(sealed["manifest.json"])
    if not is_apart:
        return _warmed(reader, given)
    said = given.parent / "said"
    said.unlink(missing_ok=True)
    child = forked.started(_arguments(reader, given), said, lambda: _limited(reader, given))
    code = forked.ended(child, PATIENCE)
    if code is None:
        forked.end(child)
    return -9 if code is None else code


def _arguments(reader: Reader, given: Path) -> list[str]:
    if reader.is_command:
        words = given.read_bytes().replace(b"\0", b"").decode(errors="surrogateescape").split("\n")
        return [each for each in words if each not in ELSEWHERE]
    return [str(given) if each == "{}" else each for each in reader.argv]


def _warmed(reader: Reader, given: Path) -> int:
    """The same in this process, silently."""
    sys.argv = ["neverlost", *_arguments(reader, given)]
    with (
        open(os.devnull, "w") as quiet,
        contextlib.redirect_stdout(quiet),
        contextlib.redirect_stderr(quiet),
        contextlib.suppress(SystemExit, InputError),
    ):
        reader.function(given) if reader.function is not None else cli.main()
    return 0


def _limited(reader: Reader, given: Path) -> None:
    """In the copy: limits first; a function that reads is called instead of the program."""
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (_used() + BYTES, _used() + BYTES))
    if reader.function is not None:
        try:
            reader.function(given)
        except InputError:
            sys.exit(64)
        sys.exit(0)


def _used() -> int:
    """Bytes of address space that the process has before it reads anything."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def found(numbers: range, seed: int, place: Path) -> Iterator[Tried]:
    """Mutants by their numbers, each reader in turn."""
    every = readers(place)
    forked.prepare()
    for each in every:  # what is imported and remembered once is not measured for each
        status(each, each.file.read_bytes(), place / "tried", is_apart=False)
    for number in numbers:
        reader = every[number % len(every)]
        content = mutated(reader.file.read_bytes(), random.Random(f"{seed} {number}"))
        started = time.monotonic()
        code = status(reader, content, place / "tried")
        said = place / "said" if reader.folder is not None else place / "tried" / "said"
        words = said.read_text(errors="replace") if said.exists() else ""
        yield Tried(number, reader.name, code, content, words, time.monotonic() - started)


def main() -> None:
    """Run many; keep the inputs that broke something."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="the number to go on with")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", default="mutants")
    asked = parser.parse_args()
    counts: Counter[int] = Counter()
    longest = 0.0
    with tempfile.TemporaryDirectory() as place:
        for each in found(range(asked.first, asked.count), asked.seed, Path(place)):
            counts[each.status] += 1
            longest = max(longest, each.seconds)
            if each.status not in CONTRACT:
                kept = Path(asked.keep)
                kept.mkdir(exist_ok=True)
                (kept / f"{each.number}").write_bytes(each.content)
                print(f"{each.number} {each.reader}: {each.status} {each.said.strip()[:300]}", flush=True)
            if each.number % 100 == 99:
                print(f"{each.number + 1}: {dict(counts)}, the longest {longest:.1f} s", flush=True)
    print(f"{sum(counts.values())} tried: {dict(counts)}, the longest {longest:.1f} s")
    sys.exit(any(each not in CONTRACT for each in counts))


if __name__ == "__main__":
    main()
