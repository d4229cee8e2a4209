"""What the documents show is what the program does."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from neverlost import check
from neverlost.reports.documents.sweep_and_baseline import cell_name
from tests.support.program import DATA, neverlost

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
TIMES = re.compile(r"[\d.]+ s, [\d,]+/s")


def console_blocks() -> list[tuple[str, list[str]]]:
    found = []
    for block in re.findall(r"```console\n(.*?)```", README, flags=re.DOTALL):
        command, *lines = block.splitlines()
        found.append((command.removeprefix("$ "), [line for line in lines if line != "…"]))
    return found


@pytest.mark.parametrize(
    ("command", "shown"), console_blocks(), ids=lambda value: value[-60:] if isinstance(value, str) else ""
)
def test_shown_runs_are_real(command: str, shown: list[str]) -> None:
    program, *arguments = shlex.split(command)
    assert program == "neverlost"
    done = neverlost(*arguments)
    lines = [TIMES.sub("", " ".join(line.split())) for line in done.stdout.splitlines()]
    for line in shown:
        assert TIMES.sub("", " ".join(line.split())) in lines


def test_the_citation_of_the_readme_is_the_one_that_is_made() -> None:
    (shown,) = re.findall(r'sentences to cite: "(.+?)";', README)
    parts = [re.escape(each) for each in re.split(r"\b[A-Z]+\b|…", shown)]
    settings = {"kafka.version": "3.9", "replication.factor": 1, "bounds.records": 1, "faults.lossy_crash": 1}
    said = check(settings, properties=["acked-never-lost"], workers=1).cite()
    assert re.fullmatch(".+".join(parts), said), said


def block(marker: str, kind: str) -> str:
    found = re.search(rf"<!-- {marker} -->\n```{kind}\n(.*?)```", README, flags=re.DOTALL)
    assert found is not None, marker
    return found[1]


DESCRIBED = (
    "Topic: orders\tTopicId: Xm3bVpA8QfO0yYw2l2cB3g\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: min.insync.replicas=2\n"
    "\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,2,3\n"
    "Topic: clicks\tTopicId: JHBl5JbnRAKNH0oTfZyJ9Q\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: \n"
    "\tTopic: clicks\tPartition: 0\tLeader: 3\tReplicas: 3,1,2\tIsr: 3,1\n"
)


def test_the_readme_begins_with_one_s_own_topics_and_their_gate(tmp_path: Path) -> None:
    """Its first commands, as they stand there: the answer about two topics, and the gate that says the same."""
    (tmp_path / "topics.txt").write_text(DESCRIBED)
    shutil.copy(DATA / "kafka" / "formats" / "features-3.9-pasted.txt", tmp_path / "features.txt")
    commands = re.findall(r"^neverlost (.*)$", block("own topics", "sh"), flags=re.MULTILINE)
    assert README.index("<!-- own topics -->") < README.index("```console") < README.index("<!-- main command -->")
    answer, gate = (neverlost(*shlex.split(each), cwd=tmp_path) for each in commands)
    pair = "1 loses records when one broker loses data and another is slow (as it stands now)"
    counts = f"{pair}; 1 is safe with one broker lost and one slow"
    assert answer.returncode == 0 and counts in answer.stdout and "Bugs of Kafka 3.9 as released" in answer.stdout
    lines = [line.split()[:3] for line in gate.stdout.splitlines() if line.startswith(("VIOLATED", "HOLDS"))]
    assert gate.returncode == 12 and lines[:2] == [["VIOLATED", "1", "clicks"], ["HOLDS", "1", "orders"]]


def test_no_document_names_a_release_that_does_not_exist() -> None:
    for page in (ROOT / "README.md", ROOT / "action.yml"):
        assert "pip install neverlost" not in page.read_text(), page.name


def test_the_way_from_one_s_own_cluster_to_a_verified_report(tmp_path: Path) -> None:
    (tmp_path / "topics.txt").write_text(DESCRIBED)
    shutil.copy(DATA / "kafka" / "formats" / "features-3.9-pasted.txt", tmp_path / "features.txt")
    commands = re.findall(r"^neverlost (.*?)\s*(?:#.*)?$", block("own cluster", "sh").replace("\\\n", " "), flags=re.MULTILINE)
    assert [each.split()[0] for each in commands] == ["check", "verify"]
    printed = []
    for command, status in zip(commands, (12, 0), strict=True):
        done = neverlost(*shlex.split(command), cwd=tmp_path)
        assert done.returncode == status, done.stderr
        printed.append(done.stdout)
    said = printed[0].partition("assumed: acks=all\n")[0]
    wrote = "wrote evidence/report.html and report.md (with sentences to cite)"
    assert said.endswith(f"{wrote}; neverlost verify evidence checks all of it again\n")
    assert done.stdout.endswith("VERIFIED\n") and "PARTLY" not in done.stdout
    report = (tmp_path / "evidence" / "report.md").read_text()
    assert all(re.search(rf"acked-never-lost is violated .*\(topics {topic}\)", report) for topic in ("orders", "clicks"))
    assert len(re.findall(r"nl-[0-9a-f]{16}", report)) >= 2
    assert report.count("Kafka 3.9 (kraft) with replication.factor=3") >= 2 and "mechanism." not in report
    assert all(f"`acked-never-lost` for {topic}:" in report for topic in ("orders", "clicks"))


def test_the_gate_of_the_readme_passes_and_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The workflow's own commands: green as it is, red with the changed cell's name when an expectation differs."""
    (tmp_path / "production.toml").write_text(block("gate matrix", "toml"))
    commands = re.findall(r"run: neverlost (sweep .*)", block("gate workflow", "yaml"))
    (record,) = re.findall(r"neverlost (sweep production.toml --json .*?)\s*#", README)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary"))

    def ran(command: str) -> subprocess.CompletedProcess[str]:
        return neverlost(*shlex.split(command), cwd=tmp_path)

    assert ran(record).returncode == 0
    (gate,) = commands
    assert ran(gate).returncode == 0 and "No verdict changed." in (tmp_path / "summary").read_text()
    expected = json.loads((tmp_path / "expected.json").read_text())
    cell = next(each for each in expected["cells"] if each["verdict"] == "violated")
    cell["properties"][0]["verdict"] = "holds"
    (tmp_path / "expected.json").write_text(json.dumps(expected))
    done = ran(gate)
    assert done.returncode == 21
    named = cell_name(cell)
    changed = [line for line in done.stdout.splitlines() if line.startswith("changed: ")]
    assert changed == [f"changed: {named}: acked-never-lost held, is violated"]
    assert f"| {named} | acked-never-lost | holds | violated |" in (tmp_path / "summary").read_text()
    assert {"junit.xml", "results.sarif"} <= {each.name for each in (tmp_path / "evidence").iterdir()}


