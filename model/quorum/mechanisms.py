"""The rules of the controller quorum that can be switched off, each with what it is for: `mechanisms.toml`, one entry each.

All that Kafka has are on unless said otherwise; what came later than KIP-595 is off.
"""

from __future__ import annotations

from neverlost.model.kraft.mechanisms import read_mechanisms

*QUORUM_MECHANISMS, LEARN_COMMITTED = read_mechanisms(__name__)
"""Those of the quorum, in the order of the keys, and the one that only `kraft-composed` has."""

_BY_NAME = {each.name: each for each in QUORUM_MECHANISMS}

FLUSH_BEFORE_FETCH = _BY_NAME["flush-before-fetch"]
FLUSH_BEFORE_COMMIT = _BY_NAME["flush-before-commit"]
MAJORITY_QUORUM = _BY_NAME["majority-quorum"]
PRE_VOTE, DIRECTORY_IDS = _BY_NAME["pre-vote"], _BY_NAME["directory-ids"]
SNAPSHOTS = _BY_NAME["snapshots"]

LATER = (PRE_VOTE, DIRECTORY_IDS, SNAPSHOTS)
"""Those that are off unless they are asked for."""

READ = tuple(each for each in QUORUM_MECHANISMS if not each.is_structural)
"""Those that actions read as frozen flags."""
