"""Makes the page that holds an ISR and a majority quorum against each other: `python -m tests.publish.isr_and_majority`.

For each number of copies, the largest number of brokers impaired at once, any number of times, with which the property still
holds in every reachable state.  A question that is not decided within its time says so.
"""

from __future__ import annotations

from typing import Any

import neverlost

SECONDS = 75
ISR = {"model": "kraft-elr", "defects": "fixed"}
COLUMNS = (
    ("writes go on with so many down", {"ISR": "stays-writable", "majority": "quorum-stays-writable"}, "faults.kill", True),
    ("power losses survived", "acked-never-lost", "faults.lossy_crash", False),
    ("destroyed disks survived", "acked-never-lost", "faults.disk_loss", False),
)


def systems(copies: int) -> list[tuple[str, str, dict[str, Any]]]:
    """Every design with so many copies: its kind, its name in the table, and its keys."""
    found = [("ISR", f"ISR, min ISR {least}", ISR | {"min.insync.replicas": least}) for least in range(1, min(copies, 3) + 1)]
    found += [("majority", "majority", {"model": "majority"})]
    return [*found, ("majority", "majority that flushes", {"model": "majority", "flush.messages": "1"})]


def verdict(keys: dict[str, Any], name: str) -> str:
    """What is found of one property."""
    found = neverlost.check(keys, properties=[name], advise=False, time_limit=SECONDS, symmetry=True, forecast=False)
    return str(found.verdict)


def most(copies: int, kind: str, keys: dict[str, Any], column: tuple[str, Any, str, bool]) -> str:
    """The largest number with which the property holds."""
    _, asked, fault, is_total = column
    name = asked if isinstance(asked, str) else asked[kind]
    for many in range(1, copies + 1):
        limit = {fault: "any", "faults.at_once": many} if is_total else {fault: f"any:{many}"}
        found = verdict({**keys, **limit, "replication.factor": copies, "bounds.records": 1}, name)
        if found != "holds":
            return str(many - 1) if found == "violated" else f"at least {many - 1}"
    return f"{copies} (all)"


def main() -> None:
    """Print the page, a row as soon as it is found."""
    print("# An ISR and a majority quorum\n")
    print(
        "Made by `python -m tests.publish.isr_and_majority`: one record, any number of faults of one kind, on at most so many"
    )
    print(
        "brokers at once. ISR is Kafka's with eligible leader replicas, as designed (`defects=fixed`), with all replicas in the"
    )
    print("ISR at first; a majority is `model=majority`. Neither loses an acknowledged record by stops alone.\n")
    print("| copies | design | " + " | ".join(title for title, *_ in COLUMNS) + " |")
    print("| --- | --- |" + " --- |" * len(COLUMNS), flush=True)
    for copies in range(1, 6):
        for kind, name, keys in systems(copies):
            cells = [most(copies, kind, keys, each) for each in COLUMNS]
            print(f"| {copies} | {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
