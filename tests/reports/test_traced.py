"""Under `strace`, opening a bundle writes nowhere, starts nothing and connects to nothing: honest ones and forged ones."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import neverlost
from tests.support import forger
from tests.support.forger import INDUCTION, KINDS, TABLES, Files

pytestmark = pytest.mark.trace

NEVERLOST = Path(sys.executable).with_name("neverlost")
CALLS = (
    *("open", "openat", "openat2", "creat", "execve", "execveat", "connect", "bind", "sendto", "unlink", "unlinkat", "rename"),
    *("renameat", "renameat2", "mkdir", "mkdirat", "rmdir", "link", "linkat", "symlink", "symlinkat", "truncate", "chmod"),
    *("fchmodat", "chown", "fchownat", "mknod", "mknodat", "utimensat"),
)
CALL = re.compile(r"^\d+ +(\w+)\((.*)\) += (-?\d+)")
TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')
WRITES = re.compile(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND")
LARGE = "large"
"""A bundle whose search moves to machine code, which another process makes."""

HOSTILE = {
    "hashlib.py": "raise SystemExit('a module of the folder was imported')",
    "sitecustomize.py": "raise SystemExit('a module of the folder was imported')",
}


def write(kind: str, place: Path) -> None:
    if kind != LARGE:
        forger.write(kind, place)
        return
    keys = {
        "model": "kip-320",
        "replication.factor": 3,
        "bounds.log_size": 2,
        "bounds.max_leader_epoch": 2,
        "bounds.records": 2,
    }
    neverlost.check(keys, properties=["strong-isr"], out=place / "bundle")


def traced(place: Path, *options: str) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """Verify the bundle of a folder, from within the bundle; the run, and the calls that it must not make."""
    scratch, home = place / "scratch", place / "home"
    scratch.mkdir()
    home.mkdir()
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(home), "TMPDIR": str(scratch), "LANG": "C.UTF-8"}
    command = [
        *("strace", "-f", "-qq", "-s", "4096", "-e", f"trace={','.join(f'?{each}' for each in CALLS)}"),
        *("-o", str(place / "log"), str(NEVERLOST), "verify", str(place / "bundle"), *options),
    ]
    subprocess.run(
        [NEVERLOST, "--version"], env=environment, capture_output=True, check=True
    )  # bytecode of what it begins with
    ran = subprocess.run(command, cwd=place / "bundle", env=environment, capture_output=True, text=True, check=False)
    return ran, list(forbidden((place / "log").read_text().splitlines(), scratch, home))


def forbidden(lines: list[str], scratch: Path, home: Path) -> Iterator[str]:
    ours = {str(NEVERLOST), sys.executable, os.path.realpath(sys.executable), "/usr/bin/git", "/bin/git"}
    seen = 0
    for line in lines:
        call = CALL.match(line)
        if call is None:
            continue
        seen += 1
        name, given, result = call.groups()
        texts = TEXT.findall(given)
        if name in ("connect", "bind", "sendto"):
            yield line
        elif name.startswith("exec"):
            if result == "0" and texts[0] not in ours:
                yield line
        elif name.startswith("open") and not WRITES.search(given):
            continue
        elif not all(is_ours(each, scratch, home) for each in texts) and not result.startswith("-"):
            yield line
    assert seen > 100, "strace saw the run"


def is_ours(place: str, scratch: Path, home: Path) -> bool:
    """Whether a place is scratch, the null device, memory that processes share, or the cache of compiled code."""
    if not place.startswith("/"):
        return "/" not in place  # a name in a folder that is open already
    shared = ("/dev/null", "/dev/tty", "/dev/shm/", f"{scratch}/", f"{home}/.cache/neverlost")
    return place.startswith(shared) or place == str(scratch)


@pytest.mark.parametrize("kind", [*KINDS, *TABLES, INDUCTION, LARGE])
def test_an_honest_bundle_is_opened_without_a_trace(kind: str, tmp_path: Path) -> None:
    write(kind, tmp_path)
    before = {each: each.read_bytes() for each in (tmp_path / "bundle").rglob("*") if each.is_file()}
    ran, wrong = traced(tmp_path)
    assert (ran.returncode, wrong) == (0, []), ran.stderr
    assert {each: each.read_bytes() for each in (tmp_path / "bundle").rglob("*") if each.is_file()} == before
    assert list((tmp_path / "scratch").iterdir()) == []


def with_obligation(files: Files) -> Files:
    text = b'(set-option :regular-output-channel "written.txt")(set-option :diagnostic-output-channel "written.txt")(check-sat)'
    return forger.sealed(files, **{"obligations/strong-isr/099-extra.smt2": text})


def with_reason(files: Files) -> Files:
    forged = forger.rewritten(
        files, "result.json", lambda document: {**document, "verdict": "inconclusive", "reason": "the time limit was reached"}
    )
    return with_obligation(forged)


def with_hostile_modules(files: Files) -> Files:
    return forger.sealed(files, **{name: text.encode() for name, text in HOSTILE.items()})


FORGERIES: dict[str, Callable[[Files], Files]] = {
    "an obligation more": with_obligation,
    "a reason and an obligation more": with_reason,
    "modules": with_hostile_modules,
    "a question that reads other files": lambda files: forger.asking(
        files, lambda document: document["arguments"].update(config="/etc/hostname")
    ),
    "an engine": lambda files: forger.asking(files, lambda document: document["arguments"].update(engine="spark")),
}


@pytest.fixture(scope="module")
def proved(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """The files of a proof with its obligations."""
    place = tmp_path_factory.mktemp("proved")
    write(INDUCTION, place)
    bundle = place / "bundle"
    return {each.relative_to(bundle).as_posix(): each.read_bytes() for each in bundle.rglob("*") if each.is_file()}


@pytest.mark.parametrize("how", FORGERIES)
def test_a_forged_bundle_is_refused_without_a_trace(how: str, proved: Files, tmp_path: Path) -> None:
    bundle = tmp_path / "bundle"
    for name, content in FORGERIES[how](proved).items():
        (bundle / name).parent.mkdir(parents=True, exist_ok=True)
        (bundle / name).write_bytes(content)
    ran, wrong = traced(tmp_path)
    assert (ran.returncode, wrong) == (64, []), ran.stdout
    assert len(ran.stderr.splitlines()) == 1 and json.dumps(ran.stderr).isascii()


def test_a_program_that_writes_elsewhere_is_seen(tmp_path: Path) -> None:
    """The harness fails what it should fail."""
    log = [
        f'1 openat(AT_FDCWD, "{tmp_path}/bundle/report.md", O_WRONLY|O_CREAT|O_CLOEXEC, 0666) = 3',
        '1 execve("/usr/bin/z3", ["z3"], 0x1 /* 3 vars */) = 0',
        "1 connect(3, {sa_family=AF_INET, sin_port=htons(80)}, 16) = 0",
        '1 unlink("/root/file") = 0',
    ]
    noise = ['1 openat(AT_FDCWD, "/dev/null", O_RDWR) = 4'] * 101
    assert list(forbidden(noise + log, tmp_path / "scratch", tmp_path / "home")) == log
