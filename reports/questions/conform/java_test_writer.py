"""Writes what `conform` found as failing JUnit tests of Kafka's classes, and as the metadata records that lead there.  The
Java of a comparison is for the signatures of Kafka 4.3 and later, that of a path for 3.9 and later; it needs Kafka's own jars
and JUnit, nothing else."""

from __future__ import annotations

import importlib.resources
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from neverlost.checker.engine.host.whole_files import write_text
from neverlost.checker.kafka.conform.cases.cases import KNOWS
from neverlost.checker.kafka.conform.exploration.explore_classes import ExplorationResult
from neverlost.checker.kafka.conform.exploration.explored_group import STOPS
from neverlost.checker.kafka.conform.walk.broker_group import GroupSight
from neverlost.checker.kafka.conform.walk.random_walk import WalkEvent
from neverlost.model.kraft.state import BEHIND, ELECTED, UP_TO_DATE

LEADER, CONTROLLER = "PartitionDiffersTest.java", "ReplicationControlManagerDiffersTest.java"
PATH = "BrokersKeepRecordsTest.java"
DECIDED = ("move leader", "alter", "alter again", "fence", "heartbeat")
"""What the controller decides: the test of a path makes no call for these events, since the metadata has what came of them."""

OLDEST = (4, 3)
"""The first version whose signatures the tests of a comparison are written for."""

MOVED = (4, 4)
"""The first version in which LogManager and AlterPartitionManager are Java, and LogContext has moved."""

Found = Mapping[str, Any]


def write_java_tests(directory: str, kafka: str, found: Sequence[Found]) -> None:
    """Write the metadata records, and from Kafka 4.3 on the tests.  `found` are entries with `case`, `test` and `records`; one
    whose `test` or `records` is empty is left out of that file, and a file without entries is not written."""
    records = [{"case": each["case"], "records": each["records"]} for each in found if each["records"]]
    if records:
        write_text(Path(directory) / f"conform-{kafka}.records.json", json.dumps(records, indent=1) + "\n")
    for template in (LEADER, CONTROLLER):
        tests = [each for each in found if each["test"] and ("runs" in each["test"]) == (template == CONTROLLER)]
        if tests and _numbers(kafka) >= OLDEST:
            write_text(Path(directory) / template, _test_class(template, kafka, tests))


def write_path_test(directory: str, found: ExplorationResult) -> None:
    """Write the JUnit test of a counterexample's path; of one with a stop of a broker, or with a stand-in fix, write none."""
    if found.bounds.skips_known_epoch or any(event.name in STOPS for event, _ in found.steps):
        return
    test = {"min_isr": found.bounds.min_isr, "steps": found.steps}
    text = _test_class(PATH, found.kafka, [{"case": f"{found.broken} when {len(found.steps) - 1} events come", "test": test}])
    write_text(Path(directory) / PATH, text)


def _test_class(template: str, kafka: str, found: Sequence[Found]) -> str:
    """Return a Java class with a test method for each entry; a test passes if Kafka's class does what the model expects."""
    body = {LEADER: _leader_body, CONTROLLER: _controller_body, PATH: _path_body}[template]
    names: dict[str, int] = {}
    filled = {
        **_package_names(_numbers(kafka) >= MOVED).get(template, {}),
        "title": f"Kafka {kafka}",
        "tests": "\n".join("\n".join(_test_method(each, names, body(each["test"]))) for each in found),
        "elected": KNOWS[ELECTED],
        "behind": KNOWS[BEHIND],
        "up to date": KNOWS[UP_TO_DATE],
    }
    text = importlib.resources.files(__package__).joinpath(template).read_text()
    return re.sub(rf"/\*({'|'.join(filled)})\*/", lambda match: filled[match[1]], text)


def _package_names(moved: bool) -> Mapping[str, Mapping[str, str]]:
    """Return by template the Java that differs between Kafka versions (`moved`: 4.4 or later): imports, an empty collection."""
    empty = "Set.of()" if moved else "scala.jdk.javaapi.CollectionConverters.asScala(List.<String>of()).toSeq()"
    places = ("org.apache.kafka.storage.internals.log", "org.apache.kafka.server.partition")
    log_manager, alter_manager = places if moved else ("kafka.log", "kafka.server")
    context = f"import org.apache.kafka.common.utils.{'internals.' if moved else ''}LogContext;\n"
    managers = f"import {log_manager}.LogManager;\nimport {alter_manager}.AlterPartitionManager;\n"
    return {LEADER: {"imports": managers, "nothing": empty}, CONTROLLER: {"imports": context}}


