"""Help in groups: the commands that an operator needs apart from the others, options by what they are about."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from typer.core import TyperCommand, TyperGroup

OPERATORS = ("tolerance", "check", "roll", "rescue", "nines", "explain", "verify")
"""The commands that an operator needs."""

GROUPS = {
    "Your cluster": (
        *("bootstrap_server", "command_config", "describe", "configs", "server_properties", "controller_properties"),
        *("producer_properties", "consumer_properties", "applications", "kafka_version", "topic", "matrix", "plan", "config"),
        *("folder", "partition", "replicas", "went", "script"),
    ),
    "The question": (
        *("settings", "properties", "also", "beside", "at_least", "at_a_time", "accept", "broker", "pod", "rates", "advise"),
        *("nines", "agree", "compare"),
    ),
    "The answer": ("out", "json", "format", "quiet", "redact", "show", "help"),
    "The search": (
        *("again", "time_limit", "memory_limit", "workers", "engine", "symmetry", "keep_going", "state_dir", "resume"),
        *("master", "spark_conf"),
    ),
}
"""Options by what they are about, by the names of their parameters; others stand under "Options"."""

EXAMPLES = {
    "tolerance": (
        "neverlost tolerance --describe topics.txt --kafka-version 3.9 --set acks=all",
        "neverlost tolerance --describe topics.txt --kafka-version 3.9 --at-least 'data_loss=any:1 defects=fixed'",
    ),
    "check": (
        "neverlost check --describe topics.txt --kafka-version 3.9 --set faults.lossy_crash=1 --property acked-never-lost",
        "neverlost check --set kafka.version=3.9 --set faults.isr_shrink=2 --set faults.lossy_crash=1 --set bounds.records=1",
    ),
    "roll": (
        "neverlost roll --describe topics.txt --kafka-version 3.9 --set acks=all --at-a-time 2",
        "neverlost roll --describe topics.txt --describe quorum.txt --kafka-version 3.9 --broker 2 --json -",
    ),
    "rescue": ("neverlost rescue --script > gather.sh", "neverlost rescue rescue --went 1=power --went 2=up --went 3=up"),
    "nines": ("neverlost nines --set kafka.version=3.9 --set min.insync.replicas=2 --set broker.rack=a,b,c",),
}
"""What to type, for the commands whose help is a GroupedCommand's."""


class GroupedCommand(TyperCommand):
    """A command whose help shows its options in groups and, if it has any, examples."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options into the help, those of each group under its name and the rest under "Options"."""
        left = [(each.name, record) for each in self.get_params(ctx) if (record := each.get_help_record(ctx)) is not None]
        for title, names in GROUPS.items():
            _write(formatter, title, (record for name, record in left if name in names))
        known = {name for names in GROUPS.values() for name in names}
        _write(formatter, "Options", (record for name, record in left if name not in known))

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the command's examples, if it has any, into the help, each in a line that can be copied."""
        examples = EXAMPLES.get(self.name or "", ())
        if examples:
            formatter.write(f"\nExample{'s' * (len(examples) > 1)}:\n" + "".join(f"  {each}\n" for each in examples))


class GroupedProgram(TyperGroup):
    """The program, whose help lists the commands that an operator needs first and then all others."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the program's own options, and return the words that follow the name of the command, without that name."""
        _spare_conversions(self.get_params(ctx))
        return list(super().parse_args(ctx, args))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of a name, None if there is none; typer will not convert those of its options that are text."""
        found = super().get_command(ctx, cmd_name)
        if found is not None:
            _spare_conversions(found.get_params(ctx))
        return found

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands into the help, with a sentence each: those for operators, then the others."""
        every = {name: self.commands[name] for name in self.list_commands(ctx)}
        wide = formatter.width - 6 - max(map(len, every), default=0)
        says = {name: each.get_short_help_str(wide) for name, each in every.items() if not each.hidden}
        _write(formatter, "For your cluster", ((name, says[name]) for name in OPERATORS if name in says))
        _write(
            formatter,
            "Matrices, proofs, real brokers, and what is known",
            ((n, text) for n, text in says.items() if n not in OPERATORS),
        )


def _spare_conversions(options: Iterable[Any]) -> None:
    """Change the options so that typer does not convert one that is text or not given: it would import pydantic for that."""
    for each in options:
        vars(each).setdefault("process_value", partial(_process_value, each, each.process_value))


def _process_value(option: Any, usual: Callable[[Any, Any], Any], ctx: Any, value: Any) -> Any:
    kind = getattr(getattr(option, "type_descriptor", None), "annotation", None)
    texts = value if kind == list[str] and isinstance(value, list | tuple) else [value] if kind is str else [None]
    if value is None and not option.required:
        found: Any = () if option.multiple or option.nargs == -1 else None
    elif value and all(type(each) is str and each.isascii() for each in texts):
        found = value if kind is str else list(texts)
    else:
        return usual(ctx, value)
    return found if option.callback is None else option.callback(ctx, option, found)


def _write(formatter: Any, title: str, records: Iterable[tuple[str, str]]) -> None:
    listed = list(records)
    if listed:
        with formatter.section(title):
            formatter.write_dl(listed)
