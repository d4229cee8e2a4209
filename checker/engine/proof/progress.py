"""How far a proof by induction is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class ProofProgress:
    """How far a proof is: obligations `proved`, and answered but not proved (`open`); `tasks` that are done, of `of` in all."""

    proved: int
    open: int
    tasks: int
    of: int
    seconds: float

    @property
    def left(self) -> float:
        """An estimate of what is left, as if the rest took as long as what is done.  Units: seconds."""
        return self.seconds / max(1, self.tasks) * (self.of - self.tasks)


Reporter = Callable[[ProofProgress], None]
"""Called with how far a proof is, from the driving process only."""
