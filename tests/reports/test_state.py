"""A question about one state: the lecture's quiz and its like, and what no partition can show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from neverlost.specs.configuration.partition_state import read_figure
from neverlost.specs.errors import InputError
from tests.support.program import neverlost

SETTINGS = ("--set", "kafka.version=3.9", "--set", "min.insync.replicas=2")
QUIZ = """
leader = "1"
isr = ["1", "2"]
first_offset = 7
[broker.1]
log_end = 12
[broker.2]
log_end = 11
[broker.3]
log_end = 9
"""
"""The lecture's figure: the leader has offsets 7 to 11, a follower in sync 7 to 10, a lagging one 7 to 8."""

LAST_MEMBER = """
isr = ["3"]
[broker.1]
log = ["a", "b"]
[broker.2]
log = ["a"]
[broker.3]
log = ["a", "b", "c"]
high_watermark = 3
up = false
"""
"""Everyone but the last member of the ISR is up, and it is down."""


def asked(tmp_path: Path, text: str, *settings: str, status: int = 0) -> dict[str, Any]:
    """The answer under the one configuration that the settings mean."""
    file = tmp_path / "state.toml"
    file.write_text(text)
    done = neverlost("state", str(file), *(settings or SETTINGS), "--json", "-")
    assert done.returncode == status, done.stderr
    (answer,) = json.loads(done.stdout)["answers"]
    return dict(answer)


def marked(answer: dict[str, Any], word: str) -> list[str]:
    return [each["record"] for each in answer["records"] if each[word]]


def lost(answer: dict[str, Any]) -> dict[tuple[str, str], list[str]]:
    return {(each["broker"], each["fault"]): each["lost"] for each in answer["single_faults"] if each["lost"]}


def test_the_quiz_of_the_lecture(tmp_path: Path) -> None:
    """8 is committed, 10 because the third replica is out of the ISR, 11 is not (lines 128 to 133)."""
    answer = asked(tmp_path, QUIZ)
    assert marked(answer, "committed") == ["m7", "m8", "m9", "m10"]
    assert [each["offset"] for each in answer["records"]] == [7, 8, 9, 10, 11]
    assert answer["elections"] == [{"when": "broker 1 stops", "may_be_elected": ["2"], "elected": ["2"]}]
    assert lost(answer) == {} and len(answer["single_faults"]) == 9


def test_with_the_lagging_replica_in_the_isr_only_what_it_has_is_committed(tmp_path: Path) -> None:
    answer = asked(tmp_path, QUIZ.replace('["1", "2"]', '["1", "2", "3"]'))
    assert marked(answer, "committed") == ["m7", "m8"] == marked(answer, "acknowledged")
    (election,) = answer["elections"]
    assert (election["may_be_elected"], election["elected"]) == (["2", "3"], ["2"])


def test_committed_may_be_ahead_of_what_is_readable(tmp_path: Path) -> None:
    """The leader's high watermark of 10 lags: it has not handled the fetch that says that its follower has offset 10."""
    answer = asked(tmp_path, QUIZ.replace("log_end = 12", "log_end = 12\nhigh_watermark = 10"))
    assert (marked(answer, "committed")[-1], marked(answer, "readable")[-1]) == ("m10", "m9")


def test_below_min_isr_nothing_more_is_committed_since_3_7(tmp_path: Path) -> None:
    """KAFKA-15583: the high watermark waits for min.insync.replicas members since 3.7; before, for the ISR alone."""
    alone = QUIZ.replace('["1", "2"]', '["1"]').replace("log_end = 12", "log_end = 12\nhigh_watermark = 9")
    assert marked(asked(tmp_path, alone, status=12), "committed")[-1] == "m8"
    before = ("--set", "kafka.version=3.6", "--set", "min.insync.replicas=2")
    assert marked(asked(tmp_path, alone, *before, status=12), "committed")[-1] == "m11"


