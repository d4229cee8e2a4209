"""What `conform` found as a failing JUnit test of Kafka's Partition, and as the metadata records that lead there.

The Java is written for the signatures of 4.3 and later; it needs Kafka's own jars and JUnit, nothing else.
"""

from __future__ import annotations

import importlib.resources
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from neverlost.checker.machine.whole_files import write_text

TEMPLATE = "PartitionDiffersTest.java"
OLDEST = (4, 3)
"""The first version whose signatures the test is written for."""

MOVED = (4, 4)
"""The first version in which LogManager and AlterPartitionManager are Java."""

Found = Mapping[str, Any]


def write(directory: str, kafka: str, found: Sequence[Found]) -> None:
    """The test and the records of what has them: `found` are entries with `case`, `test` and `records`."""
    records = [{"case": each["case"], "records": each["records"]} for each in found if each["records"]]
    if records:
        write_text(Path(directory) / f"conform-{kafka}.records.json", json.dumps(records, indent=1) + "\n")
    tests = [each for each in found if each["test"]]
    if tests and _numbers(kafka) >= OLDEST:
        write_text(Path(directory) / TEMPLATE, java(kafka, tests))


def java(kafka: str, found: Sequence[Found]) -> str:
    """A class with a test for each entry, that passes where Partition does what was expected."""
    moved = _numbers(kafka) >= MOVED
    places = ("org.apache.kafka.storage.internals.log", "org.apache.kafka.server.partition")
    log_manager, alter_manager = places if moved else ("kafka.log", "kafka.server")
    imports = f"import {log_manager}.LogManager;\nimport {alter_manager}.AlterPartitionManager;\n"
    nothing = "Set.of()" if moved else "scala.jdk.javaapi.CollectionConverters.asScala(List.<String>of()).toSeq()"
    names: dict[str, int] = {}
    filled = {
        "imports": imports,
        "title": f"Kafka {kafka}",
        "tests": "\n".join("\n".join(_test(each, names)) for each in found),
        "nothing": nothing,
    }
    text = importlib.resources.files(__package__).joinpath(TEMPLATE).read_text()
    return re.sub(r"/\*(imports|title|tests|nothing)\*/", lambda match: filled[match[1]], text)


def _numbers(kafka: str) -> tuple[int, ...]:
    return tuple(map(int, kafka.split(".")[:2]))


def _test(each: Found, names: dict[str, int]) -> Iterator[str]:
    """One method; its calls are those of the entry, its name the beginning of the case."""
    words = re.findall(r"[A-Za-z]+", each["case"].partition(" when ")[0].partition(" ISR=")[0])
    name = words[0].lower() + "".join(word.capitalize() for word in words[1:])
    names[name] = names.get(name, 0) + 1
    test = each["test"]
    yield ""
    yield f"    /** {each['case'].replace('*/', '')} */"
    yield "    @Test"
    yield f"    public void {name}{names[name] if names[name] > 1 else ''}() {{"
    yield f"        Leader leader = new Leader(folder, {test['min_isr']}, {test['replicas']});"
    yield from (f"        leader.{_call(*call)};" for call in test["calls"])
    if test["expected"]:
        yield f"        leader.shows({', '.join(map(json.dumps, test['expected']))});"
    if test["most"] is not None:
        says = "a replica that the controller may elect has no more"
        yield f'        assertTrue(leader.highWatermark() <= {test["most"]}, "{says}");'
    yield "    }"


def _call(name: str, *arguments: Any) -> str:
    """A call in Java."""
    words = name.split("_")
    shown = [
        f"List.of({', '.join(map(str, each))})"
        if isinstance(each, list | tuple)
        else f"Errors.{each}"
        if isinstance(each, str)
        else str(each)
        for each in arguments
    ]
    return f"{words[0]}{''.join(word.capitalize() for word in words[1:])}({', '.join(shown)})"
