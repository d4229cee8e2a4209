"""How to search, as keywords that several functions take; the command line has an option for each.

`workers` is how many cores to use (default: all); `time_limit` is in seconds; `memory_limit` is bytes or a text such as `2G`.
"""

from __future__ import annotations

from typing import Any, TypedDict


class EffortKeywords(TypedDict, total=False):
    """How much work may be done."""

    workers: int | None
    time_limit: float | None


class Limited(EffortKeywords, total=False):
    """The same, and in how much memory."""

    memory_limit: str | int | None


class EngineKeywords(TypedDict, total=False):
    """Where to search: `engine` is `memory`, `columns` or `spark`; `master` and `spark_conf` (`KEY=VALUE` each) are Spark's."""

    engine: str
    master: str | None
    spark_conf: list[str] | None


class Corpus(EffortKeywords, EngineKeywords, total=False):
    """For many questions, each of them small."""


class Searching(Limited, EngineKeywords, total=False):
    """Everything that decides how a search is done.

    `symmetry` explores one state of each orbit of replicas.
    """

    symmetry: bool | None


class Resumable(Searching, total=False):
    """The same for a search whose finished levels are kept in `state_dir`; `resume` goes on from them."""

    state_dir: str | None
    resume: bool


class Checking(Resumable, total=False):
    """The same; `keep_going` does not stop at the first violation."""

    keep_going: bool


class ClusterKeywords(TypedDict, total=False):
    """What describes a cluster: Kafka's own files by what they are given for, or the address of one that runs."""

    bootstrap_server: str | None
    command_config: str | None
    describe: list[str] | None
    configs: list[str] | None
    server_properties: list[str] | None
    controller_properties: list[str] | None
    producer_properties: list[str] | None
    consumer_properties: list[str] | None


class SearchingCluster(ClusterKeywords, Searching, total=False):
    """A cluster, and how to search."""


class CheckingCluster(ClusterKeywords, Checking, total=False):
    """The same, for a search whose finished levels are kept."""


Settings = dict[str, Any] | list[str] | tuple[str, ...] | None
"""Configuration keys with values, or texts `KEY=VALUE`."""
