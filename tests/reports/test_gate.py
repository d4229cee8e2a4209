"""What a team builds on: the Action and the hook on a sample repository, annotations at the user's lines, the manual page."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
import yaml

from neverlost.reports.ci.formats import csv as table
from neverlost.reports.ci.formats import github, junit, markdown, sarif
from neverlost.reports.ci.verdicts.gate_verdict import GateResult
from tests.support.program import DATA, ROOT, neverlost

REPOSITORY = DATA / "repository"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[subprocess.CompletedProcess[str], Path]:
    """The Action's own commands on the sample repository, as its workflow asks."""
    place = tmp_path_factory.mktemp("runner") / "repository"
    shutil.copytree(REPOSITORY, place)
    (tools := place.parent / "bin").mkdir()
    (tools / "neverlost").write_text(f'#!/bin/sh\nexec {sys.executable} -m neverlost "$@"\n')
    (tools / "neverlost").chmod(0o755)
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    workflow = yaml.safe_load((place / ".github/workflows/kafka.yml").read_text())
    (asked,) = [step for step in workflow["jobs"]["kafka"]["steps"] if step.get("id") == "neverlost"]
    given = {
        "ARGUMENTS": asked["with"]["arguments"],
        "OUT": action["inputs"]["out"]["default"],
        "GITHUB_OUTPUT": str(place.parent / "output"),
        "GITHUB_STEP_SUMMARY": str(place.parent / "summary.md"),
        "PATH": f"{tools}:{os.environ['PATH']}",
    }
    (step,) = [each for each in action["runs"]["steps"] if each["name"] == "run"]
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    done = subprocess.run(command, cwd=place, env=os.environ | given, capture_output=True, text=True, timeout=300, check=False)
    return done, place


def test_the_action_fails_the_job_and_points_at_the_user_s_own_lines(
    run: tuple[subprocess.CompletedProcess[str], Path],
) -> None:
    done, place = run
    lines = (place / "topics.yaml").read_text().splitlines()
    assert done.returncode == 12, done.stderr
    (annotation,) = [line for line in done.stdout.splitlines() if line.startswith("::error")]
    number = int(annotation.partition("line=")[2].partition(",")[0])
    assert annotation.startswith("::error file=topics.yaml,") and "for clicks::" in annotation
    assert 11 <= number <= len(lines) and "Set replication.factor=3 (now 2) (verified, as Kafka is designed)." in annotation
    assert (place.parent / "output").read_text() == "sarif=neverlost-evidence/results.sarif\nstatus=12\n"
    assert "| violated | 1 | clicks |" in (place.parent / "summary.md").read_text()
    found = json.loads((place / "neverlost-evidence" / "results.sarif").read_text())
    schema = json.loads((DATA / "sarif-2.1.0.schema.json").read_text())
    assert [each.message for each in jsonschema.Draft4Validator(schema).iter_errors(found)] == []
    (result,) = found["runs"][0]["results"]
    place_of = result["locations"][0]["physicalLocation"]
    assert (place_of["artifactLocation"]["uri"], place_of["region"]["startLine"]) == ("topics.yaml", number)
    assert all(each["help"]["text"] and each["fullDescription"]["text"] for each in found["runs"][0]["tool"]["driver"]["rules"])
    steps = result["codeFlows"][0]["threadFlows"][0]["locations"]
    assert len(steps) == 7 and all(each["location"]["logicalLocations"] for each in steps)
    shown = {
        json.dumps(each["physicalLocation"]) for each in (*result["relatedLocations"], *(one["location"] for one in steps))
    }
    assert shown == {json.dumps(place_of)}, "a region that is not the user's own line"
    with (place / "neverlost-evidence" / "verdicts.csv").open() as rows:
        assert [(each["topic"], each["verdict"]) for each in csv.DictReader(rows)] == [
            ("orders", "holds"),
            ("clicks", "violated"),
        ]
    assumed = "Assumed: enable.idempotence=true, flush.messages=default."
    assert assumed in annotation and assumed in result["message"]["text"]
    cases = ElementTree.parse(place / "neverlost-evidence" / "junit.xml").iter("testcase")
    assert all((each.findtext("system-out") or "").startswith("Assumed: ") for each in cases)
    assert "(assumed: " in (place / "neverlost-evidence" / "report.md").read_text()
    verified = neverlost("verify", str(place / "neverlost-evidence"), cwd=place)
    assert verified.returncode == 0, verified.stderr


