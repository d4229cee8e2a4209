"""The words in the cells of a tolerance table, and the name of the model that has no ISR."""

from __future__ import annotations

OK, STOPS, LOST, UNDECIDED, ACCEPTED = "ok", "writes stop", "LOST", "not decided", "interrupted as accepted"
"""What a cell says; the first three are ordered from good to bad.  The last is what `roll` says where writes may stop."""

KEPT, HOLDS, BROKEN = "not lost", "holds", "VIOLATED"
"""What a cell says where writes were not asked about: of records, and of any other property."""

SAFE = (OK, STOPS, KEPT, HOLDS)
"""What says that nothing is lost or violated."""

QUORUM = "a majority quorum, not Kafka"
"""What the model is called that has no ISR."""

KINDS = {OK: "holds", STOPS: "inconclusive", UNDECIDED: "inconclusive", LOST: "violated"}
KINDS |= {KEPT: "holds", HOLDS: "holds", BROKEN: "violated"}
"""How a page colours what a cell says."""
