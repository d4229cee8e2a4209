"""Lines of what Kafka's tools print, without what stands around them in a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator

from neverlost.specs.inputs.syntax.text import lines_of
from neverlost.specs.inputs.syntax.topics_and_settings import Document

_NOISE = re.compile(
    r"\[|\$|>|#|OpenJDK|Java HotSpot|Picked up|SLF4J|log4j|(WARN|WARNING|Warning|INFO|DEBUG|Note)\b"
    r"|.*kafka-(topics|configs|features|metadata-quorum|reassign-partitions)(\.sh|\.bat)?\s+[-a-z]"
)


def content(document: Document) -> Iterator[tuple[str, str]]:
    """Yield place and text of each line that is not blank, a tool's warning, a log message, a comment or a shell prompt."""
    for number, line in enumerate(lines_of(document.text), 1):
        if line.strip() and not _NOISE.match(line.lstrip()):
            yield f"{document.name} line {number}", line
