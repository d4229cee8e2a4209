"""The report of one try of a counterexample on a cluster: as text, as a document, and as a folder of evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import neverlost
from neverlost.checker.engine.host.whole_files import as_json, write_text
from neverlost.checker.kafka.cluster.cluster import Cluster
from neverlost.checker.kafka.cluster.metadata import MetadataImage
from neverlost.checker.kafka.reproduce.attempt import AttemptOutcome, parse_number
from neverlost.checker.kafka.reproduce.reproduction_plan import ReproductionPlan
from neverlost.model.sentences import numbered
from neverlost.reports.counterexample.space_time import render_file
from neverlost.reports.counterexample.timeline import Timeline, frames
from neverlost.reports.questions.reproduce.script import render_script
from neverlost.specs.configuration.keys import shown

SCHEMA = "neverlost.reproduction/1"
LONGEST_LOG = 120
"""Lines that are kept of a broker's log."""


@dataclass(frozen=True)
class ReproductionReport:
    """The counterexample, its plan and the outcome of one try, from which all reports are written."""

    plan: ReproductionPlan
    expected: Timeline
    outcome: AttemptOutcome
    kafka: str
    changed: Mapping[str, Any]

    @property
    def is_reproduced(self) -> bool:
        """True if every step was seen, and all records that the model loses are lost (none need be, if it is about copies)."""
        return self.outcome.is_reproduced(frozenset() if self.is_about_copies else self.expected.lost)

    @property
    def is_about_copies(self) -> bool:
        """True if the broken property is about how many disks hold a record, so that the record may still be readable."""
        return self.plan.broken == "acked-on-min-isr"

    def verdict(self) -> list[str]:
        """Return the last lines of the report: what happened, then what became of each record."""
        divergence = self.outcome.divergence
        if self.is_reproduced:
            says = self.expected.title if self.is_about_copies else self.expected.verdict_line
            lines = [f"reproduced on Kafka {self.kafka}: {says}"]
        elif divergence is None:
            lines = [f"not reproduced on Kafka {self.kafka}: every step was seen, but no loss as expected"]
        else:
            steps = str(divergence.first) if divergence.first == divergence.last else f"{divergence.first} to {divergence.last}"
            many = "" if divergence.first == divergence.last else "s"
            lines = [
                f"not reproduced on Kafka {self.kafka}: it diverges from the trace at step{many} {steps} ({divergence.says})"
            ]
            lines += [f"  seen: {each}" for each in divergence.seen]
        return lines + [f"  {each}" for each in self.records()]

    def records(self) -> list[str]:
        """Return a sentence for each record that was acknowledged or read."""
        outcome, found = self.outcome, []
        for record in sorted(outcome.acknowledged.keys() | outcome.read_before.keys()):
            when, offset = outcome.acknowledged.get(record, (None, None))
            parts = [] if when is None else [f"acknowledged at {when}" + ("" if offset is None else f" at offset {offset}")]
            if record in outcome.read_before:
                parts.append(f"read by a consumer at offset {outcome.read_before[record]}")
            place = offset if offset is not None else outcome.read_before.get(record)
            found.append(f"m{record}: {', '.join(parts)}; {self._stands(record, place)}")
        return found

    def _stands(self, record: int, offset: int | None) -> str:
        """Return where a record is at the end: still there, in the leader's log above its high watermark, or lost, and what is
        at its offset now.  If the partition is offline, return on which brokers' disks it is."""
        if self.outcome.read is None:
            disks = [str(each) for each, log in self.outcome.logs.items() if record in map(parse_number, log)]
            return f"the partition is offline, the record is on the disk of broker {','.join(disks) or 'none'}"
        at = {parse_number(each): each.offset for each in self.outcome.read}
        if record in at:
            return f"still there, at offset {at[record]}"
        if record not in self.outcome.lost:
            return "in the leader's log, above its high watermark"
        now = next((each for each in self.outcome.read if each.offset == offset), None)
        end = self.outcome.read[-1].offset + 1 if self.outcome.read else 0
        there = f"the log ends at {end}" if now is None else f"{(now.value or b'').decode()} stands there now"
        return f"LOST: {there}"

    def timeline(self) -> Timeline:
        """Return the timeline of the cluster, as it was observed."""
        says = [(f"{each.says} (after {each.seconds:.1f} s)", False) for each in self.outcome.moments]
        scenes = [each.scene for each in self.outcome.moments]
        title = "reproduced" if self.is_reproduced else "not reproduced"
        names = numbered(self.plan.brokers)
        return Timeline(f"Kafka {self.kafka}", title, frames(says, scenes), frozenset(self.outcome.lost), names)

    def document(self) -> dict[str, Any]:
        divergence, outcome = self.outcome.divergence, self.outcome
        return {
            "schema": SCHEMA,
            "model": self.plan.model,
            "property": self.plan.broken,
            "config": {name: shown(value) for name, value in self.plan.configuration.items()},
            "changed": {name: shown(value) for name, value in self.changed.items()},
            "kafka": self.kafka,
            "reproduced": self.is_reproduced,
            "lost": [f"m{each}" for each in outcome.lost],
            "acknowledged": {f"m{each}": {"at": at, "offset": offset} for each, (at, offset) in outcome.acknowledged.items()},
            "offline": outcome.read is None,
            "read": [{"offset": each.offset, "value": (each.value or b"").decode()} for each in outcome.read or []],
            "diverged": divergence
            and {"steps": [divergence.first, divergence.last], "says": divergence.says, "seen": list(divergence.seen)},
            "commands": outcome.done,
            "seconds": round(outcome.seconds, 1),
            "version": neverlost.__version__,
        }

    def markdown(self) -> str:
        lines = [f"# {self.plan.broken} on Kafka {self.kafka}", "", *self.verdict(), "", "## What was done", "", "```text"]
        lines += [
            *self.outcome.done,
            "```",
            "",
            "## Pictures",
            "",
            "- [the model](model.svg)",
            "- [the cluster](cluster.svg)",
            "",
        ]
        lines += ["`m0` is a record that was needed for slow followers to lack something; the model has none of it.", ""]
        return "\n".join(lines)


