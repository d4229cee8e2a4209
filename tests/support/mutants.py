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
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import typer

from neverlost.reports import cli
from neverlost.specs.claim import read_source
from neverlost.specs.errors import InputError
from neverlost.specs.necessity import read_plan
from neverlost.specs.scenario import read_scenario
from tests.publish.bundles import PLACE
from tests.support import forger
from tests.support.program import DATA, ROOT

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
    *("--time-limit", "0.3", "--no-forecast", "--workers", "1", "--quiet"),
)
"""What is read is what is tried: with faults to search for, `check` would make whole tables of what it reads."""
OBSERVED = ("--no-losses", "--time-limit", "3", "--quiet")

TOKENS = (
    b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\xe2\x80\xae", b"NaN", b"1e400", b"-1", b"9" * 400, b"[" * 300, b"{" * 300,
    b'"', b"'",
    b"\\", b"\n", b"\r", b"../../etc/passwd", b"/dev/zero", b"null", b"true", b"[]", b"{}", b"=", b":", b",", b"\t",
    b"0x7f", b"&a *a",
    b"!!python/object:os.system", b"${x}", b"%s", b"<![CDATA[", b"\xc3\x28", b"inf", b"1..99999", b"any:99", b"[[pair]]",
)  # fmt: skip


@dataclass(frozen=True)
class Reader:
    """What reads a file: `argv` of the program with `{}` for the file, or a function; `file` is what is mutated."""

    name: str
    file: Path
    argv: tuple[str, ...] = ()
    function: Callable[[Path], object] | None = None
    folder: Path | None = None


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
        Reader(
            "printed log",
            _first(observed / "kafka-dump-log-4.3.txt", place),
            ("observe", "--metadata-log", "{}", "--topic", "t", *OBSERVED),
        ),
        Reader(
            "broker log",
            _first(observed / "brokers-4.3.log", place),
            ("observe", "--broker-log", "{}", "--topic", "t", *OBSERVED),
        ),
        Reader("scenario", ROOT / "specs" / "scenarios" / "last-replica-standing.toml", function=read_scenario),
        Reader("claims", ROOT / "specs" / "claims" / "confluent-replication.toml", function=read_source),
        Reader("plan", ROOT / "specs" / "necessity" / "kip-320.toml", function=read_plan),
    ]
    for path in sorted((kafka / "formats").iterdir()):
        found.append(Reader(f"describe {path.name}", path, ("check", "--describe", "{}", "--no-advise", *BRIEF)))
    for path in sorted(kafka.glob("describe-*.txt")) + sorted(kafka.glob("configs-*.txt")):
        option = "--describe" if path.name.startswith("describe") else "--configs"
        found.append(Reader(path.name, path, ("check", option, "{}", "--no-advise", *BRIEF)))
    for path in sorted((kafka / "clients").iterdir()):
        found.append(Reader(f"producer {path.name}", path, ("check", "--producer-properties", "{}", *BRIEF)))
    for kind in ("proof", "observation"):
        for name in ("manifest.json", "question.json", "result.json"):
            found.append(Reader(f"verify {kind} {name}", PLACE / kind / name, ("verify", "{}"), folder=PLACE / kind))
    found.append(Reader("report", PLACE / "check" / "result.json", ("report", "{}"), folder=PLACE / "check"))
    return [each for each in found if each.file.exists()]


def _first(path: Path, place: Path) -> Path:
    """The first lines of a file, under its name elsewhere."""
    (place / path.name).write_text("\n".join(path.read_text().splitlines()[:30]) + "\n")
    return place / path.name


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
    child = os.fork()
    if child == 0:
        os._exit(_run(reader, given))
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        done, found = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(found)
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -9


def _warmed(reader: Reader, given: Path) -> int:
    """The same in this process, silently."""
    sys.argv = ["neverlost", *(str(given) if each == "{}" else each for each in reader.argv)]
    with (
        open(os.devnull, "w") as quiet,
        contextlib.redirect_stdout(quiet),
        contextlib.redirect_stderr(quiet),
        contextlib.suppress(SystemExit),
    ):
        reader.function(given) if reader.function is not None else cli.main()
    return 0


def _run(reader: Reader, given: Path) -> int:
    quiet = os.open(os.devnull, os.O_RDWR)
    said = os.open(given.parent / "said", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream, target in ((0, quiet), (1, quiet), (2, said)):
        os.dup2(target, stream)
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (_used() + BYTES, _used() + BYTES))
    try:
        if reader.function is not None:
            reader.function(given)
            return 0
        sys.argv = ["neverlost", *(str(given) if each == "{}" else each for each in reader.argv)]
        cli.main()
    except InputError:
        return 64
    except SystemExit as done:
        sys.stderr.flush()
        return done.code if isinstance(done.code, int) else 1
    except BaseException as problem:
        os.write(2, f"{type(problem).__name__}: {problem}".encode())
        return 70


def _used() -> int:
    """Bytes of address space that the process has before it reads anything."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def _put_together() -> None:
    """The commands, once: every child would do it again."""
    with contextlib.suppress(AttributeError):
        cli._register()
        cli.app = typer.main.get_command(cli.app)  # type: ignore[assignment]
    cli._register = lambda: None


def found(numbers: range, seed: int, place: Path) -> Iterator[Tried]:
    """Mutants by their numbers, each reader in turn."""
    every = readers(place)
    _put_together()
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
