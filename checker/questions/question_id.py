"""The identifier of a question: what is written beside every answer, and what the precomputed answers are looked up by."""

from __future__ import annotations

import hashlib
import json

from neverlost.checker.engine.digest import question_digest
from neverlost.model.kernel import Configuration, Model
from neverlost.specs.configuration.keys import shown
from neverlost.specs.properties import properties


def question_id(model: Model, configuration: Configuration, names: list[str]) -> str:
    """Return a stable name of what was asked: model and properties with their digest, configuration with its bounds."""
    known = properties()
    asked = {
        "model": model.name,
        "digest": question_digest(model, [known[name] for name in sorted(names) if name in known]),
        "config": {name: shown(value) for name, value in sorted(configuration.items())},
        "properties": sorted(names),
    }
    return "nl-" + hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:16]
