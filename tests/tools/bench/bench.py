"""Our memory engine beside Spin, Stateright and TLC on the same state spaces, in one run: `python -m tests.tools.bench.bench`.

Every program must count the same distinct states; where one does not, the run ends with status 1.  Times are of one
run each: compare on an idle machine.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from importlib import metadata
from pathlib import Path

from tests.tools.bench.peers import PEERS, Limits, Row, Size

SMALL = (Size(2, 2, 2, 2), Size(3, 2, 2, 1), Size(3, 1, 1, 2), Size(3, 2, 2, 2))
LARGE = (Size(3, 3, 3, 2), Size(3, 3, 3, 3))
MEBIBYTE = 1 << 20


def machine() -> dict[str, object]:
    """What the figures were measured on."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // MEBIBYTE
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    models = Path("/proc/cpuinfo")
    lines = models.read_text().splitlines() if models.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {
        "cores": cores,
        "memory_mib": memory,
        "processor": names[0] if names else platform.processor() or platform.machine(),
        "python": platform.python_version(),
        "numpy": metadata.version("numpy"),
        "system": f"{platform.system()} {platform.machine()}",
    }


def shown(row: Row, reference: int | None) -> str:
    """One line of the table."""
    if row.distinct is None:
        return f"  {row.program:<22} {row.note}"
    rate = row.distinct / max(row.search_seconds, 0.01)
    equal = "" if reference is None else "equal" if row.distinct == reference else "NOT EQUAL"
    depth = "-" if row.depth is None else str(row.depth)
    return (
        f"  {row.program:<22} {row.distinct:>12,} {depth:>6} {row.wall_seconds:>9.2f} {row.search_seconds:>9.2f} "
        f"{rate:>12,.0f} {row.peak_bytes / MEBIBYTE:>9,.0f}  {equal}"
    )


def agree(rows: Sequence[Row]) -> bool:
    """Whether all counts are equal, and so are the depths of those that have one."""
    counts = {row.distinct for row in rows if row.distinct is not None}
    depths = {row.depth for row in rows if row.depth is not None}
    return len(counts) <= 1 and len(depths) <= 1


def run(size: Size, peers: Sequence[str], limits: Limits) -> list[Row]:
    """One size through every program, printed as it goes."""
    print(f"\nkip-320, {size}", flush=True)
    print(f"  {'program':<22} {'distinct':>12} {'depth':>6} {'wall s':>9} {'search s':>9} {'states/s':>12} {'peak MiB':>9}")
    rows: list[Row] = []
    for peer in peers:
        with tempfile.TemporaryDirectory() as folder:
            rows.append(PEERS[peer](size, limits, Path(folder)))
        reference = next((row.distinct for row in rows[:-1] if row.distinct is not None), None)
        print(shown(rows[-1], reference), flush=True)
    if not agree(rows):
        print("  the programs do not agree")
    return rows


def _size(text: str) -> Size:
    parts = text.split(",")
    if len(parts) != 4 or not all(part.isdigit() for part in parts):
        raise argparse.ArgumentTypeError(f"{text!r}: use REPLICAS,LOG_SIZE,RECORDS,MAX_EPOCH such as 3,2,2,2")
    return Size(*map(int, parts))


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; 0 if every count is equal."""
    parser = argparse.ArgumentParser(prog="python -m tests.tools.bench.bench", description=__doc__)
    parser.add_argument("--size", type=_size, action="append", help="REPLICAS,LOG_SIZE,RECORDS,MAX_EPOCH; repeatable")
    parser.add_argument("--large", action="store_true", help="also 4,093,531 and 64,739,578 states (minutes, 8 GiB)")
    parser.add_argument("--peers", default=",".join(PEERS), help="comma separated, of: " + ", ".join(PEERS))
    parser.add_argument("--time-limit", type=float, default=900, help="seconds for one run (default: 900)")
    parser.add_argument("--memory-limit", type=int, default=8192, help="MiB for Spin (default: 8192)")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="for ours and TLC (default: all cores)")
    parser.add_argument("--json", type=Path, help="write machine and rows to this file")
    given = parser.parse_args(arguments)
    peers = given.peers.split(",")
    if not set(peers) <= set(PEERS):
        parser.error(f"unknown peers {given.peers!r}; available: {', '.join(PEERS)}")
    sizes = given.size or [*SMALL, *(LARGE if given.large else ())]
    limits = Limits(given.time_limit, given.memory_limit, given.workers)
    here = machine()
    print("machine: {cores} cores, {memory_mib} MiB, {processor}, Python {python}, NumPy {numpy}, {system}".format(**here))
    found = {str(size): run(size, peers, limits) for size in sizes}
    print("\nneverlost and Spin distinguish states by the whole state; Stateright and TLC by 64-bit fingerprints.")
    print("Spin and Stateright are compiled beforehand; the wall time of neverlost and TLC includes their start.")
    if given.json:
        document = {"machine": here, "rows": {size: [asdict(row) for row in rows] for size, rows in found.items()}}
        partial = given.json.with_suffix(".partial")
        partial.write_text(json.dumps(document, indent=1) + "\n")
        partial.replace(given.json)
    return 0 if all(map(agree, found.values())) else 1


if __name__ == "__main__":
    sys.exit(main())
