"""The same chain as a PRISM program, and what Storm, a probabilistic model checker, says about it where it is installed."""

from __future__ import annotations

import tempfile
from pathlib import Path

from neverlost.checker.questions.nines.chain import EXIT, Chain
from neverlost.specs.errors import InputError


def prism(chain: Chain) -> str:
    """The chain in PRISM's language: `s` is the state, and the last one stands for all that is outside the region."""
    size = len(chain.states)
    lines = ["ctmc", "", "module replicas", f"  s : [0..{size}] init 0;"]
    for source, row in enumerate(chain.rates):
        moves = " + ".join(f"{rate!r} : (s'={size if target == EXIT else target})" for target, rate in sorted(row.items()))
        lines.append(f"  [] s={source} -> {moves};")
    return "\n".join([*lines, "endmodule", "", f'label "left" = s={size};', ""])


def probability(chain: Chain, years: float = 1.0) -> float:
    """What Storm says about leaving the region within so many years.

    Errors: `InputError` where it is not installed.
    """
    try:
        import stormpy
    except ImportError:
        raise InputError("stormpy is not installed; pip install 'neverlost[storm]'") from None
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "chain.prism"
        file.write_text(prism(chain), encoding="utf-8")
        program = stormpy.parse_prism_program(str(file), prism_compatibility=True)
        asked = stormpy.parse_properties(f'P=? [ F<={years!r} "left" ]', program)
        model = stormpy.build_model(program, asked)
        return float(stormpy.model_checking(model, asked[0]).get_value(model.initial_states[0]))
