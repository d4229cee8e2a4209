"""How likely a loss is, beside the tables of `tolerance`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from neverlost.reports.questions.tolerance.api import ToleranceResult


class BesideTolerance:
    """Bounds of loss for each group of topics; what was computed beforehand is looked up unless it is asked `again`."""

    def __init__(self, again: bool) -> None:
        self.again = again

    def find(self, result: ToleranceResult) -> dict[str, Any]:
        """Return the bounds by the name of a group of topics."""
        from neverlost.checker.questions.atlas.index import shipped
        from neverlost.reports.questions.nines import api
        from neverlost.reports.request.run_options import RunOptions

        return api.bounds_by_label(
            [each.chosen for each in result.subjects], RunOptions(), None, None if self.again else shipped()
        )

    def show(self, out: Console, bounds: Mapping[str, Any]) -> None:
        """Print a sentence for each group, the fewest nines first."""
        from neverlost.reports.questions.nines import document

        for each in sorted(bounds.values(), key=document.sort_key):
            out.print(Text(f"{each['label']}: {document.sentences(each)[0]}"))
        out.print(Text("At the shipped rates; neverlost nines says what is assumed, and what buys the next nine.", "dim"))
