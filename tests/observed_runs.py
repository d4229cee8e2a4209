"""Many seeded runs on real clusters, each held against the model: `python tests/observed_runs.py --runs 50`.

Every fourth seed produces with acks=1, every fifth has min.insync.replicas=1, every sixth allows unclean elections.  With
--out DIR each run's history and result stay there; runs whose history is there already are only judged again.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
FAULTS = "crash,lossy_crash,disk_loss,slow,pause,zombie,fence,leader_move,clean_stop,network,controller"


def settings_of(seed: int) -> dict[str, str]:
    """What a seed varies beside its faults."""
    found = {"acks": "1" if seed % 4 == 0 else "all", "min.insync.replicas": "1" if seed % 5 == 0 else "2"}
    return found | ({"unclean.leader.election.enable": "true"} if seed % 6 == 0 else {})


def ran(version: str, seed: int, seconds: float, faults: str, out: Path) -> dict[str, Any]:
    """The result of one run."""
    folder = out / f"{version}-{seed}"
    history = folder / "history.jsonl"
    if history.exists():
        how = [str(history)]
    else:
        given = [part for name, value in settings_of(seed).items() for part in ("--set", f"{name}={value}")]
        how = ["--kafka-version", version, "--seed", str(seed), "--duration", f"{seconds:g}", "--faults", faults, *given]
    target = folder / "observation.json"
    folder.mkdir(parents=True, exist_ok=True)
    more = [] if history.exists() else ["--out", str(folder)]
    command = [sys.executable, "-m", "reports.cli", "observe", *how, *more, "--json", str(target)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=seconds + 1500, check=False
    )
    (folder / "said.txt").write_text(done.stdout + done.stderr)
    if done.returncode not in (0, 20, 21):
        return {"verdict": f"failed: {done.stderr.strip().splitlines()[-1:]}", "status": done.returncode}
    return json.loads(target.read_text())


def size(ranges: str) -> int:
    """How many offsets `0-4,7` names."""
    ends = [list(map(int, each.split("-"))) for each in ranges.split(",")]
    return sum(each[-1] - each[0] + 1 for each in ends)


def row(version: str, seed: int, found: dict[str, Any]) -> str:
    """A line of the table."""
    if "config" not in found:
        return f"| {version} | {seed} | | | | | {found['verdict']} |"
    config, stretches = found["config"], found["stretches"]
    setting = f"acks={config['acks']} min ISR {config['min.insync.replicas']}"
    setting += " unclean" if config["unclean.leader.election.enable"] else ""
    lost = sum(size(each["offsets"]) for stretch in stretches[-1:] for each in stretch["acknowledged"] if each["may_be_lost"])
    verdict = found["verdict"] + (f"; {lost} acknowledged records may be lost" if lost else "")
    return (
        f"| {version} | {seed} | {setting} | {len(stretches)} | {found['offsets']:,} | {found['observations']:,} | {verdict} |"
    )


def all_runs(arguments: argparse.Namespace) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Every run, a few clusters side by side, in order."""
    wanted = [(version, arguments.first + seed) for seed in range(arguments.runs) for version in arguments.kafka_version]
    with ThreadPoolExecutor(arguments.side_by_side) as pool:
        running = [(one, pool.submit(ran, *one, arguments.duration, arguments.faults, Path(arguments.out))) for one in wanted]
        for (version, seed), future in running:
            yield version, seed, future.result()


def main() -> int:
    """Print the table; 0 when every run was explained."""
    reading = argparse.ArgumentParser(description=__doc__)
    reading.add_argument("--runs", type=int, default=50)
    reading.add_argument("--first", type=int, default=1)
    reading.add_argument("--kafka-version", nargs="+", default=["3.9", "4.3"])
    reading.add_argument("--duration", type=float, default=120)
    reading.add_argument("--faults", default=FAULTS)
    reading.add_argument("--side-by-side", type=int, default=2)
    reading.add_argument("--out", default="observed-runs")
    arguments = reading.parse_args()
    print(
        "| Kafka | seed | setting | stretches | offsets | observations | verdict |\n| --- | --- | --- | --- | --- | --- | --- |"
    )
    verdicts = []
    for version, seed, found in all_runs(arguments):
        print(row(version, seed, found), flush=True)
        verdicts.append(found["verdict"])
    print(f"\n{verdicts.count('explained')} of {len(verdicts)} explained")
    return 0 if all(each == "explained" for each in verdicts) else 21


if __name__ == "__main__":
    sys.exit(main())
