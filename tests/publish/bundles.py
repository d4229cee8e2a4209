"""One evidence bundle of each kind, published: `python -m tests.publish.bundles` writes them anew, in seconds."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import neverlost
from tests.support import forger
from tests.support.program import ROOT

PLACE = ROOT / "reports" / "published" / "bundles"
MAKE = "python -m tests.publish.bundles"
KINDS = (*forger.KINDS, *forger.TABLES, "induction")


def write(kind: str) -> None:
    """A kind's bundle, in the place of the one that was there."""
    with tempfile.TemporaryDirectory() as place:
        if kind == "induction":
            keys = {"model": "kip-320", "replication.factor": 2, "bounds.records": 1, "bounds.max_leader_epoch": 1}
            neverlost.prove(keys, method="induction", properties=["strong-isr"], out=Path(place, "bundle"))
        else:
            forger.write(kind, Path(place))
        shutil.rmtree(PLACE / kind, ignore_errors=True)
        shutil.copytree(Path(place, "bundle"), PLACE / kind)


if __name__ == "__main__":
    for each in KINDS:
        write(each)
        found = neverlost.verify(PLACE / each)
        print(f"{each}: {found.verdict}")