def test_acks_1_promises_what_only_the_leader_has(tmp_path: Path) -> None:
    answer = asked(tmp_path, QUIZ, *SETTINGS, "--set", "acks=1", status=12)
    assert marked(answer, "acknowledged")[-1] == "m11"
    assert lost(answer) == {("1", each): ["m11"] for each in ("kill", "lossy_crash", "disk_loss")}
    killed = next(each for each in answer["single_faults"] if each["lost"])
    assert killed["steps"][1].endswith("2 is elected leader, though it lacks acknowledged m11") or "m11" in killed["steps"][1]


def test_the_last_member_of_the_isr_is_waited_for_and_its_disk_is_all(tmp_path: Path) -> None:
    answer = asked(tmp_path, LAST_MEMBER, status=12)
    assert answer["elections"] == [{"when": "broker 3 returns", "may_be_elected": ["3"], "elected": ["3"]}]
    assert lost(answer) == {("3", each): ["a", "b", "c"] for each in ("lossy_crash", "disk_loss")}
    assert marked(answer, "readable") == []
    flushed = asked(tmp_path, LAST_MEMBER, *SETTINGS, "--set", "flush.messages=1", status=12)
    assert lost(flushed) == {("3", "disk_loss"): ["a", "b", "c"]}


def test_the_eligible_leader_replica_that_stopped_cleanly_is_elected(tmp_path: Path) -> None:
    """KIP-966: after an unclean shutdown a broker leaves the ELR, after a clean one it stays."""
    text = """
elr = ["1", "2"]
[broker.1]
log_end = 2
up = false
[broker.2]
log_end = 2
up = false
stopped_cleanly = true
[broker.3]
log_end = 1
"""
    newest = ("--set", "kafka.version=4.1", "--set", "min.insync.replicas=2", "--set", "defects=fixed")
    answer = asked(tmp_path, text, *newest)
    assert [each["may_be_elected"] for each in answer["elections"]] == [[], ["2"]]


def test_the_longest_log_is_by_epoch_and_then_by_length(tmp_path: Path) -> None:
    """Broker 3 has the newer epoch, though the acknowledged record is on 1 and 2."""
    text = """
leader = "1"
isr = ["1", "2", "3"]
[broker.1]
log = ["a@1", "b@1"]
[broker.2]
log = ["a@1", "b@1"]
[broker.3]
log = ["a@1", "x@2"]
"""
    proposed = (*SETTINGS, "--set", "acks=min.insync.replicas", "--set", "election.policy=longest-log")
    answer = asked(tmp_path, text, *proposed, status=12)
    (election,) = answer["elections"]
    assert (election["may_be_elected"], election["elected"]) == (["2", "3"], ["3"])
    assert lost(answer)["1", "kill"] == ["b"]


def test_a_search_begins_in_the_state(tmp_path: Path) -> None:
    """One slow follower, then the last member loses its tail: last replica standing, from the figure on."""
    faults = ("--set", "faults.isr_shrink=1", "--set", "faults.lossy_crash=1")
    answer = asked(tmp_path, QUIZ, *SETTINGS, *faults, status=12)
    verdicts = {each["name"]: each["verdict"] for each in answer["explored"]["properties"]}
    assert verdicts["acked-never-lost"] == "violated" and answer["explored"]["never_happened"] == []
    calm = asked(tmp_path, QUIZ, *SETTINGS, "--set", "faults.kill=1", "--property", "acked-never-lost")
    assert [each["verdict"] for each in calm["explored"]["properties"]] == ["holds"]


@pytest.fixture(scope="module")
def quiz(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The lines of the screen about the lecture's figure."""
    file = tmp_path_factory.mktemp("quiz") / "state.toml"
    file.write_text(QUIZ)
    shown = neverlost("state", str(file), *SETTINGS)
    assert shown.returncode == 0, shown.stderr
    return shown.stdout.splitlines()


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (128, "leader 1, ISR 1, 2"),
        (129, "m10 at offset 10, on 1, 2:"),
        (130, "m8 at offset 8, on 1, 2, 3:"),
        (131, "m8 at offset 8, on 1, 2, 3: committed, readable, acknowledged"),
        (132, "m10 at offset 10, on 1, 2: committed, readable, acknowledged"),
        (133, "m11 at offset 11, on 1: not committed, not readable, not acknowledged"),
    ],
)
def test_each_line_of_the_lecture_s_quiz_has_its_own_on_the_screen(quiz: list[str], line: int, says: str) -> None:
    """Lines 128 to 130 are the figure: the leader, a follower in sync up to 10, a lagging one up to 8; 131 to 133 ask."""
    assert any(each.strip().startswith(says) for each in quiz), line


