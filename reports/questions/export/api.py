"""`export` writes a bound model as a TLA+ module, so that anyone can count its states and judge its properties with TLC."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from neverlost.checker.engine.host.whole_files import as_json, writable_directory, write_text
from neverlost.model.interpreters.tla import identifier, render_module
from neverlost.reports.counterexample.itf import describe_system
from neverlost.reports.counterexample.tlc import QUESTION
from neverlost.reports.request.keywords import Settings
from neverlost.reports.results.results import Answer
from neverlost.specs.configuration.choose import Chosen, choose, read_settings
from neverlost.specs.configuration.keys import shown
from neverlost.specs.errors import InputError
from neverlost.specs.properties import choose_properties, require_fields
from neverlost.specs.property import RECOVERY

SCHEMA = "neverlost.export/1"


@dataclass(frozen=True, repr=False)
class Export(Answer):
    """The files that were written, and the properties that are invariants of the module."""

    model: str
    files: tuple[str, ...]
    invariants: tuple[str, ...]


def export_tla(
    model: str, settings: Settings = None, *, out: str | PathLike[str], properties: Sequence[str] | None = None
) -> Export:
    """Write the model as `MODULE.tla` with `MODULE.cfg`, and the question that they stand for, into a directory.

    `properties` (default: the model's guarantees) become invariants, all but recovery properties.  Errors: `InputError` for an
    unknown model, property or setting, a property that the model has not the fields for, a directory that cannot be written.
    """
    chosen = _chosen(model, settings)
    system = chosen.system
    asked = choose_properties(chosen.model, properties)
    require_fields(system, asked)
    invariants = [each for each in asked if each.kind != RECOVERY]
    name = identifier(chosen.model.name)
    module = render_module(system, {each.name: each.condition for each in invariants}, _head(chosen, name), name)
    config = ["INIT Init", "NEXT Next", *(f"INVARIANT {identifier(each.name)}" for each in invariants), "CHECK_DEADLOCK FALSE"]
    texts = {f"{name}.tla": module, f"{name}.cfg": "\n".join(config) + "\n", QUESTION: as_json(describe_system(system))}
    folder = writable_directory(Path(out))
    for file, text in texts.items():
        write_text(folder / file, text)
    document = {
        "schema": SCHEMA,
        "model": chosen.model.name,
        "files": [str(folder / file) for file in texts],
        "invariants": [each.name for each in invariants],
        "not_exported": [each.name for each in asked if each.kind == RECOVERY],
        "notices": [str(each) for each in chosen.notices],
    }
    return Export.of(document, files=tuple(document["files"]), invariants=tuple(document["invariants"]))


def _chosen(model: str, settings: Settings) -> Chosen:
    """Return the model with its configuration.  Errors: `InputError` where `kafka.version` is given and has another model."""
    given = read_settings(settings)
    if "kafka.version" not in given:
        return choose(given, model)
    chosen = choose(given)
    if chosen.model.name != model:
        raise InputError(
            f"kafka.version={given['kafka.version'][0]} is {chosen.model.name}, not {model!r}: write --tla {chosen.model.name}"
        )
    return chosen


def _head(chosen: Chosen, name: str) -> list[str]:
    """Return the lines of the comment that the module begins with: its model, configuration and how to read names."""
    system, defaults = chosen.system, chosen.model.defaults
    given = (f"{key}={shown(value)}" for key, value in chosen.configuration.items() if not key.startswith("mechanism."))
    switched = (
        key for key, value in chosen.configuration.items() if value != defaults.get(key) and key.startswith("mechanism.")
    )
    return [
        f"{chosen.model.name}: {chosen.model.summary}.",
        *([f"Source: {chosen.model.source}"] if chosen.model.source else []),
        "",
        f"Configuration: {', '.join(given)}.",
        f"Mechanisms that differ from the model's defaults: {', '.join(switched) or 'none'}.",
        *(str(each) for each in chosen.notices),
        "",
        f"Replicas are 0 to {system.sizes['replica'] - 1}, replica 0 is broker 1 of a sentence, -1 is none.  Record 0 is none.",
        "NAME_A_B is the action NAME with its parameters A and B; NAME is any of them.  Behind each guard stands its name;",
        "one that begins with `bound:` keeps the exploration finite and is no part of the protocol.",
        f"Check it: java tlc2.TLC -config {name}.cfg {name}.tla > OUTPUT; then: neverlost replay OUTPUT",
    ]
