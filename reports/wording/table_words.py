"""How a page colours what a cell says, and the name of the model that has no ISR."""

from __future__ import annotations

from neverlost.checker.questions.tolerance.cell_words import BROKEN, GO_ON, HOLDS, KEPT, LOST, OK, STOPS, UNDECIDED

QUORUM = "a majority quorum, not Kafka"
"""What the model is called that has no ISR."""

KINDS = {OK: "holds", STOPS: "inconclusive", UNDECIDED: "inconclusive", LOST: "violated"}
KINDS |= {KEPT: "holds", GO_ON: "holds", HOLDS: "holds", BROKEN: "violated"}
"""How a page colours what a cell says."""
