"""One evidence bundle of each kind, published: `python -m tests.tools.publish.bundles` writes them anew, in seconds."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import neverlost
from tests.support import forger
from tests.support.program import ROOT

PLACE = ROOT / "reports" / "published" / "bundles"
MAKE = "python -m tests.tools.publish.bundles"
KINDS = (*forger.KINDS, *forger.TABLES, forger.INDUCTION)


def write(kind: str) -> None:
    """A kind's bundle, in the place of the one that was there."""
    with tempfile.TemporaryDirectory() as place:
        forger.write(kind, Path(place))
        shutil.rmtree(PLACE / kind, ignore_errors=True)
        shutil.copytree(Path(place, "bundle"), PLACE / kind)


if __name__ == "__main__":
    for each in KINDS:
        write(each)
        found = neverlost.verify(PLACE / each)
        print(f"{each}: {found.verdict}")
