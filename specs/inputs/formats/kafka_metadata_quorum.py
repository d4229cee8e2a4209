"""What `kafka-metadata-quorum.sh describe` prints, with `--status` or `--replication`: who the controllers are.

Answers assume a quorum of controllers; a cluster where none leads, or fewer than three vote, is pointed out.

Source: `MetadataQuorumCommand` from 3.3 to 4.x.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from neverlost.specs.errors import InputError, quote
from neverlost.specs.inputs.syntax.printed import content
from neverlost.specs.inputs.syntax.text import Path, lines_of, read_text, shown_name
from neverlost.specs.inputs.syntax.topics_and_settings import Described, Document, broker_ids
from neverlost.specs.setting import Notice, NoticeKind

NAME = "kafka-metadata-quorum.sh describe"
LINE = re.compile(r"(LeaderId:\s|NodeId\s+(DirectoryId\s+)?LogEndOffset\s)")

_FIELD = re.compile(r"([A-Z][A-Za-z]+):\s+(.*)$")
_ROW = re.compile(r"(\d{1,10})\s+(?:(\S+)\s+)?\d+\s+-?\d+\s+-?\d+\s+(-?\d{1,18})\s+(Leader|Follower|Observer)\s*$")
_NUMBER = re.compile(r"\d{1,18}")
_NO_DIRECTORY = "A" * 22
_FETCH_TIMEOUT_MS = 2000
"""Default of controller.quorum.fetch.timeout.ms: a voter that caught up no longer ago than this follows."""


@dataclass(frozen=True)
class ControllerQuorum:
    """The controllers that vote, who of them leads (None if none does), and who follows (None where that is not shown).
    With `has_directories` a voter whose directory comes back empty is no voter (KIP-853)."""

    voters: frozenset[int]
    leader: int | None
    following: frozenset[int] | None
    has_directories: bool
    where: str


def read(document: Document) -> Described:
    """Return a description that has at most two warnings: that no controller leads, and that only one or two vote.
    Errors: `InputError` for a line of another kind."""
    quorum, found = _quorum(document), list[Notice]()
    if quorum.leader is None:
        says = "no controller leads now: nothing is elected, and the answers assume that a quorum of controllers is available"
        found.append(Notice(NoticeKind.WARNING, says, quorum.where, "restore a majority of the controllers first"))
    if 0 < (many := len(quorum.voters)) < 3:
        says = f"{many} controller{'s' * (many != 1)} vote: the loss of one stops every election; the answers assume a quorum"
        found.append(Notice(NoticeKind.WARNING, says, quorum.where, "run three controllers"))
    return Described(notices=found)


def find_quorum(paths: Iterable[Path]) -> ControllerQuorum | None:
    """Return the quorum that one of these files describes, preferably one that shows who follows; None if none describes one.
    Files of other formats are passed over."""
    texts = [(shown_name(each), read_text(each, "--describe")) for each in paths]
    found = [_quorum(Document(*each)) for each in texts if any(map(LINE.match, lines_of(each[1])))]
    return max((each for each in found if each.voters), key=lambda each: each.following is not None, default=None)


def _quorum(document: Document) -> ControllerQuorum:
    fields: dict[str, tuple[str, str]] = {}
    rows: dict[int, tuple[str, int, str]] = {}
    for where, line in content(document):
        field, row = _FIELD.match(line.strip()), _ROW.match(line.strip())
        if field:
            fields[field[1]] = (field[2].strip(), where)
        elif row and row[4] != "Observer":
            rows[int(row[1])] = (row[2] or _NO_DIRECTORY, int(row[3]), row[4])
        elif not row and not LINE.match(line.strip()):
            raise InputError(f"{where} is not what {NAME} prints: {quote(line.strip())}; remove the line")
    if rows:
        leader = next((voter for voter, each in rows.items() if each[2] == "Leader"), None)
        now = rows[leader][1] if leader is not None else -1
        following = frozenset(voter for voter, each in rows.items() if now >= 0 and each[1] >= now - _FETCH_TIMEOUT_MS)
        has_directories = all(each[0] != _NO_DIRECTORY for each in rows.values())
        return ControllerQuorum(frozenset(rows), leader, following, has_directories, document.name)
    named, where = fields.get("CurrentVoters", ("", document.name))
    voters = frozenset(broker_ids(re.findall(r'"id":\s*(\d+)', named) or re.findall(r"\d+", named), "voters", where, named))
    first = fields.get("LeaderId", ("-1", ""))[0]
    lag = fields.get("MaxFollowerLagTimeMs", ("-1", ""))[0]
    leader = int(first) if _NUMBER.fullmatch(first) else None
    is_seen = leader is not None and bool(_NUMBER.fullmatch(lag)) and int(lag) <= _FETCH_TIMEOUT_MS
    directories = re.findall(r'"directoryId":\s*"([^"]+)"', named)
    has_directories = len(directories) == len(voters) and _NO_DIRECTORY not in directories
    return ControllerQuorum(voters, leader, voters if is_seen else None, has_directories, where)