def test_ci_runs_the_readme_s_test_command() -> None:
    command = re.search(r"<!-- test command -->\n```sh\n(.*?)```", README, flags=re.DOTALL)
    assert command is not None and "pytest" in command[1]
    assert "<!-- test command -->" in (ROOT / ".ci" / "run").read_text()


def test_every_link_of_the_documents_leads_somewhere() -> None:
    folders = (ROOT / "reports" / each for each in ("guide", "decisions"))
    for page in (
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *(each for folder in folders for each in sorted(folder.glob("*.md"))),
    ):
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{target} in {page.name}"


FILE = re.compile(r"`((?:model|checker|specs|tests|reports)/[\w./-]+\.(?:py|md|toml|json))`")


def test_every_module_and_file_that_a_document_names_is_there() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "reports").rglob("*.md")]
    named = {name.replace(".", "/") for each in pages for name in re.findall(r"python -m (tests(?:\.\w+)+)", each.read_text())}
    files = {name for each in pages if each.name != "CHANGELOG.md" for name in FILE.findall(each.read_text())}
    missing = [each for each in named if not (ROOT / each).is_dir() and not (ROOT / f"{each}.py").is_file()]
    missing += [each for each in files if not (ROOT / each).exists() and Path(each).stem not in ("NAME", "toy")]
    assert len(named) > 10 and len(files) > 50 and not missing


def test_the_readme_is_short_and_the_index_names_every_decision() -> None:
    assert len(README.splitlines()) <= 150
    folder = ROOT / "reports" / "decisions"
    listed = re.findall(
        r"^\| \[(.+)\]\((\d[^)]+)\) \| (.+) \| \d{4}-\d\d-\d\d \|$", (folder / "README.md").read_text(), flags=re.MULTILINE
    )
    headings = {each.name: each.read_text().partition("\n")[0] for each in folder.glob("[0-9]*.md")}
    assert sorted((name, f"# {title}") for title, name, _ in listed) == sorted(headings.items())
    statuses = {each for *_, status in listed for each in re.findall(r"\b\d{3}\b", status) or [status]}
    assert statuses <= {"in force", *(name[:3] for name in headings)}, "in force, or the pages that changed it"


def test_every_decision_says_what_was_rejected() -> None:
    for page in sorted((ROOT / "reports" / "decisions").glob("[0-9]*.md")):
        text = page.read_text()
        assert text.startswith("# "), page.name
        assert re.search(r"reject|instead of|rather than|not taken", text, flags=re.IGNORECASE), page.name


def test_the_ways_through_the_house_are_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    named = re.findall(r"`([\w/]+\.py)`\s+`(\w+)`", text)
    assert len(named) > 12
    for place, function in named:
        assert re.search(rf"^ *(def|class) {function}\b", (ROOT / place).read_text(), re.MULTILINE), f"{function} in {place}"
