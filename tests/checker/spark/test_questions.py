"""Questions to a Spark that ends, without Spark; with it, see `test_spark.py`."""

from __future__ import annotations

from threading import Event, Lock

import pytest

from neverlost.checker.engine.host.processes import TIMEOUT
from neverlost.checker.engine.spark import jobs_here_or_there as questions


class Session:
    """What is asked is answered when it is cancelled, and the second question comes after that."""

    _jsparkSession = None

    def __init__(self) -> None:
        self.sparkContext = self
        self.lock, self.come, self.cancelled = Lock(), 0, Event()
        self.asked: list[Event] = []

    def range(self, *_: int) -> Session:
        return self

    def mapInArrow(self, *_: object) -> Session:
        with self.lock:
            self.come += 1
            is_first = self.come == 1
        assert is_first or self.cancelled.wait(10)
        return self

    def collect(self) -> None:
        self.asked.append(Event())
        assert self.asked[-1].wait(10)
        raise RuntimeError("cancelled")

    def cancelAllJobs(self) -> None:
        for each in self.asked:
            each.set()
        self.cancelled.set()


def test_a_session_ends_when_nothing_is_asked_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is asked for later would never be answered."""
    session, left = Session(), list[bool]()
    monkeypatch.setattr(questions, "LOOK", 0.02)
    monkeypatch.setattr(questions.spark_session, "check_requirements", lambda master: None)
    monkeypatch.setattr(questions.spark_session, "is_running", lambda: False)
    monkeypatch.setattr(questions.spark_session, "start", lambda *_: session)
    monkeypatch.setattr(questions.spark_session, "stop", lambda _: left.extend(each.is_set() for each in session.asked))
    found = [each.value for each in questions.run(lambda send: None, [(), ()], "local[2]", {}, 0.01)]
    assert found == [TIMEOUT, TIMEOUT] and left == [True, True]
