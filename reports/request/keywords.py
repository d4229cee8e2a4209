"""Keywords for how to search, which several functions take and the command line has as options.  `workers` is how many cores
to use (default: all); `time_limit` is in seconds; `memory_limit` is bytes or a text such as `2G`."""

from __future__ import annotations

from typing import Any, TypedDict


class EffortKeywords(TypedDict, total=False):
    """Limits of work: processes and time."""

    workers: int | None
    time_limit: float | None


class Limited(EffortKeywords, total=False):
    """Limits of work and memory."""

    memory_limit: str | int | None


class EngineKeywords(TypedDict, total=False):
    engine: str
    master: str | None
    spark_conf: list[str] | None


class Corpus(EffortKeywords, EngineKeywords, total=False):
    """Keywords for many questions, each of them small: limits of work, and the engine."""


class Searching(Limited, EngineKeywords, total=False):
    """Keywords for how one search is done.  `symmetry` explores one state of each orbit of replicas."""

    symmetry: bool | None


class Resumable(Searching, total=False):
    """Keywords for a search whose finished levels are stored in `state_dir`; `resume` continues from them."""

    state_dir: str | None
    resume: bool


class Checking(Resumable, total=False):
    """Keywords of a check; `keep_going` does not stop at the first violation."""

    keep_going: bool


class ClusterKeywords(TypedDict, total=False):
    """Keywords for what describes a cluster: Kafka's own files, or the address of a running cluster."""

    bootstrap_server: str | None
    command_config: str | None
    describe: list[str] | None
    configs: list[str] | None
    server_properties: list[str] | None
    controller_properties: list[str] | None
    producer_properties: list[str] | None
    consumer_properties: list[str] | None
    applications: list[str] | None


class SearchingCluster(ClusterKeywords, Searching, total=False):
    """Keywords for a described cluster and how to search."""


class CheckingCluster(ClusterKeywords, Checking, total=False):
    """Keywords for a described cluster and a check."""


Settings = dict[str, Any] | list[str] | tuple[str, ...] | None
"""Configuration keys with values, or texts `KEY=VALUE`."""
