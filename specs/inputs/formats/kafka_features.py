"""What `kafka-features.sh describe` prints: whether eligible leader replicas are on, and the metadata version.

Source: `FeatureCommand.handleDescribe` from 2.7 to 4.x; `EligibleLeaderReplicasVersion` (level 1 is on).
"""

from __future__ import annotations

import re

from neverlost.specs.errors import InputError, quote
from neverlost.specs.inputs.syntax.printed import content
from neverlost.specs.inputs.syntax.topics_and_settings import Described, Document
from neverlost.specs.setting import Setting

NAME = "kafka-features.sh describe"
LINE = re.compile(r"\s*Feature: \S")
ELR, METADATA = "eligible.leader.replicas.version", "metadata.version"

_ENTRY = re.compile(r"Feature: (\S+)\s.*\bFinalizedVersionLevel: (\S+)")


def read(document: Document) -> Described:
    """Return a description with whether eligible leader replicas are on, and the metadata version; None for what is not known.

    A cluster that lists `metadata.version` lists every feature that it knows: without a line, eligible leader replicas are off.
    Errors: `InputError` for a line of another kind, a feature twice, or a level of those replicas that is no number.
    """
    levels: dict[str, Setting] = {}
    for where, line in content(document):
        entry = _ENTRY.match(line.strip())
        if entry is None:
            raise InputError(f"{where} is not what {NAME} prints: {quote(line.strip())}; remove the line")
        if entry[1] in levels:
            raise InputError(f"feature {quote(entry[1])} in {where} is described twice; remove one of them")
        levels[entry[1]] = Setting(entry[2], where)
    found = Described(metadata=levels.get(METADATA))
    if ELR in levels:
        found.elr = Setting(str(_is_on(levels[ELR])).lower(), levels[ELR].where)
    elif METADATA in levels:
        found.elr = Setting("false", f"{document.name}, which does not list {ELR}")
    return found


def _is_on(level: Setting) -> bool:
    if not re.fullmatch(r"-|[0-9]{1,5}", level.value):
        raise InputError(f"bad value {quote(level.value)} for the level of {ELR} in {level.where}: use a number")
    return level.value not in ("-", "0")