def save_evidence(report: ReproductionReport, trace: str, cluster_logs: Mapping[str, str], folder: Path) -> None:
    write_text(folder / "reproduction.json", as_json(report.document()))
    write_text(folder / "reproduction.md", report.markdown())
    write_text(folder / "plan.sh", render_script(report.plan))
    write_text(folder / "trace.itf.json", trace)
    write_text(folder / "model.svg", render_file(report.expected, ()))
    write_text(folder / "cluster.svg", render_file(report.timeline(), ()))
    for name, text in cluster_logs.items():
        write_text(folder / "logs" / f"{name}.log", text)


def trimmed_logs(cluster: Cluster, topic: str) -> dict[str, str]:
    """Return by node the last `LONGEST_LOG` lines about partition 0 of a topic or errors; `metadata` has the metadata log."""
    found = {}
    for node in cluster.nodes:
        lines = [each for each in node.process.read_log().splitlines() if f"{topic}-0" in each or " ERROR " in each]
        found[node.folder.name] = "\n".join(each[:600] for each in lines[-LONGEST_LOG:]) + "\n"
    return found | {"metadata": "".join(f"{line}\n" for line in metadata_history(cluster.metadata, topic))}


def metadata_history(metadata: MetadataImage, topic: str) -> list[str]:
    """Return the metadata log as text, a line for each record but those with another topic's id and those about features."""
    wanted = metadata.topics.get(topic)
    found = []
    for event in metadata.events:
        says = event.says
        if says.get("topic_id", wanted) == wanted and event.kind != "feature":
            parts = [f"{name}={_shown(value)}" for name, value in says.items() if name not in ("topic_id", "incarnation")]
            found.append(f"{event.offset:5}  {event.kind}: {' '.join(parts)}")
    return found


def _shown(value: Any) -> str:
    return "[" + ",".join(map(str, value)) + "]" if isinstance(value, tuple) else str(value)
