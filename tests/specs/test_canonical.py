"""Configurations that mean the same have one canonical form, and what it leaves out changes no reachable state."""

from __future__ import annotations

from typing import Any

import pytest

from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.search.options import Options
from neverlost.model.system import bind
from neverlost.specs.configuration import canonical as canonicals
from neverlost.specs.configuration.canonical import list_fields_read
from neverlost.specs.configuration.choose import choose, read_settings
from neverlost.specs.properties import properties

ASKED = [properties()["acked-never-lost"], properties()["stays-writable"]]
SMALL = {"replication.factor": 2, "bounds.records": 1, "faults.crash": "any", "faults.isr_shrink": "any"}


def of(version: str, **more: Any) -> tuple[Any, dict[str, Any]]:
    given = {"kafka.version": version} | SMALL | {key.replace("_", "."): value for key, value in more.items()}
    chosen = choose({key: (value, "test") for key, value in given.items()})
    return chosen.model, dict(chosen.configuration)


def canonical(model: Any, configuration: dict[str, Any]) -> dict[str, Any]:
    return canonicals.canonical(model, configuration, list_fields_read(bind(model, configuration), ASKED))


def test_what_nothing_reads_is_at_its_default() -> None:
    model, configuration = of("3.9", enable_idempotence="false", consumer_commit="before-processing", broker_rack="a,b")
    plain = canonical(*of("3.9"))
    assert canonical(model, configuration) == plain
    assert configuration != plain


def test_releases_with_the_same_behaviour_are_one_question() -> None:
    """3.8 brought a rule of reassignments and nothing else; 3.9 ignores a response of an older epoch."""
    assert canonical(*of("3.7")) == canonical(*of("3.8")) != canonical(*of("3.9"))
    assert canonical(*of("3.6")) != canonical(*of("3.7"))


def test_what_matters_stays() -> None:
    model, configuration = of("3.9")
    for key, value in {"min.insync.replicas": 2, "acks": "1", "flush.messages": "1", "faults.crash": 1}.items():
        changed = canonical(model, configuration | {key: value})
        assert changed != canonical(model, configuration), key


def test_a_canonical_configuration_has_the_same_states() -> None:
    for version in ("0.9", "2.6", "3.2", "4.1"):
        model, configuration = of(version)
        found = [
            explore(bind(model, each), ASKED, Options(workers=1)) for each in (configuration, canonical(model, configuration))
        ]
        assert found[0].counts == found[1].counts and found[0].verdict is found[1].verdict
    assert "min_isr" in list_fields_read(bind(model, configuration), ASKED)


@pytest.mark.parametrize(
    ("records", "defects", "missing"),
    [("1", "shipped", ["2 records", "4 records"]), ("2", "shipped", ["4 records"]), ("4", "shipped", []), ("1", "fixed", [])],
)
def test_a_question_with_too_few_records_says_what_they_cannot_show(records: str, defects: str, missing: list[str]) -> None:
    given = {"kafka.version": "4.3", "eligible.leader.replicas": "false", "acks": "all", "faults.leader_move": "1"}
    asked = {**given, "bounds.records": records, "defects": defects}
    *found, copies = [each.says for each in choose(read_settings(asked)).notices] or [""]
    assert [each.rpartition("takes ")[2] for each in found] == missing
    assert ("handles no copy of an AlterPartition" in copies) == (defects == "shipped")
    assert len(choose(read_settings({**asked, "faults.request_copy": "any"})).notices) == len(missing)
    assert choose(read_settings({**given, "bounds.records": records, "faults.leader_move": "0"})).notices == ()
