"""Reads a running cluster as a description of itself."""

from __future__ import annotations

from os import PathLike

from neverlost.checker.engine.host.whole_files import as_json
from neverlost.checker.kafka.cluster.look import look_at_cluster
from neverlost.specs.configuration.input import provide
from neverlost.specs.inputs.syntax.properties import read_properties


def running_cluster(server: str, command_config: str | PathLike[str] | None = None) -> str:
    """Query the cluster at `HOST:PORT` once, changing nothing there, and return that name: as `describe` it reads, in this
    process, what was seen.  `command_config` is the properties file that Kafka's own tools take, with security.protocol and so
    on.  Errors: `InputError` for a cluster that cannot be reached or refuses, and where the client library is not installed."""
    given = {} if command_config is None else read_properties(command_config, "--command-config")
    plain = {key: each.value for key, each in given.items()}
    provide(server, as_json(look_at_cluster(server, plain, str(command_config))).encode())
    return server
