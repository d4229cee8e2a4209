"""The table of modern configurations: `python -m tests.tools.bench.modern` explores each completely and prints its row."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys

BASE = ["--set", "model=kraft-elr", "--continue", "--json", "-"]
CONFIGURATIONS = {
    "RF 3, min ISR 2, 2 records, crash 1, lossy 1, shrink 1, move 1": (
        "min.insync.replicas=2 bounds.records=2 faults.crash=1 faults.lossy_crash=1 faults.isr_shrink=1 faults.leader_move=1"
    ),
    "RF 3, min ISR 2, 1 record, crash 1, lossy 1, shrink 2, move 1, fence 1": (
        "min.insync.replicas=2 bounds.records=1 faults.crash=1 faults.lossy_crash=1 faults.isr_shrink=2 faults.leader_move=1 "
        "faults.fence=1"
    ),
    "RF 5, min ISR 3, 1 record, lossy 2, shrink 2": (
        "replication.factor=5 min.insync.replicas=3 bounds.records=1 faults.lossy_crash=2 faults.isr_shrink=2"
    ),
}


def row(name: str, keys: str) -> str:
    """Explore one configuration in a process of its own."""
    settings = [part for key in keys.split() for part in ("--set", key)]
    done = subprocess.run(
        [sys.executable, "-m", "neverlost", "check", *BASE, *settings], capture_output=True, text=True, check=False
    )
    found = json.loads(done.stdout)
    states, verdicts = found["states"], {each["name"]: each["verdict"] for each in found["properties"]}
    return (
        f"| {name} | {verdicts['acked-never-lost']} | {states['distinct']:,} | {states['generated']:,} | {states['depth']} "
        f"| {found['seconds']:.0f} s, {found['peak_memory_bytes'] / 1e9:.1f} GB |"
    )


def main() -> None:
    """Print the table."""
    print(f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python {platform.python_version()}")
    print("| kraft-elr | acked-never-lost | distinct | generated | depth | time, memory |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, keys in CONFIGURATIONS.items():
        print(row(name, keys), flush=True)


if __name__ == "__main__":
    main()
