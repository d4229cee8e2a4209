"""The program as its users see it: output, exit status, documents, and one clear line for whatever is wrong."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from neverlost.reports.command_line.commands import COMMANDS
from tests.support.program import ROOT, document, neverlost

TRUNCATING = ["--set", "model=truncate-to-hw", "--set", "replication.factor=2", "--property", "strong-isr"]


def test_explore_counts() -> None:
    found = document("explore", "kip-320", "--set", "replication.factor=2")
    assert found["states"] == {"generated": 11733, "distinct": 5973, "depth": 18, "left": 0}
    assert found["schema"] == "neverlost.result/1" and found["identity"] == "exact" and found["symmetry"] is False
    assert found["id"].startswith("nl-") and found["model_digest"].startswith("sha256:")


def test_check_finds_replays_and_refuses_a_changed_trace(tmp_path: Path) -> None:
    done = neverlost("check", *TRUNCATING, "--out", str(tmp_path / "out"))
    assert done.returncode == 12
    assert "VIOLATED" in done.stdout and "without any fault (9 steps)" in done.stdout and "lost: m1" in done.stdout
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    assert result["properties"] == [
        {"name": "strong-isr", "verdict": "violated", "steps": 9, "faults": {}, "trace": "strong-isr.itf.json"}
    ]
    trace = tmp_path / "out" / "strong-isr.itf.json"
    again = neverlost("replay", str(trace))
    assert again.returncode == 12 and "9 steps of truncate-to-hw, each confirmed" in again.stdout
    changed = json.loads(trace.read_text())
    changed["states"][5]["high_watermark"][0] ^= 1
    bad = tmp_path / "bad.itf.json"
    bad.write_text(json.dumps(changed))
    refused = neverlost("replay", str(bad))
    assert refused.returncode == 64
    assert refused.stderr == (
        f"neverlost: state 5 of {str(bad)!r}: high_watermark[0] is 1, but leader_write(replica=0) leads to 0\n"
    )


def test_every_single_change_of_a_trace_is_refused(tmp_path: Path) -> None:
    from neverlost.reports.counterexample.itf import read_itf
    from neverlost.specs.errors import InputError

    neverlost("check", *TRUNCATING, "--out", str(tmp_path))
    original = (tmp_path / "strong-isr.itf.json").read_text()
    changed_file = tmp_path / "changed.json"
    tried = 0
    for index, state in enumerate(json.loads(original)["states"]):
        for name, value in state.items():
            if name == "#meta":
                continue
            document = json.loads(original)
            document["states"][index][name] = _changed(value)
            changed_file.write_text(json.dumps(document))
            with pytest.raises(InputError):
                read_itf(changed_file)
            tried += 1
    assert tried > 100


def test_a_trace_from_before_a_configuration_key_replays(tmp_path: Path) -> None:
    from neverlost.reports.counterexample.itf import checksum, read_itf
    from neverlost.specs.errors import InputError

    settings = ("model=kraft", "replication.factor=2", "bounds.records=1", "faults.lossy_crash=1", "acks=1")
    given = [part for each in settings for part in ("--set", each)]
    assert neverlost("check", *given, "--property", "acked-never-lost", "--out", str(tmp_path)).returncode == 12
    written = (tmp_path / "acked-never-lost.itf.json").read_text()

    def read(change: Any) -> Any:
        """The trace as an author of another version would have written it, constants in each state: the checksum is right."""
        document = json.loads(written)
        constants = document["#meta"]["neverlost"].pop("constants")
        assert document["params"] == list(constants) and not constants.keys() & document["states"][0].keys()
        document["states"] = [constants | state for state in document["states"]]
        change(document["#meta"]["neverlost"]["config"], document["states"])
        document["#meta"]["neverlost"]["checksum"] = checksum(document)
        (tmp_path / "other.itf.json").write_text(json.dumps(document))
        return read_itf(tmp_path / "other.itf.json")

    def without_key(config: Any, states: Any) -> None:
        del config["election.policy"]
        for state in states:
            del state["election_policy"]

    system, broken, trace, brokers = read(without_key)
    assert (system, broken, trace, brokers) == read_itf(tmp_path / "acked-never-lost.itf.json")
    assert system.configurations[0]["election.policy"] == "any"
    for change, message in (
        (lambda config, states: config.update({"min.insync.replicas": 2}), r"min_isr = 1 is outside 2\.\.2"),
        (lambda config, states: states[2].update(election_policy=1), r"election_policy = 1 is outside 0\.\.0"),
        (lambda config, states: config.update({"election.order": "any"}), r"unknown key 'election\.order'"),
        (lambda config, states: states[1].pop("high_watermark"), r"^high_watermark in state 1 of .* is missing$"),
    ):
        with pytest.raises(InputError, match=message):
            read(change)


def test_a_trace_of_another_layout_is_one_clear_line(tmp_path: Path) -> None:
    neverlost("check", *TRUNCATING, "--out", str(tmp_path))
    written = (tmp_path / "strong-isr.itf.json").read_text()
    for old, new, said in (
        ("log_end_offset", "log_end", "was written by another version of neverlost (it lacks log_end_offset"),
        ("leader_write(", "leader_append(", "has unknown action 'leader_append(replica=0)'"),
    ):
        assert old in written
        (tmp_path / "old.itf.json").write_text(written.replace(old, new))
        done = neverlost("replay", str(tmp_path / "old.itf.json"))
        assert done.returncode == 64 and done.stderr.count("\n") == 1
        assert said in done.stderr and "make it again with neverlost check --out DIR" in done.stderr


def _changed(value: Any) -> Any:
    if isinstance(value, list):
        return [_changed(value[0]), *value[1:]]
    if isinstance(value, bool):
        return not value
    return value + "x" if isinstance(value, str) else value + 1


def test_every_keyword_of_a_search_is_an_option() -> None:
    from neverlost.reports.command_line.options import SHARED
    from neverlost.reports.request.keywords import Checking, ClusterKeywords
    from neverlost.reports.request.run_options import RunOptions

    of_one_command = {"started", "states_each", "orbits"}
    assert set(get_type_hints(Checking)) == {each.name for each in fields(RunOptions)} - of_one_command
    assert set(SHARED) == set(get_type_hints(Checking)) | set(get_type_hints(ClusterKeywords))


def test_every_command_can_be_quiet() -> None:
    import typer

    from neverlost.reports import program

    program.register([])
    commands = typer.main.get_command(program.app).commands  # type: ignore[attr-defined]
    assert [name for name, each in commands.items() if not any("--quiet" in option.opts for option in each.params)] == []
    assert neverlost("explore", "kip-320", "--set", "replication.factor=2", "--quiet").stdout == (
        "COMPLETE     5973 distinct, depth 18\n"
    )


def test_the_help_of_quiet_says_on_which_stream_what_is_assumed_stands() -> None:
    asked = [f"--set={each}" for each in ("metadata.version=3.9-IV0", "faults.kill=1", "bounds.records=1")]
    shown = ("--describe", "tests/data/kafka/describe-3.9.txt", "--topic", "orders", "--kafka-version", "3.9")
    done = neverlost("check", *shown, *asked, "--property", "acked-never-lost", "--quiet")
    printed, beside = done.stdout.splitlines(), done.stderr.splitlines()
    assert "assumed: acks=all" in printed and not set(printed) & set(beside)
    assert any(each.startswith("assumed: no producer file is given: assuming acks=all") for each in beside)
    said = " ".join(neverlost("check", "--help").stdout.replace("│", " ").split())
    assert "print only verdicts and assumed: KEY=VALUE; other caveats on stderr" in said


def test_every_word_is_explained(tmp_path: Path) -> None:
    from neverlost.reports.questions.explain.glossary import all_words
    from neverlost.specs.inputs.recognise import readers

    said = neverlost(
        "explain", "min.insync.replicas", "fence", "acked-never-lost", "reelection-forgets-offsets", "holds"
    ).stdout
    for part in (
        "whole number from 1 to 7",
        "faults.fence (fault)",
        "exit status: 12",
        "mechanism.reelection-forgets-offsets (mechanism)",
        "every state that the faults",
    ):
        assert part in said
    assert all(each.says for each in all_words().values()) and len(all_words()) > 100
    formats = neverlost("explain", "describe").stdout
    assert all(each.NAME in formats for each in readers().values()), formats
    assert "2.8: 1" not in said and "default: 1 from 0.8.0, all from 3.0" in neverlost("explain", "acks").stdout
    wrong = neverlost("explain", "acs")
    assert wrong.returncode == 64 and wrong.stderr == (
        "neverlost: there is nothing to explain about 'acs'; did you mean 'acks'? neverlost explain lists all words\n"
    )


def test_plain_words_and_words_of_tables_are_explained_with_a_command_to_try() -> None:
    """The words that an operator asks for first, in any of their forms; each command is one that its reader accepts."""
    from neverlost.checker.questions.tolerance.cell_words import LOST, OK, STOPS, UNDECIDED
    from neverlost.reports.questions.explain.glossary import all_words, find_word
    from neverlost.specs.configuration.choose import choose, read_settings
    from neverlost.specs.properties import properties

    plain = ("ISR", "HW", "LEO", "committed", "lag", "rack", "offset", "flush", "exactly-once", "in-sync", "truncation")
    also = ("preferred leader", "preferred-leader", "High Watermark", "acked", "epoch", OK, STOPS, LOST, UNDECIDED, "out")
    found = [find_word(each) for each in (*plain, *also)]
    assert {"HW", "preferred leader", "exactly-once", "truncated"} <= {each.name for each in found}
    replication = dict(find_word("replication.factor").more)
    assert (replication["default"], replication["commands take"]) == ("1", "3, where it is not given")
    commands = {each.name: dict(each.more)["try"].split() for each in all_words().values()}
    assert {words[0] for words in commands.values()} == {"neverlost"}
    assert {words[1] for words in commands.values()} <= {*COMMANDS, "models"}
    for name, words in commands.items():
        given = [value for option, value in pairwise(words) if option == "--set"]
        asked = [value for option, value in pairwise(words) if option == "--property"]
        settings = read_settings(given) | ({"model": (words[2], "")} if words[1] == "explore" else {})
        assert not given or choose(settings).configuration, name
        assert {*asked} <= properties().keys(), name
    shown = neverlost(*commands["ISR"][1:])
    assert shown.returncode in (0, 12), shown.stderr


def test_holds_violated_and_inconclusive_have_their_statuses() -> None:
    assert neverlost("check", "--set", "model=kip-320", "--set", "replication.factor=2").returncode == 0
    assert neverlost("check", *TRUNCATING).returncode == 12
    assert neverlost("check", "--set", "model=kip-320", "--time-limit", "0.000001").returncode == 20


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["explore", "kip230"],
            "unknown model 'kip230' in the command line; did you mean 'kip-320'? available: ",
        ),
        (
            ["check", "--set", "kafka.version=3.9", "--set", "faults.consumer_crash=any"],
            "faults.consumer_crash=any is not known to this model yet: give a number",
        ),
        (
            ["tolerance", "--set", "kafka.version=3.9", "--also", "consumer_crash=any"],
            "faults.consumer_crash=any is not known to this model yet: give a number",
        ),
        (["explore", "kip-320", "--set", "acks=all"], "acks in --set is not read by this model; it reads: replication.factor"),
        (
            ["explore", "kip-320", "--set", "bounds.record=1"],
            "unknown key 'bounds.record' in --set; did you mean 'bounds.records'?",
        ),
        (
            ["check", "--set", "min.insync.replica=2"],
            "unknown key 'min.insync.replica' in --set; did you mean 'min.insync.replicas'? neverlost explain lists all\n",
        ),
        (
            ["explore", "kip-320", "--set", "replication.factor=0"],
            "bad value '0' for replication.factor in --set: use a whole number from 1 to 7",
        ),
        (["check", "--set", "model=kraft", "--set", "min.insync.replicas=0"], "bad value '0' for min.insync.replicas in --set"),
        (
            ["check", "--set", "model=kraft", "--set", "acks=7"],
            "bad value '7' for acks in --set: use 0 or 1 or all or min",
        ),
        (["explore", "kip-320", "--set", "nonsense"], "bad --set 'nonsense': write KEY=VALUE"),
        (["check", "nowhere.toml"], "cannot read 'nowhere.toml': No such file or directory"),
        (["check", "tests"], "'tests' is a directory; name a file"),
        (["check", "--property", "isr"], "unknown property 'isr' in --property; did you mean"),
        (["check", "--engine", "gpu"], "unknown engine 'gpu' in --engine; available: columns, memory, spark"),
        (["check", "--memory-limit", "much"], "bad value 'much' for --memory-limit: write a size such as 512M or 2G"),
        (["check", "--time-limit", "0"], "bad value '0' for --time-limit: use seconds above 0"),
        (["check", "--workers", "0"], "bad value '0' for --workers: use a number from 1 to 256"),
        (["check", "--set", "broker.rack=a,b"], "broker.rack names 2 racks, but replication.factor is 3: name one per replica"),
        (["check", "--resume"], "--resume needs --state-dir DIR"),
        (["check", "--json", "/nowhere/x.json"], "cannot write '/nowhere/x.json': directory '/nowhere' does not exist"),
        (["check", "--json", "tests"], "'tests' is a directory; name a file for --json"),
        (["check", "--out", "README.md"], "cannot make directory 'README.md': 'README.md' is a file"),
        (["check", "--topic", "orders"], "--topic 'orders' is about a described cluster: give --describe FILE or --boot"),
        (["scenarios", "acks1-leader-crsh" + "x" * 99], "unknown scenario 'acks1-leader-crsh" + "x" * 43 + "...'; available:"),
        (["check", "--nonsense"], "No such option: --nonsense"),
        (["nonsense"], "No such command 'nonsense'"),
        (["replay", "README.md"], "'README.md' is not JSON"),
        (["replay", "nowhere"], "cannot read 'nowhere': No such file or directory"),
    ],
    ids=lambda value: " ".join(value)[:50] if isinstance(value, list) else "",
)
def test_bad_input_is_one_line_and_64(arguments: list[str], message: str) -> None:
    done = neverlost(*arguments)
    assert done.returncode == 64, done.stderr
    assert done.stderr.startswith("neverlost: ") and done.stderr.count("\n") == 1
    assert message in done.stderr and "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "--describe", "given"],
        ["check", "given"],
        ["check", "--property", "lossless"],
        ["sweep", "given"],
        ["prove", "--method", "induction", "--set", "acks=7"],
        ["scenarios", "given"],
        ["claims", "given"],
        ["necessity", "--set", "model=given"],
        ["reproduce", "given", "--kafka-version", "3.9"],
        ["observe", "given"],
    ],
    ids=" ".join,
)
def test_bad_input_leaves_nothing_behind(arguments: list[str], tmp_path: Path) -> None:
    (tmp_path / "given").write_text("Topic orders\n")
    done = neverlost(*arguments, "--out", "new/place", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (64, "", 1), done.stderr
    assert [each.name for each in tmp_path.iterdir()] == ["given"]


def test_a_document_goes_through_a_pipe_that_stays_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE, text=True) as reader:
        try:
            assert neverlost("properties", "--json", str(pipe)).returncode == 0
            assert pipe.is_fifo() and [each.name for each in tmp_path.iterdir()] == ["pipe"]
            said, _ = reader.communicate(timeout=30)
        finally:
            reader.kill()
    assert json.loads(said)["schema"] == "neverlost.properties/1"


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["properties"], 0),
        (["check", *TRUNCATING], 12),
        (["check", *TRUNCATING, "--json", "-"], 12),
        (["check", "--set", "model=kip-320", "--set", "replication.factor=2", "--quiet"], 0),
        (["prove", "--set", "model=kip-320", "--set", "replication.factor=2", "--depth", "1"], 20),
        (["check", "--set", "model=none"], 64),
    ],
)
def test_a_reader_that_stops_changes_no_verdict(arguments: list[str], status: int) -> None:
    command = [sys.executable, "-m", "neverlost", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None and writer.stderr is not None
        writer.stdout.close()
        assert writer.wait(timeout=60) == status
        assert "Traceback" not in (said := writer.stderr.read()) and said.count("\n") == (status == 64)


@pytest.mark.parametrize("arguments", [[], ["--help"], ["--version"], *([each] for each in COMMANDS)], ids=" ".join)
def test_without_a_place_for_its_answer_no_command_begins(arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "neverlost", *arguments],
        preexec_fn=lambda: os.close(1),
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 64 and done.stderr.startswith("neverlost: stdout is closed") and done.stderr.count("\n") == 1


def test_an_answer_that_finds_no_room_is_no_verdict() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-m", "neverlost", "properties"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 20 and "no space is left on the device" in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("given", "release", "fitting"),
    [
        ({}, "4.4", ["4.3", "4.4"]),
        ({"kafka.version": "3.9.1"}, "3.9", ["3.9"]),
        ({"kafka.version": "3.9", "mechanism.maximal-isr": "off"}, None, []),
        ({"kafka.version": "4.0", "eligible.leader.replicas": "true"}, "4.0", ["4.0"]),
        ({"kafka.version": "3.9", "defects": "fixed"}, "3.9", ["3.9"]),
        ({"kafka.version": "3.9", "defects": "fixed", "mechanism.maximal-isr": "off"}, None, []),
        ({"model": "kip-320"}, None, []),
    ],
)
def test_a_release_is_named_where_no_key_departs_from_it(
    given: dict[str, str], release: str | None, fitting: list[str]
) -> None:
    from neverlost.specs.configuration.choose import choose, is_release

    chosen = choose({name: (value, "test") for name, value in given.items()})
    assert chosen.release == release
    texts = ("3.9", "4.0", "4.1", "4.3", "4.4", "3.9.1", "3.9<b>", "", "nine")
    assert [each for each in texts if is_release(each, chosen.model, chosen.configuration)] == fitting


def test_a_verdict_without_faults_says_so(tmp_path: Path) -> None:
    said = "nothing may fail here (every faults.* is 0)"
    small = ["--set", "model=majority", "--set", "replication.factor=2", "--set", "bounds.records=1"]
    assert said in neverlost("check", *small, "--out", str(tmp_path)).stdout
    assert "bounds.records=1, no faults. [neverlost" in (tmp_path / "report.md").read_text()
    assert said not in neverlost("check", *small, "--set", "faults.crash=1").stdout
    assert said not in neverlost("check", "--set", "model=kip-320", "--set", "replication.factor=1").stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model = ", "malformed TOML in"),
        ("Topic: orders\tPartitionCount: 1\n", "; what kafka-topics.sh prints goes with --describe"),
        ("[topics]\nx = 1\n", "unknown table 'topics' in"),
        ("[producer]\nmin.insync.replicas = 2\n", "min.insync.replicas in [producer] of"),
        ("model = 'kip-320'\n[topic]\nreplication.factor = 'x'\n", "bad value 'x' for replication.factor in [topic] of"),
        ("model = 'kip-320'\nmodell = 1\n", "unknown key 'modell' in"),
    ],
)
def test_bad_configuration_files_name_the_place(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "c.toml"
    path.write_text(text)
    done = neverlost("check", str(path))
    assert done.returncode == 64 and message in done.stderr and done.stderr.count("\n") == 1


def test_unreadable_bytes_and_a_full_disk_are_one_line(tmp_path: Path) -> None:
    binary = tmp_path / "b.toml"
    binary.write_bytes(b"\xff\xfe\x00")
    assert "is not UTF-8 text (byte 0)" in neverlost("check", str(binary)).stderr
    full = neverlost("check", *TRUNCATING, "--out", "/dev/full")
    assert full.returncode == 64 and full.stderr.count("\n") == 1


def test_json_stdout_is_one_document_and_nothing_else() -> None:
    done = neverlost("check", *TRUNCATING, "--json", "-")
    assert done.returncode == 12 and json.loads(done.stdout)["verdict"] == "violated" and done.stderr == ""


def test_toml_tables_and_settings_combine(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text('model = "kip-320"\n[topic]\nreplication.factor = 3\n[bounds]\nrecords = 1\nmax_leader_epoch = 2\n')
    found = document("check", str(path), "--set", "replication.factor=2")
    assert found["config"]["replication.factor"] == 2 and found["bounds"]["bounds.log_size"] == 1


def test_the_kept_list_of_commands_is_what_typer_writes() -> None:
    code = "from neverlost.reports import program; program.register(['']); program.app(['--help'], prog_name='neverlost')"
    typed = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env=os.environ | {"COLUMNS": "80"},
    ).stdout
    kept = ROOT / "reports" / "command_line" / "help.txt"
    assert kept.read_text() == typed == neverlost("--help").stdout, f"write to {kept} what this prints: python -c {code!r}"


@pytest.mark.parametrize("asked, said", [("--help", "explore"), ("--version", "neverlost ")])
def test_help_and_version_import_no_command_and_nothing_heavy(asked: str, said: str) -> None:
    code = (
        f"import sys; sys.argv = ['neverlost', {asked!r}]\n"
        "import neverlost.reports.cli as cli\n"
        "try: cli.main()\n"
        "except SystemExit: pass\n"
        "heavy = ('typer', 'numpy', 'z3', 'pyspark', 'pyarrow', 'networkx', 'neverlost.model', 'neverlost.reports.commands')\n"
        "print([name for name in sys.modules if name.startswith(heavy)])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "[]" and said in done.stdout


def test_lists() -> None:
    assert {each["name"] for each in document("models")["models"]} >= {"kip-320", "kraft"}
    assert {each["name"] for each in document("properties")["properties"]} >= {"strong-isr", "acked-never-lost"}


def test_a_cluster_described_by_its_own_tools(tmp_path: Path) -> None:
    describe = tmp_path / "describe.txt"
    describe.write_text(
        "Topic: orders\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: min.insync.replicas=2\n"
        "\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,2,3\n"
        "Topic: clicks\tPartitionCount: 1\tReplicationFactor: 2\tConfigs: min.insync.replicas=1\n"
        "\tTopic: clicks\tPartition: 0\tLeader: 2\tReplicas: 2,3\tIsr: 2,3\n"
    )
    producer = tmp_path / "producer.properties"
    producer.write_text("acks=all\n")
    done = neverlost(
        *("check", "--describe", str(describe), "--producer-properties", str(producer), "--kafka-version", "3.9"),
        *("--set", "metadata.version=3.9-IV0"),
        *(
            "--set",
            "defects=fixed",
            "--set",
            "faults.lossy_crash=1",
            "--set",
            "faults.isr_shrink=1",
            "--set",
            "bounds.records=1",
        ),
        *("--property", "acked-never-lost", "--out", str(tmp_path / "out"), "--json", str(tmp_path / "r.json")),
    )
    assert done.returncode == 12, done.stderr
    cells = json.loads((tmp_path / "r.json").read_text())["cells"]
    assert {cell["topics"][0].split()[0]: cell["verdict"] for cell in cells} == {"orders": "holds", "clicks": "violated"}
    trace = next(cell["properties"][0]["trace"] for cell in cells if cell["verdict"] == "violated")
    assert neverlost("replay", str(tmp_path / "out" / trace)).returncode == 12


def test_ctrl_c_is_one_line(tmp_path: Path) -> None:
    described = tmp_path / "described"
    os.mkfifo(described)
    command = [sys.executable, "-m", "neverlost", "check", "--describe", str(described), "--out", str(tmp_path / "out")]
    environment = os.environ | {"NO_COLOR": "1"}
    running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    with running, described.open("w"):  # opens when the program has begun to read
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=60)
    assert (running.returncode, said) == (20, "neverlost: interrupted\n")
    assert not (tmp_path / "out").exists()


def test_the_list_of_commands_is_that_of_the_program_with_all_its_options() -> None:
    program = (
        "import sys; from neverlost.reports import cli, program; program._Names = lambda app: app; "
        "sys.argv[0] = 'neverlost'; cli.main()"
    )
    whole = subprocess.run([sys.executable, "-c", program, "-h"], capture_output=True, text=True, check=True).stdout
    assert neverlost("-h").stdout.splitlines()[1:] == whole.splitlines()[1:] and "  tolerance" in whole


def test_version_and_short_help() -> None:
    import neverlost as package

    alone = neverlost()
    assert (alone.returncode, alone.stderr) == (0, "")
    assert [line.split()[1] for line in alone.stdout.splitlines() if line.startswith("  neverlost")] == [
        *("tolerance", "check", "sweep", "explain"),
    ]
    assert max(map(len, alone.stdout.splitlines())) < 90

    assert neverlost("--version").stdout == f"neverlost {package.__version__}\n"
    assert neverlost("-h").stdout == neverlost("--help").stdout and "--show-completion" in neverlost("-h").stdout
    assert neverlost("check", "-h").stdout == neverlost("check", "--help").stdout


def test_help_is_in_groups_with_an_example() -> None:
    """Every command and every option stands in exactly one group; the operators' commands come first."""
    from neverlost.reports.command_line.help import EXAMPLES, GROUPS, OPERATORS

    names = [name for group in GROUPS.values() for name in group]
    assert len(names) == len(set(names))
    said = neverlost("--help").stdout
    listed = [line.split()[0] for line in said.partition("For your cluster:")[2].splitlines() if re.match(r"  \S", line)]
    assert tuple(listed[: len(OPERATORS)]) == OPERATORS and len(listed) == len(set(listed)) > len(OPERATORS)
    for command, examples in EXAMPLES.items():
        text = neverlost(command, "--help").stdout
        groups = [each for each in GROUPS if command != "rescue" or each != "The search"]  # which it has none of
        assert [title for title in GROUPS if f"\n{title}:\n" in text] == groups, command
        assert "\nOptions:\n" not in text and all(f"\n  {each}\n" in text for each in examples), command


def test_the_words_of_the_screens_are_explained() -> None:
    words = ("tolerance", "cell", "region", "ELR", "designed", "shipped", "HW", "LEO", "nines", "rack", "atlas")
    assert all(neverlost("explain", each).returncode == 0 for each in words)
