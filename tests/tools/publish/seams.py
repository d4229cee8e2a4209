"""Makes the page about the seams: `python -m tests.tools.publish.seams`.

For each model what was explored completely and what it says there; each known bug at a size that shows it; and with which
settings acknowledged data outlives the loss of a controller's directory.  Every row is a process of its own, with limits.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

LIMITS = ("--time-limit", "300", "--memory-limit", "4G", "--no-advise")
THREE = "model=kraft-quorum replication.factor=3 bounds.max_leader_epoch=2"
COMPOSED = "model=kraft-composed quorum.voters=3 bounds.records=1 bounds.max_leader_epoch=2"
FULL = "bounds.producers=2 bounds.partitions=2 bounds.transactions=2"

WHOLE = (
    f"{THREE} faults.kill=any faults.lossy_crash=any",
    f"{THREE} mechanism.pre-vote=on faults.kill=any",
    f"{THREE} mechanism.directory-ids=on faults.kill=1 faults.disk_loss=1",
    f"{THREE} mechanism.snapshots=on faults.kill=any faults.lossy_crash=any",
    f"{THREE} bounds.voter_changes=1 faults.kill=any",
    f"{THREE} bounds.voter_changes=1 mechanism.directory-ids=on faults.kill=1 faults.disk_loss=1",
    f"{THREE} bounds.voter_changes=2 faults.kill=any",
    f"{COMPOSED} replication.factor=3 min.insync.replicas=2 mechanism.directory-ids=on faults.disk_loss=1",
    f"{COMPOSED} replication.factor=3 min.insync.replicas=1",
    f"model=transactions {FULL}",
    f"model=transactions {FULL} faults.producer_crash=2 faults.coordinator_move=1",
    f"model=transactions {FULL} faults.late_request=1",
    f"model=transactions {FULL} faults.request_retry=1",
    f"model=transactions {FULL} faults.marker_retry=1",
    "model=majority replication.factor=3 bounds.records=1 faults.kill=any faults.lossy_crash=any flush.messages=1",
)
"""Explored to the end; nothing is violated."""

ALONE = "model=kraft-quorum replication.factor=1 bounds.max_leader_epoch=2 mechanism.snapshots=on"
BUGS = (
    ("KAFKA-14205", f"{THREE} faults.disk_loss=1", "quorum-keeps-acked"),
    ("KAFKA-14205", f"{COMPOSED} replication.factor=3 min.insync.replicas=2 faults.disk_loss=1", "data-outlives-metadata"),
    ("KAFKA-14238", f"{THREE} mechanism.snapshots=on mechanism.delete-to-snapshot=off", "quorum-keeps-acked"),
    ("KAFKA-15312", f"{ALONE} faults.lossy_crash=1 mechanism.snapshot-forced=off", "quorum-keeps-acked"),
    ("KAFKA-16530", f"{THREE} bounds.voter_changes=2 mechanism.removed-leader-not-counted=off", "quorum-keeps-acked"),
    ("without durable votes", f"{THREE} faults.kill=1 mechanism.durable-votes=off", "one-leader-per-epoch"),
    ("without the log check", f"{THREE} mechanism.vote-log-check=off", "quorum-keeps-acked"),
    ("without flushes", f"{THREE} faults.lossy_crash=1 mechanism.flush-before-fetch=off", "quorum-keeps-acked"),
    ("half a quorum", f"{THREE} replication.factor=2 mechanism.majority-quorum=off", "quorum-keeps-acked"),
    ("counted as sent", f"{THREE} mechanism.count-on-fetch=off", "quorum-keeps-acked"),
    ("two changes at a time", f"{THREE} bounds.voter_changes=2 mechanism.one-change-at-a-time=off", "quorum-keeps-acked"),
    (
        "a change before an own commit, four voters",
        f"{THREE} replication.factor=4 bounds.records=1 bounds.max_leader_epoch=3 bounds.voter_changes=2"
        " mechanism.change-after-own-commit=off",
        "quorum-keeps-acked",
    ),
    ("KAFKA-14402", f"model=transactions-3.5 {FULL} faults.late_request=1", "no-hanging-transaction"),
    ("KAFKA-15784", f"model=transactions-3.6 {FULL} faults.late_request=1", "atomic-visibility"),
    ("KIP-890, a late EndTxn", f"model=transactions-3.9 {FULL} faults.request_retry=1", "no-commit-after-abort"),
    ("KAFKA-19446", f"model=transactions-4.1 {FULL} faults.marker_retry=1", "no-commit-after-abort"),
    (
        "KAFKA-19999",
        f"model=transactions {FULL} faults.marker_retry=1 mechanism.marker-retry-accepted=off",
        "no-hanging-transaction",
    ),
    (
        "KAFKA-14884",
        f"model=transactions-3.9 {FULL} faults.late_request=1 mechanism.verification-guard=off",
        "atomic-visibility",
    ),
    ("KAFKA-20634", f"model=transactions {FULL} faults.output_loss=1", "offsets-never-behind"),
    ("KAFKA-20716", f"model=transactions {FULL} faults.output_loss=1", "no-hanging-transaction"),
    ("no new epoch", f"model=transactions {FULL} mechanism.epoch-bump-on-init=off", "one-producer-per-epoch"),
    (
        "no new epoch of a coordinator",
        f"model=transactions {FULL} faults.coordinator_move=1 mechanism.coordinator-epoch-bump=off",
        "one-coordinator-per-epoch",
    ),
)
"""What the bug is, where it is shown, and what it violates."""

PUBLISHED = {
    "without durable votes": "KRaft.tla: two leaders in 9",
    "without the log check": "KRaft.tla: 16",
    "without flushes": "RaftFsync.tla: 7 with one server, 19 with two",
    "half a quorum": "KRaft.tla: 8; two leaders in 4",
    "counted as sent": "KRaft.tla: a commit without a majority in 8",
    "a change before an own commit, four voters": "kraft_kip_853.tla, two servers: nothing",
    "no new epoch": "kafka_transactions.tla: 8",
    "no new epoch of a coordinator": "kafka_transactions.tla: 1",
}
"""What TLC finds in public specifications with the same change, in steps of theirs."""

QUIRKS = """
Steps there are smaller: a request, its handling and its answer are three. Two of their findings are about the
specification and have no counterpart: the illegal state of KRaft.tla after a restart (6 and 9 steps), and two clients
with one producer id once its source of ids has gone down (13 and 15 steps of kafka_transactions.tla). What holds there
holds here, at their sizes: restarts, voters that are removed and added, a lost directory
(`tests/model/test_quorum.py`). PullRaft.tla has equal counts (`pull-raft`, `specs/instances.toml`).
"""


def asked(settings: str, *options: str) -> dict[str, Any]:
    """The result document of `neverlost check`; a later value of a key stands for an earlier one."""
    keys = dict(each.split("=", 1) for each in settings.split())
    given = [part for key, value in keys.items() for part in ("--set", f"{key}={value}")]
    symmetry = () if keys["model"].startswith("transactions") else ("--symmetry",)
    command = [sys.executable, "-m", "neverlost", "check", *given, *LIMITS, *symmetry, *options, "--json", "-"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if not ran.stdout:
        raise SystemExit(f"{settings}: {ran.stderr.strip()}")
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def shown(settings: str) -> str:
    """Settings as they are given on the command line, each key once."""
    keys = dict(each.split("=", 1) for each in settings.split())
    return "`" + " ".join(f"{key}={value}" for key, value in keys.items()) + "`"


def said(found: dict[str, Any]) -> str:
    """What a result says of its properties."""
    broken = [f"{each['name']} in {each['steps']} steps" for each in found["properties"] if each["verdict"] == "violated"]
    return "violated: " + ", ".join(broken) if broken else str(found["verdict"])


def row(*cells: object) -> None:
    """Print a row as soon as it is found."""
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def head(*titles: str) -> None:
    """Print a table's first two lines."""
    row(*titles)
    row(*["---"] * len(titles))


