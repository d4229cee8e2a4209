"""What NumPy has to know of this processor before it is imported; this file must not import it.

NumPy 2.4 does not use its AVX-512 sort on AMD processors, and does not fall back to its AVX2 one either, which sorts
64-bit words about five times as fast as no vectors at all.  Turning AVX-512 off brings the AVX2 sort back.
"""

from __future__ import annotations

import os
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

VARIABLE = "NPY_DISABLE_CPU_FEATURES"


def choose_features(described: str, numpy_version: str) -> str | None:
    """Return the features to turn off by `VARIABLE`, from the text of /proc/cpuinfo; None where nothing is to be gained."""
    flags = next((line for line in described.splitlines() if line.startswith("flags")), "").split()
    is_amd = "AuthenticAMD" in described
    is_concerned = numpy_version.startswith("2.4.") and is_amd and {"avx512f", "avx512_vbmi2"} <= set(flags)
    return "X86_V4 AVX512_ICL" if is_concerned else None


def environment() -> dict[str, str]:
    """Return variables for new Python processes: `VARIABLE`, where that gains something and the user has not set it."""
    try:
        wanted = choose_features(Path("/proc/cpuinfo").read_text(), version("numpy"))
    except (OSError, PackageNotFoundError):
        return {}
    return {} if wanted is None or VARIABLE in os.environ else {VARIABLE: wanted}
