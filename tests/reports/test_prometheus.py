"""Gauges of what topics survive, and the alerts on them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from neverlost.reports.questions.tolerance.prometheus import GAUGES, LOSERS, MOST_SERIES, render
from tests.support.program import ROOT, neverlost

HEAD = "Topic: {0}\tTopicId: {1}\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: min.insync.replicas=2\n"
LINE = "\tTopic: {0}\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: {1}\n"
GIVEN = ("--kafka-version", "4.3", "--set", "acks=all", "--set", "metadata.version=4.3-IV0")
SETTLED = (*GIVEN, "--set", "eligible.leader.replicas=false", "--set", "defects=fixed")


def described(place: Path, isr: dict[str, str]) -> str:
    file = place / "topics.txt"
    file.write_text("".join(HEAD.format(name, "A" * 22) + LINE.format(name, each) for name, each in isr.items()))
    return str(file)


def series(text: str) -> list[tuple[str, dict[str, str], float]]:
    found = []
    for line in text.splitlines():
        if not line.startswith("#"):
            name, labels, value = re.fullmatch(r"(\w+)\{(.*)\} (-?\d+)", line).groups()  # type: ignore[union-attr]
            found.append((name, dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels)), float(value)))
    return found


def test_a_topic_in_sync_and_one_on_its_last_replica(tmp_path: Path) -> None:
    done = neverlost(
        "tolerance", "--describe", described(tmp_path, {"calm": "1,2,3", "worn": "1"}), *SETTLED, "--format", "prometheus"
    )
    found = series(done.stdout)
    values = {
        (name, each["group"].split(":")[1].strip(), each.get("others_out", each.get("state"))): value
        for name, each, value in found
    }
    assert (
        values["neverlost_data_losers_survived", "calm", "0"] == 2
        and values["neverlost_data_losers_survived", "worn", "0"] == 0
    )
    assert values["neverlost_data_losers_survived", "calm", "1"] == 1
    writes = "neverlost_brokers_out_before_writes_stop"
    assert (values[writes, "calm", None], values[writes, "worn", None]) == (1, -1)
    assert values["neverlost_partitions_in_danger", "worn", "refuses writes"] == 1
    assert values["neverlost_partitions_in_danger", "calm", "refuses writes"] == 0
    heads = [line.split()[2] for line in done.stdout.splitlines() if line.startswith("# TYPE")]
    assert heads == list(GAUGES) and "neverlost_topic{" in done.stdout


def test_what_is_not_decided_has_no_value(tmp_path: Path) -> None:
    offline = described(tmp_path, {"gone": ""})
    Path(offline).write_text(Path(offline).read_text().replace("Leader: 1", "Leader: none"))
    found = series(neverlost("tolerance", "--describe", offline, *SETTLED, "--format", "prometheus").stdout)
    assert "neverlost_data_losers_survived" not in {name for name, _, _ in found}
    open_ones = [value for name, each, value in found if name == "neverlost_not_decided" and "losers" in each["gauge"]]
    assert open_ones and set(open_ones) == {1}


def test_a_gauge_of_what_nobody_asked_has_no_value(tmp_path: Path) -> None:
    """Writes that go on say nothing of records, and records nothing of writes."""
    both = {"neverlost_brokers_out_before_writes_stop", LOSERS}
    for asked, gauge in zip(("stays-writable", "acked-never-lost"), sorted(both), strict=True):
        found = series(neverlost("tolerance", *SETTLED, "--property", asked, "--format", "prometheus").stdout)
        assert {name for name, _, _ in found} & both == {gauge}
        not_decided = {each["gauge"]: value for name, each, value in found if name == "neverlost_not_decided"}
        assert not_decided == {each: each != gauge for each in both}


def test_a_group_of_many_topics_has_a_limit() -> None:
    about = {"config": {"replication.factor": 3, "acks": "all"}, "kafka.version": "4.3"}
    document = {
        "tolerance": {"many": []},
        "topics": {"many": [f't"{number}\\' for number in range(1000)]},
        "settings": {"many as designed": about, "many as shipped": about},
        "now": {"many": []},
    }
    found = series(render(document))
    assert len(found) == MOST_SERIES and ("neverlost_topics", 1000) in {(name, value) for name, _, value in found}
    assert found[-1][1]["topic"].startswith('t\\"') and found[-1][1]["topic"].endswith("\\\\")


def test_the_alerts_are_about_gauges_that_are_printed() -> None:
    """The form is what `promtool check rules` of Prometheus 2.42 accepts."""
    (group,) = yaml.safe_load((ROOT / "reports/guide/neverlost-alerts.yml").read_text())["groups"]
    assert group.keys() == {"name", "rules"}
    for rule in group["rules"]:
        assert {"alert", "expr", "labels", "annotations"} <= rule.keys() <= {"alert", "expr", "for", "labels", "annotations"}
        assert re.fullmatch(r"[A-Za-z_]\w*", rule["alert"]) and set(re.findall(r"neverlost_\w+", rule["expr"])) <= GAUGES.keys()


@pytest.mark.parametrize("more", [("--at-least", "data_loss=any:1"), ("--json", "-")])
def test_gauges_go_with_whole_tables(more: tuple[str, ...]) -> None:
    done = neverlost("tolerance", *SETTLED, "--format", "prometheus", *more)
    assert done.returncode == 64 and "--format prometheus prints gauges of whole tables" in done.stderr