def _numbers(kafka: str) -> tuple[int, ...]:
    return tuple(map(int, kafka.split(".")[:2]))


def _test_method(each: Found, names: dict[str, int], body: Iterable[str]) -> Iterator[str]:
    """Yield the lines of one test method, named by the beginning of its case, with a number if `names` counts it already."""
    words = re.findall(r"[A-Za-z]+", each["case"].partition(" when ")[0].partition(" ISR=")[0])
    name = words[0].lower() + "".join(word.capitalize() for word in words[1:])
    names[name] = names.get(name, 0) + 1
    yield ""
    yield f"    /** {each['case'].replace('*/', '')} */"
    yield "    @Test"
    yield f"    public void {name}{names[name] if names[name] > 1 else ''}() {{"
    yield from (f"        {line}" for line in body)
    yield "    }"


def _leader_body(test: Found) -> Iterator[str]:
    """Yield the Java that makes a leader's calls and asserts what Partition shows after them."""
    yield f"Leader leader = new Leader(folder, {test['min_isr']}, {test['replicas']});"
    yield from (f"leader.{_call(*call)};" for call in test["calls"])
    if test["expected"]:
        yield f"leader.{_call('shows', *test['expected'])};"


def _controller_body(test: Found) -> Iterator[str]:
    """Yield the Java that makes each run of calls on a new controller, and asserts what set of answers they give."""
    made = ", ".join(_literal(test[each]) for each in ("brokers", "min_isr", "elr", "unclean"))
    yield "Set<String> found = new TreeSet<>();"
    for number, calls in enumerate(test["runs"]):
        yield f"{'' if number else 'Controller '}controller = new Controller({made});"
        yield from (f"controller.{_call(*call)};" for call in calls)
        yield f"found.add(controller.{_call(test['gives'], *[test['follows']] * (test['gives'] == 'seen'))});"
    if test["without"] is not None:
        yield f"found.remove({_literal(test['without'])});"
    yield "Set<String> expected = new TreeSet<>();"
    yield from (f"expected.add({_literal(each)});" for each in test["expected"])
    yield "assertEquals(expected, found);"


def _path_body(test: Found) -> Iterator[str]:
    """Yield the Java that takes the events of a path, and asserts that the last leader has what it must have."""
    (_, first), *steps = test["steps"]
    yield f"Group group = new Group(folder, {test['min_isr']}, {len(first.brokers)});"
    begin = [(WalkEvent("metadata", (me,)), first) for me, _ in enumerate(first.brokers, start=1)]
    for event, view in (*begin, *steps):
        yield f"// {event}"
        if event.name not in DECIDED:
            yield f"group.{_call(*_path_call(event, view))};"
    yield f"group.{_call('keeps', steps[-1][1].leader)};"


def _path_call(event: WalkEvent, view: GroupSight) -> tuple[Any, ...]:
    """Return the name of the Java method that stands for an event of a path, then the arguments to call it with."""
    name, me = event.name, event.arguments[0]
    if name.startswith("produce"):
        return "produce", me, 1 if name.endswith("acks=1") else -1, name.endswith("stall")
    if name == "metadata":
        image = view.metadata[me - 1]
        epochs = [epoch for _, epoch in image.epochs]
        return name, me, image.leader, image.isr, image.leader_epoch, image.partition_epoch, sorted(image.fenced), epochs
    if name == "deliver" and event.fate == "broken":
        name = "lose"
    others = {"send": ("send", me), "thread goes on": ("go_on", me), "alter answered": ("answered", me, event.fate)}
    return others.get(name, (name, *event.arguments))


def _call(name: str, *arguments: Any) -> str:
    words = name.split("_")
    return f"{words[0]}{''.join(word.capitalize() for word in words[1:])}({', '.join(map(_literal, arguments))})"


def _literal(value: Any) -> str:
    """Return a value as Java source: a list as `List.of(...)`; numbers, booleans, strings and null as in JSON."""
    if isinstance(value, list | tuple):
        return f"List.of({', '.join(map(_literal, value))})"
    return json.dumps(value)
