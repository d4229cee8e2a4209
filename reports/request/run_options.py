"""How to search: checks the keywords of `neverlost.reports.request.keywords` and turns them into the engines' options."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from neverlost.checker.engine.engines.by_name import ENGINES
from neverlost.checker.engine.search.options import Options, SearchLimits
from neverlost.specs.errors import InputError, unknown

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}


@dataclass(frozen=True)
class RunOptions:
    """How to search; `neverlost.reports.request.keywords` says what each keyword means.  Errors: `InputError` for values that
    make no sense."""

    engine: str = "memory"
    symmetry: bool | None = False
    workers: int | None = None
    time_limit: float | None = None
    memory_limit: str | int | None = None
    state_dir: str | None = None
    resume: bool = False
    keep_going: bool = False
    master: str | None = None
    spark_conf: Sequence[str] | None = None
    states_each: int | None = None
    """Distinct states with which one search begins no further level: the same limit on every machine."""
    orbits: bool = False
    """Whether a search whose replicas are alike uses that: the same verdicts and steps, sooner."""
    started: float = field(default_factory=time.monotonic, repr=False, compare=False)
    """When the time of all began, by `time.monotonic()`."""

    def __new__(cls, *_: Any, **named: Any) -> RunOptions:
        for name in named.keys() - cls.__dataclass_fields__.keys():
            raise unknown("argument", name, [each for each in cls.__dataclass_fields__ if each != "started"], "the call")
        return super().__new__(cls)

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise unknown("engine", self.engine, ENGINES, "--engine")
        if self.workers is not None and not 1 <= self.workers <= 256:
            raise InputError(f"bad value '{self.workers}' for --workers: use a number from 1 to 256")
        if self.time_limit is not None and not self.time_limit > 0:
            raise InputError(f"bad value '{self.time_limit:g}' for --time-limit: use seconds above 0")
        if self.resume and self.state_dir is None:
            raise InputError("--resume needs --state-dir DIR: the levels of the run to go on from")
        self.options()

    def require_apart(self, out: str | PathLike[str] | None) -> None:
        """Raise `InputError` for a `state_dir` that is the directory of the results or lies inside it."""
        if self.state_dir is None or out is None or "://" in self.state_dir:
            return
        if Path(self.state_dir).resolve().is_relative_to(Path(out).resolve()):
            raise InputError(
                f"--state-dir {self.state_dir!r} is inside --out {str(out)!r}, whose files are sealed; name another"
            )

    @property
    def memory_bytes(self) -> int | None:
        """The memory limit; None without one.  Units: bytes."""
        return memory_size(self.memory_limit)

    def options(self) -> Options:
        """Return the options of the next search; all searches together have the time limit."""
        until = None if self.time_limit is None else self.started + self.time_limit
        return Options(
            limits=SearchLimits(self.time_limit, self.memory_bytes, states=self.states_each, until=until),
            workers=self.workers,
            symmetry=bool(self.symmetry),
            orbits=self.orbits,
            keep_going=self.keep_going,
            state_dir=self.state_dir,
            resume=self.resume,
            spark_master=self.master,
            spark_conf=tuple(_spark_setting(each) for each in self.spark_conf or ()),
        )


def _spark_setting(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    if not name or not value:
        raise InputError(f"bad --spark-conf {text!r}: write KEY=VALUE")
    return name, value


def memory_size(size: str | int | None) -> int | None:
    """Parse a size such as `512M` (millions) or `2GiB` as bytes; None for None.  Errors: `InputError` for anything else."""
    if size is None:
        return None
    match = re.fullmatch(r"(\d{1,12}(?:\.\d{1,6})?)\s*([kmg]?i?)b?", str(size).strip().lower())
    if match is None or match[2] not in UNITS or float(match[1]) * UNITS[match[2]] < 1:
        raise InputError(f"bad value {size!r} for --memory-limit: write a size such as 512M or 2G")
    return int(float(match[1]) * UNITS[match[2]])


def list_names(names: Iterable[str] | str | None) -> list[str] | None:
    """Return property names as a list (a text is one name); None if empty or None.  Errors: `InputError` for anything else."""
    found = [names] if isinstance(names, str) else list(names or ()) if isinstance(names, Iterable | None) else [names]
    if not all(isinstance(each, str) for each in found):
        raise InputError(f"bad properties {names!r}: give a name, or a list of names")
    return found or None
