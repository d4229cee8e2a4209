"""From a figure and settings to the answers about it, under each configuration that the settings may mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from neverlost.checker.engine.search.options import Options
from neverlost.checker.questions.state.single_state import examine, explore_from
from neverlost.model.faults import FAULTS
from neverlost.model.kernel import NO_REPLICA, ModelError
from neverlost.reports.questions.state.document import answer_document
from neverlost.specs.configuration.choose import VERSION, Chosen, Given, choose_each, read_settings
from neverlost.specs.configuration.partition_state import Figure
from neverlost.specs.errors import InputError
from neverlost.specs.properties import choose_properties, guarantees, require_fields

REPLICAS, RECORDS, OUTSIDE = "replication.factor", "bounds.records", "start.outside_isr"


def answer_state(
    figure: Figure, settings: Any, version: str | None, properties: Sequence[str] | None, options: Options
) -> list[dict[str, Any]]:
    """Return a document for each configuration that the settings may mean: two where ELR may be on or off.  Errors:
    `InputError` for settings that contradict the figure, or a model whose states have no such figure."""
    given = _given(figure, settings, version)
    has_elr = bool(figure.state.elr) or figure.state.last_known_leader != NO_REPLICA
    possible = [each for each in choose_each(given) if not has_elr or each.configuration.get("eligible.leader.replicas")]
    if not possible:
        raise InputError(
            f"{figure.where} has an ELR, and these settings none: set eligible.leader.replicas=true, Kafka 4.0 or later"
        )
    return [_answer(figure, each, properties, options) for each in possible]


def _given(figure: Figure, settings: Any, version: str | None) -> Given:
    own = read_settings(settings) | ({VERSION: (version, "--kafka-version")} if version else {})
    replicas = len(figure.brokers)
    if str(own.get(REPLICAS, (replicas,))[0]) != str(replicas):
        raise InputError(f"{REPLICAS} is {own[REPLICAS][0]}, but {figure.where} shows {replicas} brokers: leave it out")
    for key in (OUTSIDE, "faults.reassign"):
        if key in own:
            raise InputError(f"{key} in {own[key][1]}: {figure.where} says itself who has a replica and who is in the ISR")
    return {RECORDS: (max(1, figure.state.records), figure.where)} | own | {REPLICAS: (replicas, figure.where)}


def _answer(figure: Figure, chosen: Chosen, properties: Sequence[str] | None, options: Options) -> dict[str, Any]:
    model, configuration = chosen.model, chosen.configuration
    if "min.insync.replicas" not in model.keys or "acks" not in model.keys:
        raise InputError(f"model {model.name!r} has no such states: use kafka.version, or model=kraft or kraft-elr")
    _require_no_contradiction(figure, chosen)
    asked = choose_properties(model, properties)
    require_fields(chosen.system, asked)
    faults = [each.key for each in FAULTS if configuration.get(each.key)]
    try:
        found = examine(model, configuration, figure.state, guarantees(model), options)
        explored = explore_from(model, configuration, figure.state, asked, options) if faults else None
    except ModelError as problem:
        raise InputError(
            f"{figure.where} does not fit into these settings: {problem}; give limits of faults as any or any:N, not as numbers"
        ) from None
    return answer_document(figure, chosen, found, explored)


def _require_no_contradiction(figure: Figure, chosen: Chosen) -> None:
    """Raise `InputError` for a figure that no partition with these settings shows, or that leaves open what is needed."""
    state, configuration = figure.state, chosen.configuration
    least = min(configuration["min.insync.replicas"], len(figure.brokers))
    if state.elr and len(state.isr) >= least:
        raise InputError(
            f"{figure.where} has an ELR, but its ISR has {len(state.isr)} members and min.insync.replicas is {least}: "
            "the ELR is empty then"
        )
    if not state.isr and not configuration["eligible.leader.replicas"]:
        raise InputError(f"the ISR is empty in {figure.where}: without eligible leader replicas its last member stays in it")
    if configuration[RECORDS] < state.records:
        raise InputError(
            f"{RECORDS} is {configuration[RECORDS]}, but {figure.where} shows {state.records} records: leave it out"
        )
    is_led = state.leader != NO_REPLICA
    if not is_led and state.acknowledged is None and configuration["acks"] != "all":
        raise InputError(f"{figure.where} has no leader: say which records were acknowledged (acknowledged = [...])")
    if not is_led and configuration["unclean.leader.election.enable"] and any(state.runs):
        raise InputError(
            f"there is no leader in {figure.where}, but unclean.leader.election.enable=true elects any broker that is up"
        )
    diverge = any(a != b for log in state.logs for other in state.logs for a, b in zip(log, other, strict=False))
    compares = chosen.system.sizes["epochs"]
    if compares and diverge and not figure.shows_epochs:
        raise InputError(f"logs differ in {figure.where}: write records as NAME@EPOCH, which the election by logs compares")
