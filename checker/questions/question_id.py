"""The identifier of a question: what is written beside every answer, and what the precomputed answers are looked up by."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from neverlost.checker.engine.digest import question_digest
from neverlost.model.kernel import Configuration, Model
from neverlost.specs.configuration.keys import shown
from neverlost.specs.properties import properties


def question_id(model: Model, configuration: Configuration, names: list[str]) -> str:
    """Return `nl-` and 16 hex digits of a hash of names of model and properties, the digest of both, and the configuration."""
    return question_ids(model, configuration, [names])[0]


def question_ids(model: Model, configuration: Configuration, asked: Iterable[list[str]]) -> list[str]:
    """Return the identifier, as of `question_id`, for each list of properties in `asked`, of one model and configuration."""
    known, config = properties(), {name: shown(value) for name, value in sorted(configuration.items())}
    found = []
    for names in asked:
        question = {
            "model": model.name,
            "digest": question_digest(model, [known[name] for name in sorted(names) if name in known]),
            "config": config,
            "properties": sorted(names),
        }
        found.append("nl-" + hashlib.sha256(json.dumps(question, sort_keys=True).encode()).hexdigest()[:16])
    return found
