"""What `kafka-metadata-quorum.sh describe` prints, with `--status` or `--replication`: who the controllers are.

Answers assume a quorum of controllers; a cluster without one, or with a single controller, is pointed out.

Source: `MetadataQuorumCommand` from 3.3 to 4.x.
"""

from __future__ import annotations

import re

from neverlost.specs.errors import InputError, quote
from neverlost.specs.inputs.syntax.printed import content
from neverlost.specs.inputs.syntax.topics_and_settings import Described, Document
from neverlost.specs.setting import Notice, NoticeKind

NAME = "kafka-metadata-quorum.sh describe"
LINE = re.compile(r"(LeaderId:\s|NodeId\s+(DirectoryId\s+)?LogEndOffset\s)")

_FIELD = re.compile(r"([A-Z][A-Za-z]+):\s+(.*)$")
_ROW = re.compile(r"(\d+)\s+(\S+\s+)?\d+\s+-?\d+\s+-?\d+\s+-?\d+\s+(Leader|Follower|Observer)\s*$")


def read(document: Document) -> Described:
    """Notices about the quorum.

    Errors: `InputError` for a line of another kind.
    """
    fields: dict[str, tuple[str, str]] = {}
    statuses: list[str] = []
    for where, line in content(document):
        field, row = _FIELD.match(line.strip()), _ROW.match(line.strip())
        if field:
            fields[field[1]] = (field[2].strip(), where)
        elif row:
            statuses.append(row[3])
        elif not LINE.match(line.strip()):
            raise InputError(f"{where} is not what {NAME} prints: {quote(line.strip())}; remove the line")
    return Described(notices=[*_of_status(fields), *_of_rows(statuses, document.name)])


def _of_status(fields: dict[str, tuple[str, str]]) -> list[Notice]:
    leader, voters = fields.get("LeaderId"), fields.get("CurrentVoters")
    found = [_without_leader(leader[1])] if leader and leader[0] == "-1" else []
    if voters:
        ids = re.findall(r'"id":\s*(\d+)', voters[0]) or re.findall(r"\d+", voters[0])
        found += _few(len(ids), voters[1])
    return found


def _of_rows(statuses: list[str], name: str) -> list[Notice]:
    if not statuses:
        return []
    found = [] if "Leader" in statuses else [_without_leader(name)]
    return found + _few(sum(each != "Observer" for each in statuses), name)


def _without_leader(where: str) -> Notice:
    says = "no controller leads now: nothing is elected, and the answers assume that a quorum of controllers is available"
    return Notice(NoticeKind.WARNING, says, where, "restore a majority of the controllers first")


def _few(voters: int, where: str) -> list[Notice]:
    if voters >= 3:
        return []
    says = f"{voters} controller{'s' * (voters != 1)} vote: the loss of one stops every election; the answers assume a quorum"
    return [Notice(NoticeKind.WARNING, says, where, "run three controllers")]
