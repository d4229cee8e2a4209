"""A step in the words of Kafka."""

from __future__ import annotations

from neverlost.model.system import Step, System

INITIAL = "initial state"


def describe(system: System, step: Step | None) -> str:
    """A step in Kafka's words; brokers are numbered from 1."""
    if step is None:
        return "the beginning"
    shown_arguments = {name: _shown(step.action.parameters[name], value) for name, value in step.arguments.items()}
    return (step.action.says or step.action.name).format(**shown_arguments)


def _shown(axis: str, value: int) -> int | str:
    """An argument as people count: brokers and records from 1, offsets and epochs from 0, a set of brokers as a list."""
    if axis == "target":
        return ",".join(str(each + 1) for each in range(value.bit_length()) if value >> each & 1)
    return value if axis in ("offset", "epoch", "rack", "ballot") else value + 1