def test_the_screen_names_records_and_offsets_as_the_figure_does(tmp_path: Path) -> None:
    file = tmp_path / "state.toml"
    file.write_text(QUIZ)
    done = neverlost("state", str(file), *SETTINGS, "--set", "acks=1")
    assert done.returncode == 12
    assert "m11 at offset 11, on 1: not committed, not readable, acknowledged" in done.stdout
    assert "broker 1 is killed: can lose acknowledged m11" in done.stdout


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("log_end = 12", "log_end = 12\nhigh_watermark = 13", "high_watermark = 13 in [broker.1] of"),
        ('leader = "1"', 'leader = "3"', "leader 3 is not in the ISR (1, 2)"),
        ('leader = "1"', 'leader = "4"', "unknown leader '4'"),
        ('leader = "1"\n', "", "there is no leader in"),
        ('isr = ["1", "2"]', 'isr = ["1", "2"]\nelr = ["2"]', "broker 2 is in the ISR and in the ELR"),
        ("log_end = 9", "log_end = 6", "log_end = 6 of [broker.3]"),
        ("log_end = 9", 'log = ["m7"]', "show all logs alike"),
        ("log_end = 9", "log_end = 9\nlag = 3", "unknown key 'lag'"),
        ("log_end = 12", "log_end = 99", "show at most 9"),
        ("log_end = 9", "log_end = 9\nup = 1", "bad value 1 for up"),
    ],
)
def test_a_state_that_contradicts_itself_is_one_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in QUIZ
    file = tmp_path / "state.toml"
    file.write_text(QUIZ.replace(old, new, 1))
    with pytest.raises(InputError) as problem:
        read_figure(file)
    assert message in str(problem.value) and "\n" not in str(problem.value)


@pytest.mark.parametrize(
    ("logs", "message"),
    [
        ((["a@2", "b@1"], ["a@2"]), "older leader epoch"),
        ((["a@1"], ["b@1"]), "have one offset and one leader epoch"),
        ((["a", "a"], ["a"]), "is twice in the log"),
        ((["a@x"], ["a@x"]), "write NAME or NAME@EPOCH"),
    ],
)
def test_logs_that_no_leader_wrote_are_refused(tmp_path: Path, logs: tuple[list[str], list[str]], message: str) -> None:
    file = tmp_path / "state.toml"
    file.write_text('leader = "1"\nisr = ["1"]\n' + "".join(f"[broker.{n}]\nlog = {log}\n" for n, log in enumerate(logs, 1)))
    with pytest.raises(InputError, match=message):
        read_figure(file)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (("replication.factor=5",), "shows 3 brokers"),
        (("start.outside_isr=1",), "says itself who has a replica and who is in the ISR"),
        (("bounds.records=2",), "shows 5 records"),
        (("model=majority",), "has no such states"),
        (("model=kip-320",), "has no such states"),
    ],
)
def test_settings_that_contradict_the_state_are_refused(tmp_path: Path, settings: tuple[str, ...], message: str) -> None:
    file = tmp_path / "state.toml"
    file.write_text(QUIZ)
    done = neverlost("state", str(file), *(word for each in settings for word in ("--set", each)))
    assert (done.returncode, done.stderr.count("\n")) == (64, 1) and message in done.stderr, done.stderr


def test_a_high_watermark_at_the_first_offset_is_given(tmp_path: Path) -> None:
    text = 'isr = []\nfirst_offset = 7\n[broker.1]\nlog = ["a", "b"]\nhigh_watermark = 7\nup = false\n'
    (tmp_path / "state.toml").write_text(text)
    assert read_figure(tmp_path / "state.toml").state.high_watermarks == (0,)
    (tmp_path / "state.toml").write_text((tmp_path / "state.toml").read_text().replace("high_watermark = 7\n", ""))
    with pytest.raises(InputError, match="give a high_watermark"):
        read_figure(tmp_path / "state.toml")
