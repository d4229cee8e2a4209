"""Starts Java with one Kafka version inside this Python process, and calls its methods whatever their visibility.

A process has one Java and one version for life: every comparison runs in a child process of its own.

Source: JPype (the bridge); nothing is compiled and no test jar of Kafka is needed.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from neverlost.checker.engine.host import scratch
from neverlost.specs.errors import InputError

PACKAGE = "org.apache.kafka."
BOXES = {"int": "Integer", "long": "Long", "boolean": "Boolean", "short": "Short"}
MEMORY = "-Xmx1500m"
SILENCE = {
    "log4j2.xml": '<Configuration status="OFF"><Loggers><Root level="OFF"/></Loggers></Configuration>\n',
    "log4j.properties": "log4j.rootLogger=OFF\n",
}
"""Kafka 4 logs through log4j 2, Kafka 3 through log4j 1: both are silenced by a file on the class path."""


class MissingClass(Exception):
    """A class, method or field that this version of Kafka does not have."""


def require_bridge() -> None:
    """Refuse to go on without JPype.  Errors: `InputError` if the `conform` extra is not installed."""
    if importlib.util.find_spec("jpype") is None:
        raise InputError("Kafka's classes need the bridge to Java: pip install 'neverlost[conform]'")


def start(jars: Iterable[Path], java: Path) -> None:
    """Start Java with these jars, its logs and standard error silenced; only once in a process."""
    import jpype

    library = next((java / "lib").rglob("libjvm.so"), java) if (java / "lib").is_dir() else None
    with scratch.hold_folder("conform") as quiet:
        for name, text in SILENCE.items():
            Path(quiet, name).write_text(text)
        options = (MEMORY, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xrs")
        jpype.startJVM(None if library is None else str(library), *options, classpath=[quiet, *map(str, sorted(jars))])
    java_class("java.lang.System").setErr(
        java_class("java.io.PrintStream")(java_class("java.io.OutputStream").nullOutputStream())
    )


@functools.cache
def java_class(name: str) -> Any:
    """Return a class by its full name.  Errors: `MissingClass`."""
    import jpype

    try:
        return jpype.JClass(name)
    except TypeError:
        raise MissingClass(f"class {name}") from None


def kafka_class(name: str) -> Any:
    """Return the class of `org.apache.kafka` with this name.  Errors: `MissingClass`."""
    return java_class(PACKAGE + name)


@functools.cache
def returns_optional(interface: str, method: str) -> bool:
    """Return True if an interface's method returns Java's Optional; False for Scala's Option, and for no such method."""
    found = [each for each in java_class(interface).class_.getMethods() if str(each.getName()) == method]
    return bool(found) and str(found[0].getReturnType().getName()) == "java.util.Optional"


def optional_result(interface: str, method: str, value: Any = None) -> Any:
    """Wrap a value, or nothing, in the optional type that a method of an interface returns in this version."""
    return optional(value) if returns_optional(interface, method) else option(value)


@functools.cache
def has_class(name: str) -> bool:
    try:
        java_class(name)
    except MissingClass:
        return False
    return True


@functools.cache
def first_class(*names: str) -> str:
    """Return the first of some names that names a class here, since classes move between versions.  Errors: `MissingClass`."""
    found = next((each for each in names if has_class(each)), None)
    if found is None:
        raise MissingClass(f"class {names[0]}")
    return found


def constant(name: str, field: str, scala: str) -> Any:
    """Return a constant of a Java class, or the Scala object that it was before."""
    return getattr(java_class(scala + "$"), "MODULE$") if has_class(scala + "$") else getattr(java_class(name), field)


def proxy(interface: str, implementation: Any) -> Any:
    """Return an instance of a Java interface with a Python object's methods, or a dictionary's.  Errors: `MissingClass`."""
    import jpype

    kind = java_class(interface)
    if isinstance(implementation, dict):
        return jpype.JProxy(kind, dict=implementation)
    return jpype.JProxy(kind, inst=implementation)


def integer(value: int) -> Any:
    """Return a boxed Integer; in a Java map a Python int would be looked up as a Long."""
    return java_class("java.lang.Integer")(value)


def int_array(values: Iterable[int]) -> Any:
    import jpype

    return jpype.JArray(jpype.JInt)(list(values))


def java_list(values: Iterable[Any]) -> Any:
    """Return a java.util.ArrayList; Python ints become Integers."""
    found = java_class("java.util.ArrayList")()
    for each in values:
        found.add(integer(each) if isinstance(each, int) else each)
    return found


def optional(value: Any = None) -> Any:
    made = java_class("java.util.Optional")
    return made.empty() if value is None else made.of(value)


def option(value: Any = None) -> Any:
    return java_class("scala.Option").apply(value)