def test_the_hooks_are_commands_that_exist() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    own = yaml.safe_load((REPOSITORY / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    assert {each["id"] for each in own} <= {each["id"] for each in hooks}
    (hook,) = [each for each in hooks if each["id"] == own[0]["id"]]
    done = neverlost(*hook["entry"].split()[1:], *own[0]["args"], "--set", "bounds.records=1", cwd=REPOSITORY)
    assert (done.returncode, done.stdout) == (
        0,
        "HOLDS        acked-never-lost (orders)\nHOLDS        acked-never-lost (clicks)\n"
        "assumed: acks=all\nassumed: enable.idempotence=true\nassumed: flush.messages=default\n",
    )


def _cell(topic: str, **more: Any) -> dict[str, Any]:
    entry = {"name": "acked-never-lost", "verdict": "violated", "steps": 3, "faults": {"lossy_crash": 1}, "trace": None}
    base = {"id": f"nl-{topic}", "model": "kraft", "config": {"replication.factor": 1}, "bounds": {}, "version": "1"}
    return {**base, "verdict": "violated", "properties": [entry], "topics": [topic], **more}


def test_what_a_topic_is_called_cannot_leave_its_place() -> None:
    """Commands of a workflow, cells of a table, formulas of a spreadsheet, entities of XML."""
    hostile = '=1+1|<b>"::error file=x,line=1::%0A\n'
    document = {"cells": [_cell(hostile, places={hostile: "a,b:c.txt line 7"}), _cell("b", places={"b": "elsewhere"})]}
    found = GateResult(document, Path())
    assert [line[:8] for line in github.render(found).splitlines()] == ["::error ", "::error "]
    assert "file=a%2Cb%3Ac.txt,line=7" in github.render(found) and "file=" not in github.render(found).splitlines()[1]
    rows = list(csv.DictReader(table.render(found).splitlines(keepends=True)))
    assert rows[0]["topic"] == f"'{hostile}" and rows[1]["place"] == ""
    assert [case.get("name") for case in ElementTree.fromstring(junit.render(found)).iter("testcase")][1] == "b"
    assert all(
        line.count("|") - line.count("\\|") == 7 for line in markdown.render(found).splitlines() if line.startswith("| vi")
    )
    first = sarif.log(found)["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert (first["artifactLocation"]["uri"], first["region"]["startLine"]) == ("a%2Cb%3Ac.txt", 7)


def test_many_topics_with_the_same_answer_are_not_many_texts() -> None:
    """GitHub shows ten errors of a step and a hundred places of a result; a case of JUnit is short."""
    many = [f"topic-{number}" for number in range(3000)]
    cell = _cell("x", topics=many, places={name: f"t.txt line {number}" for number, name in enumerate(many, 1)})
    found = GateResult({"cells": [cell, _cell("alone")]}, Path())
    first, other = github.render(found).splitlines()
    assert "file=t.txt,line=1,title=acked-never-lost%3A violated for topic-0%2C topic-1%2C topic-2 and 2997 more::" in first
    assert "for alone::" in other
    cases = list(ElementTree.fromstring(junit.render(found)).iter("testcase"))
    assert len(cases) == 3001 and len(junit.render(found)) < 300 * len(cases)
    texts = [each.findtext("failure") or "" for each in cases[:2]]
    assert "acked-never-lost is violated" in texts[0] and texts[1] == "as for topic-0"
    (result, _) = sarif.log(found)["runs"][0]["results"]
    assert len(result["relatedLocations"]) <= sarif.MOST_PLACES


def test_the_lines_of_a_matrix_and_of_a_configuration_are_the_user_s_own(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text(
        '# what we run\nmodel = "kraft"\nproperties = ["acked-never-lost"]\n[topic]\nreplication.factor = 1\n'
        'flush.messages = ["default", "1"]\n[faults]\nlossy_crash = 1\n[bounds]\nrecords = 1\n'
    )
    assert neverlost("sweep", "m.toml", "--out", "out", cwd=tmp_path).returncode == 0
    (result,) = json.loads((tmp_path / "out" / "results.sarif").read_text())["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("m.toml", 6)
    assert neverlost("verify", "out", cwd=tmp_path).returncode == 0
    (tmp_path / "c.toml").write_text(
        'model = "kraft"\n\n[topic]\nreplication.factor = 1\n[faults]\nlossy_crash = 1\n[bounds]\nrecords = 1\n'
    )
    done = neverlost("check", "c.toml", "--property", "acked-never-lost", "--format", "github", cwd=tmp_path)
    assert done.stdout.startswith("::error file=c.toml,line=4,") and done.returncode == 12


def test_the_shell_completes_commands() -> None:
    environment = {"_NEVERLOST_COMPLETE": "complete_bash", "COMP_WORDS": "neverlost che", "COMP_CWORD": "1"}
    command = [sys.executable, "-m", "neverlost"]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, timeout=60, check=False)
    assert "check" in done.stdout.split()