def counted(found: dict[str, Any]) -> tuple[str, int, str, str]:
    """States, levels, seconds and memory."""
    states = found["states"]
    many = f"{states['distinct']:,}" + (f" of which {states['left']:,} not expanded" if states["left"] else "")
    return many, states["depth"], f"{found['seconds']:.0f}", f"{found['peak_memory_bytes'] / 1e6:,.0f} MB"


def whole() -> None:
    """What was explored to the end."""
    head("settings", "states or orbits", "levels", "s", "memory", "guarantees")
    for settings in WHOLE:
        found = asked(settings, "--continue")
        row(shown(settings), *counted(found), said(found))


def bugs() -> None:
    """Every known bug, and every rule that the public specifications take away."""
    head("what", "settings", "violated", "elsewhere", "states", "s")
    for name, settings, broken in BUGS:
        found = asked(settings, "--property", broken)
        states, _, seconds, _ = counted(found)
        row(name, shown(settings), said(found).removeprefix("violated: "), PUBLISHED.get(name, ""), states, seconds)
    print(QUIRKS)


def composed() -> None:
    """Which min ISR and which quorum keep acknowledged data when one controller's directory is lost."""
    head("controllers", "directory ids", "copies", "min ISR", "committed metadata", "acknowledged data")
    for voters, ids in ((1, "off"), (3, "off"), (3, "on")):
        for copies in (2, 3):
            for least in range(1, copies + 1):
                settings = (
                    f"{COMPOSED} quorum.voters={voters} mechanism.directory-ids={ids} replication.factor={copies}"
                    f" min.insync.replicas={least} faults.disk_loss=1"
                )
                names = ("quorum-keeps-acked", "data-outlives-metadata")
                found = asked(settings, "--continue", *[part for each in names for part in ("--property", each)])
                lost = {each["name"]: each["steps"] for each in found["properties"] if each["verdict"] == "violated"}
                row(voters, ids, copies, least, *[f"lost in {lost[each]} steps" if each in lost else "kept" for each in names])