def _boxed(boxes: Sequence[str | None], values: Sequence[Any]) -> Any:
    given = [java_class("java.lang." + box)(each) if box else each for box, each in zip(boxes, values, strict=True)]
    return _objects()(given)


@functools.cache
def _objects() -> Any:
    import jpype

    return jpype.JArray(jpype.JObject)


def declared_methods(target: Any, name: str) -> list[Any]:
    """Return the methods with a name of an object's class and its superclasses, whatever their visibility."""
    kind: Any = type(target)
    return _declared_methods(kind, name)


@functools.cache
def _declared_methods(kind: Any, name: str) -> list[Any]:
    found, at = [], kind.class_
    while at is not None:
        found += [each for each in at.getDeclaredMethods() if str(each.getName()) == name]
        at = at.getSuperclass()
    return found


def has_method(target: Any, name: str) -> bool:
    return bool(declared_methods(target, name))


_methods: dict[tuple[Any, str, int], tuple[Any, list[str | None]]] = {}


def call(target: Any, name: str, *arguments: Any) -> Any:
    """Call an instance method by name and number of arguments; what it throws is raised.  Errors: `MissingClass` if there is
    no such method."""
    key = type(target), name, len(arguments)
    if key not in _methods:
        fitting = [each for each in declared_methods(target, name) if each.getParameterCount() == len(arguments)]
        if not fitting:
            raise MissingClass(f"{target.getClass().getName()}.{name} with {len(arguments)} arguments")
        fitting[0].setAccessible(True)
        _methods[key] = fitting[0], [BOXES.get(str(each.getName())) for each in fitting[0].getParameterTypes()]
    method, boxes = _methods[key]
    try:
        return method.invoke(target, _boxed(boxes, arguments))
    except java_class("java.lang.reflect.InvocationTargetException") as thrown:
        raise thrown.getCause() from None


def call_known(target: Any, name: str, *arguments: Any) -> Any:
    """Call an instance method with as many of the arguments as this version's method takes; arguments of later versions come
    last.  Errors: `MissingClass` if there is no such method, or only with more arguments."""
    counts = [int(each.getParameterCount()) for each in declared_methods(target, name)]
    return call(target, name, *arguments[: max((each for each in counts if each <= len(arguments)), default=len(arguments))])


def call_accepting(target: Any, name: str, argument: Any) -> Any:
    """Call the one-argument method of this name whose parameter takes the argument; `MissingClass` if there is none."""
    kinds: tuple[Any, Any] = type(target), type(argument)
    return _accepting(kinds[0], name, kinds[1]).invoke(target, _boxed([None], [argument]))


@functools.cache
def _accepting(kind: Any, name: str, argument: Any) -> Any:
    for each in _declared_methods(kind, name):
        if each.getParameterCount() == 1 and each.getParameterTypes()[0].isAssignableFrom(argument.class_):
            each.setAccessible(True)
            return each
    raise MissingClass(f"{kind.class_.getName()}.{name} for {argument.class_.getName()}")


@functools.cache
def constructor(name: str, count: int | None = None) -> tuple[Any, list[str]]:
    """Return a class's constructor with `count` parameters (None: with most) and their types; `MissingClass` if it has none."""
    made = [each for each in java_class(name).class_.getDeclaredConstructors() if count in (None, each.getParameterCount())]
    if not made:
        raise MissingClass(f"a constructor of {name} with {count} arguments")
    longest = max(made, key=lambda each: int(each.getParameterCount()))
    longest.setAccessible(True)
    return longest, [str(each.getName()) for each in longest.getParameterTypes()]


def new(name: str, *arguments: Any) -> Any:
    """Call a constructor whatever its visibility; what it throws is raised.  Errors: `MissingClass` if none takes so many."""
    made, types = constructor(name, len(arguments))
    try:
        return made.newInstance(_boxed([BOXES.get(each) for each in types], arguments))
    except java_class("java.lang.reflect.InvocationTargetException") as thrown:
        raise thrown.getCause() from None


def new_from(name: str, by_type: Mapping[str, Any]) -> Any:
    """Call the constructor with most parameters; each gets the value that `by_type` has for its type's name after the last dot.
    Errors: `KeyError` for a type that is not there."""
    return new(name, *[by_type[each.rpartition(".")[2]] for each in constructor(name)[1]])


def empty_optional(kind: str) -> Any:
    """Return Java's or Scala's empty value of an optional type."""
    return optional() if kind == "java.util.Optional" else option()


@functools.cache
def field_of(name: str, field: str) -> Any:
    """Return the java.lang.reflect.Field of a class or a superclass, made accessible.  Errors: `MissingClass`."""
    at = java_class(name).class_
    while at is not None:
        for each in at.getDeclaredFields():
            if str(each.getName()) == field:
                each.setAccessible(True)
                return each
        at = at.getSuperclass()
    raise MissingClass(f"field {field} of {name}")
