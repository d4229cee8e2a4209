"""Makes a partition's folder look as after a power failure: without its unflushed end, which recovery does not miss.

Kafka flushes when it is asked to, or when a segment is full, and otherwise leaves it to the operating system.  A process that
is killed loses nothing, since the page cache outlives it; so what a machine would have lost is cut off by hand.  Whatever else
in the log directory knows of the lost end goes with it: indexes (which recovery builds again), producer snapshots, the
entries of the leader epoch checkpoint, the recovery point, the high watermark, and the mark of a clean shutdown.

Source: LogLoader.recoverLog, LeaderEpochFileCache, LogManager (CLEAN_SHUTDOWN_FILE, RECOVERY_POINT_CHECKPOINT_FILE).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from neverlost.checker.kafka.cluster.batches import find_cut_position

SEGMENT = "00000000000000000000.log"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
RECOVERY_POINTS, HIGH_WATERMARKS = "recovery-point-offset-checkpoint", "replication-offset-checkpoint"
EPOCHS = "leader-epoch-checkpoint"


def lose_end(data: Path, partition: str, offset: int) -> list[str]:
    """Remove a partition's (`topic-number`) records from an offset on from a stopped broker's log directory `data`, with what
    else there knows of them; return what was done, a sentence each.  Errors: `ValueError` where the offset is inside a batch,
    `OSError` where there is no such partition."""
    folder = data / partition
    segment = folder / SEGMENT
    before = segment.read_bytes()
    position = find_cut_position(before, offset)
    os.truncate(segment, position)
    done = [f"truncated {partition}/{SEGMENT} from {len(before)} to {position} bytes: offset {offset} and later are gone"]
    for path in sorted(folder.iterdir()):
        is_index = path.suffix in (".index", ".timeindex", ".txnindex")
        is_newer = path.suffix == ".snapshot" and int(path.stem) > offset
        if is_index or is_newer:
            path.unlink()
            done.append(f"removed {partition}/{path.name}")
    done += _edit_checkpoint(folder / EPOCHS, lambda line: line if int(line.split()[1]) < offset else None)
    for name in (RECOVERY_POINTS, HIGH_WATERMARKS):
        done += _edit_checkpoint(data / name, lambda line: lower_checkpoint(line, partition, offset))
    if (data / CLEAN_SHUTDOWN).exists():
        (data / CLEAN_SHUTDOWN).unlink()
        done.append(f"removed {CLEAN_SHUTDOWN}")
    return done


def lower_checkpoint(line: str, partition: str, offset: int) -> str:
    """Return a checkpoint line `topic number offset`; if it is of the partition and its offset is higher, with `offset`."""
    topic, number, stored = line.rsplit(" ", 2)
    return f"{topic} {number} {min(int(stored), offset)}" if f"{topic}-{number}" == partition else line


def _edit_checkpoint(path: Path, edit: Callable[[str], str | None]) -> list[str]:
    """Rewrite a checkpoint file (version, number of entries, an entry a line) through `edit`, which drops an entry by
    returning None; return one sentence that says so, or an empty list if nothing changed."""
    lines = path.read_text().splitlines() if path.exists() else []
    if len(lines) < 3:
        return []
    version, _, *entries = lines
    kept = [line for line in map(edit, entries) if line is not None]
    if kept == entries:
        return []
    path.write_text("\n".join([version, str(len(kept)), *kept]) + "\n")
    return [f"lowered {path.name}"]