def main() -> None:
    """Print the page, or the sections that are named: `composed`, `whole`, `bugs`."""
    sections = {"composed": composed, "whole": whole, "bugs": bugs}
    for name in sys.argv[1:]:
        sections[name]()
    if sys.argv[1:]:
        return
    print("# The seams: the controllers' quorum, what it decides about partitions, transactions\n")
    print("Made by `python -m tests.tools.publish.seams`; every row within 300 s and 4 GB.\n")
    print("## One controller's directory comes back empty\n")
    print(
        "Three brokers or two, one record, one decision, three epochs.  The steps are those of the shortest counterexample.\n"
    )
    composed()
    print(
        "\nWhat is lost is the decision that shrank the ISR, and with it what only the shrunk ISR has.  So: three voters with"
        "\ndirectory ids (`kraft.version=1`), or a min ISR of all copies, to which no lost decision matters.  A min ISR of two"
        "\nof three does not help a static quorum, and one controller alone has one directory.\n"
    )
    print("## Explored completely\n")
    whole()
    print("\n## Known bugs, and what rules are for\n")
    bugs()
    print(
        "## On real clusters\n\n`pytest -m kafka tests/checker/kafka/test_seams_live.py`: a real transactional producer whose"
        " next transaction is ended\nby a late request, on 3.9.2 and 4.3.1 (the client speaks version 1 of the protocol); and"
        " on 4.3.1 three controllers with static\nvoters, of which one lags and one loses its directory: an acknowledged record"
        " is gone. Once each."
    )


if __name__ == "__main__":
    main()
