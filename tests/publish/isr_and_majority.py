"""Makes the page that holds an ISR and a majority quorum against each other: `python -m tests.publish.isr_and_majority`.

For each number of copies, the largest number of brokers that may suffer from a kind of fault at once, any number of times,
with which the property still holds in every reachable state.  A question that is not decided within its time says so.
"""

from __future__ import annotations

from typing import Any

import neverlost

SECONDS = 60
ISR = {"model": "kraft-elr", "defects": "fixed"}
COLUMNS = (
    ("writes go on with so many down at once", {"ISR": "stays-writable", "majority": "quorum-stays-writable"}, "faults.kill"),
    ("without power at once, survived", {"ISR": "acked-never-lost", "majority": "acked-never-lost"}, "faults.lossy_crash"),
    ("disks destroyed at once, survived", {"ISR": "acked-never-lost", "majority": "acked-never-lost"}, "faults.disk_loss"),
)


def systems(copies: int) -> list[tuple[str, str, dict[str, Any]]]:
    """Every design with so many copies: its kind, its name in the table, and its keys."""
    found = [("ISR", f"ISR, min ISR {least}", ISR | {"min.insync.replicas": least}) for least in range(1, min(copies, 3) + 1)]
    found += [("majority", "majority", {"model": "majority"})]
    return [*found, ("majority", "majority that flushes", {"model": "majority", "flush.messages": "1"})]


def most(copies: int, kind: str, keys: dict[str, Any], column: tuple[str, dict[str, str], str]) -> str:
    """The largest number with which the property holds."""
    _, asked, fault = column
    for many in range(1, copies + 1):
        settings = {**keys, fault: f"any:{many}", "replication.factor": copies, "bounds.records": 1}
        found = neverlost.check(
            settings, properties=[asked[kind]], advise=False, time_limit=SECONDS, symmetry=True, forecast=False
        )
        if str(found.verdict) != "holds":
            return str(many - 1) if str(found.verdict) == "violated" else f"at least {many - 1}"
    return f"{copies} (all)"


def main() -> None:
    """Print the page, a row as soon as it is found."""
    print("# An ISR and a majority quorum\n")
    print(
        "Made by `python -m tests.publish.isr_and_majority`: one record, faults of one kind in any number. ISR is Kafka's with"
    )
    print("eligible leader replicas, as designed (`defects=fixed`), with all replicas in the ISR at first; a majority is")
    print("`model=majority`. Stops alone lose nothing in either (`majority-copies`, `fplus1-tolerates-f`).\n")
    print("| copies | design | " + " | ".join(title for title, *_ in COLUMNS) + " |")
    print("| --- | --- |" + " --- |" * len(COLUMNS), flush=True)
    for copies in range(1, 6):
        for kind, name, keys in systems(copies):
            cells = [most(copies, kind, keys, each) for each in COLUMNS]
            print(f"| {copies} | {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
