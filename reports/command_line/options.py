"""The options that several commands share: the command line spelling of each keyword of `reports/request/keywords.py`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, get_args, get_type_hints

import typer

from neverlost.reports.request.keywords import ClusterKeywords

ConfigFile = Annotated[str | None, typer.Argument(metavar="[CONFIG.toml]", help="configuration file", show_default=False)]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="such as acks=all (repeatable; all keys: neverlost explain)"),
]
Properties = Annotated[list[str] | None, typer.Option("--property", metavar="NAME", help="check this property (repeatable)")]
OutDirectory = Annotated[str | None, typer.Option("--out", metavar="DIR", help="write results, traces and pictures here")]
Redact = Annotated[
    bool, typer.Option("--redact", help="with --out: replace names (topics, files, addresses) before anything is answered")
]
TrustMaven = Annotated[bool, typer.Option("--trust-maven", help="take jars whose checksums are not known")]
JsonTarget = Annotated[str | None, typer.Option("--json", metavar="FILE|-", help="write the result document")]
Quiet = Annotated[bool, typer.Option("--quiet", help="print only verdicts and assumed: KEY=VALUE; other caveats on stderr")]
Topics = Annotated[
    list[str] | None, typer.Option("--topic", metavar="NAME", help="ask about this described topic only (repeatable)")
]
KafkaVersion = Annotated[
    list[str] | None, typer.Option(metavar="X.Y", help="the Kafka version, for mechanisms and defaults (given once)")
]
TimeLimit = Annotated[float | None, typer.Option("--time-limit", metavar="SECONDS", help="stop, inconclusive, after this long")]

FILES = (
    ("describe", "output of kafka-topics.sh --describe, kafka-features.sh describe, or Strimzi, Terraform, ..."),
    ("configs", "output of kafka-configs.sh --describe"),
    ("server_properties", "a broker's server.properties"),
    ("controller_properties", "a controller's properties"),
    ("producer_properties", "your application's producer settings"),
    ("consumer_properties", "your application's consumer settings"),
    ("applications", "which application's producer writes which topics, as TOML"),
)
"""The files about a cluster, each with what to give."""

SHARED: dict[str, tuple[Any, Any]] = {
    "bootstrap_server": (
        Annotated[str | None, typer.Option(metavar="HOST:PORT", help="look at a running cluster; changes nothing there")],
        None,
    ),
    "command_config": (
        Annotated[str | None, typer.Option(metavar="FILE", help="how to log in there, as Kafka's tools take it")],
        None,
    ),
    **{
        name: (Annotated[list[str] | None, typer.Option(metavar="FILE", help=f"{says} (repeatable)")], None)
        for name, says in FILES
    },
    "engine": (
        Annotated[str, typer.Option("--engine", metavar="memory|columns|spark", help="where to search, and with what")],
        "memory",
    ),
    "symmetry": (
        Annotated[
            bool | None,
            typer.Option("--symmetry/--no-symmetry", help="explore one state of each orbit of replicas (default: no)"),
        ],
        None,
    ),
    "workers": (Annotated[int | None, typer.Option("--workers", metavar="N", help="cores to use (default: all)")], None),
    "time_limit": (TimeLimit, None),
    "memory_limit": (
        Annotated[str | None, typer.Option("--memory-limit", metavar="SIZE", help="memory to use, such as 2G")],
        None,
    ),
    "state_dir": (Annotated[str | None, typer.Option("--state-dir", metavar="DIR", help="keep finished levels here")], None),
    "resume": (Annotated[bool, typer.Option("--resume", help="go on from the levels in --state-dir")], False),
    "keep_going": (Annotated[bool, typer.Option("--continue", help="do not stop at the first violation")], False),
    "master": (Annotated[str | None, typer.Option("--master", metavar="URL", help="Spark master")], None),
    "spark_conf": (
        Annotated[list[str] | None, typer.Option("--spark-conf", metavar="K=V", help="Spark setting (repeatable)")],
        None,
    ),
}
"""The type and the default of each keyword's option."""


def require_one_version(stated: list[str] | None) -> str | None:
    """Return the Kafka version that the options give, None without any; `InputError` for two different ones."""
    from neverlost.specs.errors import InputError

    first = stated[0] if stated else None
    for each in stated or ():
        if each != first:
            raise InputError(f"--kafka-version is {first} and {each}; give the version that runs")
    return first


def take_cluster_files(given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return two parts of the keywords: the files that describe a cluster (a running one is queried and becomes one of them),
    and the rest.  Errors: `InputError` for a cluster that cannot be reached, and for a login without a cluster."""
    import neverlost
    from neverlost.specs.errors import InputError

    files = {name: value or None for name, value in given.items() if name in ClusterKeywords.__annotations__}
    rest = {name: value for name, value in given.items() if name not in files}
    server, how = files.pop("bootstrap_server", None), files.pop("command_config", None)
    if server is not None:
        files["describe"] = [*(files.get("describe") or ()), neverlost.running_cluster(server, how)]
    elif how is not None:
        raise InputError("--command-config goes with --bootstrap-server HOST:PORT")
    return files, rest


def with_shared_options(command: Callable[..., int]) -> Callable[..., int]:
    """Return a command with an option for each keyword of its `**given` parameter, and one for each field of its parameters
    that are dataclasses; a command without `**given` is returned unchanged."""
    *parameters, taken = inspect.signature(command, eval_str=True).parameters.values()
    if taken.kind is not inspect.Parameter.VAR_KEYWORD:
        return command
    (keywords,) = get_args(taken.annotation)
    groups: dict[str, Any] = {each.name: each.annotation for each in parameters if is_dataclass(each.annotation)}
    own = []
    for each in parameters:
        if each.name in groups:
            types = get_type_hints(each.annotation, include_extras=True)
            own += [_option(field.name, types[field.name], field.default) for field in fields(each.annotation)]
        else:
            own.append(_option(each.name, each.annotation, each.default))
    shared = [_option(name, *SHARED[name]) for name in keywords.__annotations__]

    def spelled(**given: Any) -> int:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        return command(**given)

    spelled.__signature__ = inspect.Signature([*own, *shared])  # type: ignore[attr-defined]
    spelled.__annotations__ = {each.name: each.annotation for each in (*own, *shared)}
    spelled.__doc__ = command.__doc__
    return spelled


def _option(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)
