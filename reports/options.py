"""The options that several commands share, as the command line declares them."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from neverlost.specs.errors import InputError

ConfigFile = Annotated[str | None, typer.Argument(metavar="[CONFIG.toml]", help="configuration file", show_default=False)]
Settings = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="set one key (repeatable)")]
Properties = Annotated[list[str] | None, typer.Option("--property", metavar="NAME", help="check this property (repeatable)")]
Engine = Annotated[str, typer.Option("--engine", metavar="memory|columns|spark", help="where to search, and with what")]
SymmetryFlag = Annotated[bool, typer.Option("--symmetry/--no-symmetry", help="explore one state of each orbit of replicas")]
Workers = Annotated[int | None, typer.Option("--workers", metavar="N", help="processes (default: one per core)")]
OutDirectory = Annotated[str | None, typer.Option("--out", metavar="DIR", help="write results, traces and pictures here")]
JsonTarget = Annotated[str | None, typer.Option("--json", metavar="FILE|-", help="write the result document")]
TimeLimit = Annotated[float | None, typer.Option("--time-limit", metavar="SECONDS", help="stop, inconclusive, after this long")]
MemoryLimit = Annotated[str | None, typer.Option("--memory-limit", metavar="SIZE", help="memory to use, such as 2G")]
StateDirectory = Annotated[str | None, typer.Option("--state-dir", metavar="DIR", help="keep finished levels here")]
Resume = Annotated[bool, typer.Option("--resume", help="go on from the levels in --state-dir")]
KeepGoing = Annotated[bool, typer.Option("--continue", help="do not stop at the first violation")]
Master = Annotated[str | None, typer.Option("--master", metavar="URL", help="Spark master")]
ExportDirectory = Annotated[str | None, typer.Option("--export", metavar="DIR", help="write the states here, as Parquet")]
Forecasting = Annotated[
    bool | None,
    typer.Option("--forecast/--no-forecast", help="only say what it will cost; or run a limited search without asking that"),
]
SparkConf = Annotated[list[str] | None, typer.Option("--spark-conf", metavar="K=V", help="Spark setting (repeatable)")]

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}


def memory_size(text: str | None) -> int | None:
    """Bytes of a size such as `512M` or `2GiB`.

    Errors: `InputError` for anything else.
    """
    if text is None:
        return None
    match = re.fullmatch(r"(\d{1,12}(?:\.\d{1,6})?)\s*([kmg]?i?)b?", text.strip().lower())
    if match is None or match[2] not in _UNITS or float(match[1]) <= 0:
        raise InputError(f"bad value {text!r} for --memory-limit: write a size such as 512M or 2G")
    return int(float(match[1]) * _UNITS[match[2]])
