"""Compares two rules of a broker with Kafka's classes: the order in which metadata are published, and what counts as a clean
stop.  Source: kafka.server.metadata.BrokerMetadataPublisher, kafka.log.LogManager."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from neverlost.checker.engine.host import scratch
from neverlost.checker.kafka.conform.cases.comparison import Difference, Tally
from neverlost.checker.kafka.conform.cases.settings import ConformSetting
from neverlost.checker.kafka.conform.java.jvm import (
    PACKAGE,
    MissingClass,
    call,
    call_accepting,
    call_known,
    first_class,
    has_class,
    has_method,
    java_class,
    kafka_class,
    new,
    proxy,
)
from neverlost.checker.kafka.conform.java.partition import Host

PUBLISHER = "kafka.server.metadata.BrokerMetadataPublisher"
PUBLISHES = ("onMetadataUpdate", "publish")
"""The publisher's method that publishes metadata, by its name of now and by that up to 3.3."""

EPOCH = 7
TOPICS, CONFIGURATION = "the partitions of topics", "the configuration of topics"
APART = "partitions and configuration each by a way of its own"


def order_of_publication() -> tuple[str, ...]:
    """Return `TOPICS` and `CONFIGURATION` in the order in which the publisher of metadata updates them.  The publisher is made
    without what either update needs, so that both fail, in that order.  Errors: `MissingClass` where they do not both fail."""
    failures: list[str] = []

    def failed(message: Any, thrown: Any = None) -> Any:
        failures.append(f"{message} {thrown}")
        return java_class("java.lang.RuntimeException")()

    unsafe = java_class("sun.misc.Unsafe").class_.getDeclaredField("theUnsafe")
    unsafe.setAccessible(True)
    made = java_class(PUBLISHER)
    publisher = unsafe.get(None).allocateInstance(made.class_)
    for field in made.class_.getDeclaredFields():
        kind = str(field.getType().getName())
        field.setAccessible(True)
        if kind.endswith("FaultHandler"):
            field.set(publisher, proxy(PACKAGE + "server.fault.FaultHandler", {"handleFault": failed}))
        elif kind.endswith("CompletableFuture"):
            field.set(publisher, java_class(kind)())
        elif kind.endswith("KRaftMetadataCache"):
            field.set(publisher, unsafe.get(None).allocateInstance(field.getType()))
    delta = _delta(kafka_class("image.MetadataImage").EMPTY)
    record = kafka_class("common.metadata.TopicRecord")().setName("t").setTopicId(kafka_class("common.Uuid")(5, 1))
    call_accepting(delta, "replay", record)
    provenance = PACKAGE + "image.MetadataProvenance"
    image = call_known(delta, "apply", *[java_class(each).EMPTY for each in (provenance,) if has_class(each)])
    call_known(publisher, next(each for each in PUBLISHES if has_method(publisher, each)), delta, image, None)
    found = {TOPICS: "applyDelta", CONFIGURATION: "onfig"}
    at = {name: next((n for n, each in enumerate(failures) if word in each), None) for name, word in found.items()}
    if None in at.values():
        raise MissingClass(f"a publication in which topics and configuration fail apart: {failures}")
    return tuple(sorted(at, key=lambda name: at[name] or 0))


def _delta(image: Any) -> Any:
    """Return an empty MetadataDelta on top of a MetadataImage."""
    made = PACKAGE + "image.MetadataDelta"
    return java_class(made + "$Builder")().setImage(image).build() if has_class(made + "$Builder") else new(made, image)


def is_clean(written: Sequence[bool], there: Sequence[int]) -> bool:
    """Return True if Kafka counts a broker as stopped cleanly.  `written`: whether each directory has the file of a clean stop;
    `there`: the indices of those still in log.dirs.  Errors: `MissingClass` where LogManager does not read these files."""
    handler = first_class(
        PACKAGE + "storage.internals.checkpoint.CleanShutdownFileHandler", "kafka.log.CleanShutdownFileHandler"
    )
    with scratch.hold_folder("conform") as folder:
        places = [Path(folder, str(number)) for number in range(len(written))]
        for place, has_file in zip(places, written, strict=True):
            place.mkdir()
            if has_file:
                java_class(handler)(str(place)).write(EPOCH)
        host = Host(folders=[str(places[each]) for each in there])
        try:
            if not has_method(host.logs, "readBrokerEpochFromCleanShutdownFiles"):
                raise MissingClass("LogManager.readBrokerEpochFromCleanShutdownFiles")
            found = call(host.logs, "readBrokerEpochFromCleanShutdownFiles")
        finally:
            host.close()
    return bool(found.isPresent()) and int(found.getAsLong()) == EPOCH


STOPS = (((True, True), (0, 1)), ((True, False), (0, 1)), ((False, False), (0, 1)), ((True, True), (0,)), ((True, False), (0,)))
"""Cases of two directories: whether each has a clean-shutdown file, and which are still there at the start."""


def compare(setting: ConformSetting) -> Tally:
    """Return the tally of comparing a setting's model with Kafka: the order of publication, and what counts as a clean stop."""
    begun, tally = time.monotonic(), Tally("broker")
    configuration = setting.configuration
    comes_first = configuration["mechanism.configuration-before-isr"]
    expected: tuple[str, ...] = (CONFIGURATION, TOPICS) if comes_first else (TOPICS, CONFIGURATION)
    if not configuration["mechanism.configuration-in-order"]:
        expected = (APART,)
    method = "BrokerMetadataPublisher.onMetadataUpdate"
    _compare_case(tally, setting, method, "a publication with both", lambda: order_of_publication(), expected)
    for written, there in STOPS:
        gone = len(there) < len(written)
        files = ", ".join("file" if each else "no file" for each in written)
        case = f"directories with {files}{'; the second is taken out of log.dirs' if gone else ''}"
        clean = all(written[each] for each in there) and not (gone and configuration["mechanism.missing-directory-is-unclean"])
        answer = ("stopped cleanly",) if clean else ("stopped uncleanly",)
        method = "LogManager.readBrokerEpochFromCleanShutdownFiles"

        def judged(written: Sequence[bool] = written, there: Sequence[int] = there) -> tuple[str, ...]:
            return ("stopped cleanly",) if is_clean(written, there) else ("stopped uncleanly",)

        _compare_case(tally, setting, method, case, judged, answer)
    tally.seconds = time.monotonic() - begun
    return tally


def _compare_case(tally: Tally, setting: ConformSetting, method: str, case: str, ask: Any, model: tuple[str, ...]) -> None:
    """Compare what `ask` returns in one case with the model's answer, and add that to the tally; a missing class is a gap."""
    try:
        kafka = ask()
    except MissingClass as missing:
        tally.gaps += [] if str(missing) in tally.gaps else [str(missing)]
        return
    tally.cases += 1
    tally.calls += 1
    tally.by_event[method] += 1
    if kafka != model:
        tally.differences.append(Difference("broker", method, setting.text, case, kafka, model))
