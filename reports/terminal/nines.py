"""Bounds of loss for people at a terminal: what a review cites, then what is assumed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from neverlost.reports.documents import nines as describe


def show(out: Console, document: Mapping[str, Any]) -> None:
    """Each configuration with its sentences, the assumptions once."""
    for found in document["nines"].values():
        out.print(Text(found["heading"], "bold"))
        first, *others = describe.sentences(found)
        out.print(Text(first, "bold"))
        for each in others:
            out.print(Text(each))
        out.print()
    for each in document["assumptions"]:
        out.print(Text(each, "dim"))


def lines(document: Mapping[str, Any]) -> Iterable[str]:
    """The bound and nothing else."""
    return [f"{subject}: {describe.sentences(found)[0]}" for subject, found in document["nines"].items()]
