"""The question that a bundle answers: a command with its arguments, and the user's files as they were read.  Everything else
in a bundle is derived from it, when it is sealed and again by `verify`."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import subprocess
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeVar

import neverlost
from neverlost.checker.engine.host.visible import UNSEEN
from neverlost.checker.engine.host.whole_files import as_json
from neverlost.reports.bundle.redaction import redact_names, without_secrets
from neverlost.reports.request.run_options import RunOptions
from neverlost.specs.configuration.input import Contents, keeping, known
from neverlost.specs.errors import InputError, unknown
from neverlost.specs.strict_json import parse_json

Found = TypeVar("Found")


class SecretsWarning(UserWarning):
    """A warning that a file of the user has values of secret settings, such as passwords; they are masked."""


SCHEMA = "neverlost.question/1"
COMMIT, HEAD = "[0-9a-f]{40}(-dirty)?", "# branch.oid "
FILE, FOLDER = "question.json", "question"

COMMANDS = {"plan": "roll"}
"""Functions whose command has another name."""

SPELLED = {
    "file": "plan",
    "properties": "property",
    "keep_going": "continue",
    "topics": "topic",
    "replicas": "replica",
    "beside": "with",
    "rates_files": "rates",
}
"""Options that the command line calls otherwise."""

FILES = (
    *("describe", "configs", "server_properties", "controller_properties"),
    *("producer_properties", "consumer_properties", "applications"),
)
ARGUMENTS: dict[str, tuple[str, ...]] = {
    "check": ("settings", "config", *FILES, "kafka_version", "topics", "properties", "advise", "agree", "keep_going"),
    "sweep": ("matrix", "settings", "properties", "baseline"),
    "prove": ("settings", "config", "method", "depth", "properties", "unbounded", "every_rf", "without"),
    "observe": ("history", "settings", "kafka_version", "metadata_log", "clients", "topic", "partition", "losses"),
    "tolerance": ("settings", "config", "files", "kafka_version", "topics", "properties", "also", "beside", "again"),
    "roll": ("settings", "files", "kafka_version", "at_a_time", "broker", "pod", "accept"),
    "rescue": ("settings", "files", "topic", "partition", "replicas", "went"),
    "plan": ("file", "settings"),
    "nines": ("settings", "config", "matrix", "files", "kafka_version", "topics", "rates_files", "compare", "again"),
}
"""What each command is asked with.  Files are named as they were read; where to work and to write is no part of a question."""

EFFORT = ("engine", "symmetry", "workers", "time_limit", "memory_limit")
"""How the first answer was searched for."""


@cache
def commit_of_checkout() -> str | None:
    """Return the git commit of this program's checkout, with `-dirty` if tracked files are changed; None if git gives none."""
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return None
    command = ["git", "--no-optional-locks", "-C", str(root), "status", "--porcelain=v2", "--branch", "--untracked-files=no"]
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False).stdout.splitlines()
    except (OSError, subprocess.TimeoutExpired):
        return None
    commit = "".join(each.removeprefix(HEAD) for each in said if each.startswith(HEAD))
    commit += "" if all(each.startswith("#") for each in said) else "-dirty"
    return commit if re.fullmatch(COMMIT, commit) else None


@dataclass(frozen=True)
class BundleQuestion:
    """A command, its arguments as JSON values, and the contents of the files that they name."""

    command: str
    arguments: Mapping[str, Any]
    contents: Contents = field(default_factory=dict)
    version: str = neverlost.__version__
    commit: str | None = field(default_factory=commit_of_checkout)

    def with_arguments(self, **more: Any) -> BundleQuestion:
        """Return a question with these further arguments, made JSON values; those that are None, [] or {} are left out."""
        plain = {name: _as_json_value(value) for name, value in more.items() if value is not None}
        plain = {name: value for name, value in plain.items() if value not in ([], {})}
        return replace(self, arguments={**self.arguments, **plain})

    def with_effort(self, request: RunOptions) -> BundleQuestion:
        """Return a question with the search options of `request`, which found its first answer, that are not the defaults."""
        usual = RunOptions()
        changed = {name: getattr(request, name) for name in EFFORT if getattr(request, name) != getattr(usual, name)}
        return self.with_arguments(**changed)

    @property
    def document(self) -> dict[str, Any]:
        """Return the content of `question.json`."""
        listed = [
            {"name": name, "file": f"{FOLDER}/{number:02}", "digest": digest(content)}
            for number, (name, content) in enumerate(self.contents.items(), start=1)
        ]
        return {
            "schema": SCHEMA,
            "command": self.command,
            "arguments": dict(self.arguments),
            "files": listed,
            "version": self.version,
            "commit": self.commit,
        }

    @property
    def digest(self) -> str:
        """The digest by which documents name the question that they answer."""
        return digest(as_json(self.document).encode())

    @property
    def answered(self) -> dict[str, str]:
        """The fields that end a document which answers this question: its digest and, if it is known, the program's commit."""
        return {"question": self.digest, **({"commit": self.commit} if self.commit else {})}

    @property
    def files(self) -> dict[str, bytes]:
        """Return the contents of `question.json` and of the user's files, by their names in the bundle."""
        own = {each["file"]: self.contents[each["name"]] for each in self.document["files"]}
        return {FILE: as_json(self.document).encode(), **own}

    @property
    def command_line(self) -> str:
        """Return the line of shell that asks the question again, where the user's files are in the working directory."""
        words, plain = ["neverlost", COMMANDS.get(self.command, self.command)], dict(self.arguments)
        words += [str(plain.pop(name)) for name in ("config", "matrix", "history") if plain.get(name)]
        settings = plain.pop("settings", None) or []
        pairs = [f"{key}={value}" for key, value in settings.items()] if isinstance(settings, dict) else settings
        words += [part for each in pairs for part in ("--set", each)]
        plain |= plain.pop("files", {})
        for name, value in plain.items():
            words += _option(f"--{SPELLED.get(name, name).replace('_', '-')}", value)
        return " ".join(map(_quote_for_shell, words)) + "\n"

    @classmethod
    def of(cls, files: Contents) -> BundleQuestion:
        """Return the question that a bundle's files hold.  Errors: `InputError`, with the place, for none or a bad one."""
        if FILE not in files:
            raise InputError(f"the bundle has no {FILE}: an older version wrote it; make it again with --out DIR")
        found = parse_json(files[FILE].decode("utf-8", "replace"), FILE)
        place = _require(found, dict, FILE)
        command = _require(place.get("command"), str, f"command of {FILE}")
        if place.get("schema") != SCHEMA or command not in ARGUMENTS:
            raise InputError(f"{FILE} is no question of this version: schema {place.get('schema')!r}, command {command!r}")
        arguments = _require(place.get("arguments"), dict, f"arguments of {FILE}")
        for name, value in arguments.items():
            if name not in (*ARGUMENTS[command], *EFFORT):
                raise unknown("argument", name, (*ARGUMENTS[command], *EFFORT), FILE)
            if not _fits(name, value):
                raise InputError(f"{name} of {FILE} is {value!r:.60}, which is no value of it")
        RunOptions(**{name: arguments[name] for name in EFFORT if name in arguments})
        listed = _require(place.get("files"), list, f"files of {FILE}")
        contents = dict(_content(_require(each, dict, f"files of {FILE}"), files) for each in listed)
        commit = place.get("commit")
        if commit is not None and not re.fullmatch(COMMIT, str(commit)):
            raise InputError(f"commit of {FILE} is {commit!r:.60}, which is none")
        question = cls(command, arguments, contents, str(place.get("version")), commit)
        if files[FILE] != question.files[FILE]:
            raise InputError(f"{FILE} is refused: it is not written as a question is")
        return question


def read_question(
    command: str,
    arguments: Mapping[str, Any],
    read: Callable[..., Found],
    names: Callable[[Found], Iterable[str]],
    redact: bool = False,
) -> tuple[BundleQuestion, Found]:
    """Return the question with the files that `read` reads, and what `read` returns; in both secret values are masked, with a
    warning.  With `redact` names (of files, and those that `names` returns) are replaced too, and nothing is warned of."""
    plain = BundleQuestion(command, {}).with_arguments(**arguments).arguments
    with keeping() as contents:
        found = read(**plain)
    if not redact:
        masked = without_secrets(contents)
        if masked == contents:
            return BundleQuestion(command, plain, contents), found
        secret = ", ".join(repr(name) for name in contents if masked[name] != contents[name])
        warnings.warn(SecretsWarning(f"{secret}: the values of secret settings are not read and not kept"), stacklevel=3)
        with known(masked), keeping() as kept:
            return BundleQuestion(command, plain, kept), read(**plain)
    hidden, masked = redact_names(plain, contents, names(found))
    with known(masked), keeping() as again:
        return BundleQuestion(command, hidden, again), read(**hidden)


def _quote_for_shell(word: str) -> str:
    """Return a word quoted for a shell; if it has bytes that are not printable, in the form `$'...'` with octal escapes."""
    if not UNSEEN.search(word):
        return shlex.quote(word)
    plain = (chr(each) if 32 <= each < 127 and each not in b"'\\" else f"\\{each:03o}" for each in os.fsencode(word))
    return f"$'{''.join(plain)}'"


def digest(content: bytes) -> str:
    """Return the SHA-256 of bytes: `sha256:` and hexadecimal digits."""
    return "sha256:" + hashlib.sha256(content).hexdigest()


def _content(entry: Mapping[str, Any], files: Contents) -> tuple[str, bytes]:
    name, file = (_require(entry.get(each), str, f"{each} of a file in {FILE}") for each in ("name", "file"))
    if file not in files:
        raise InputError(f"{FILE} names {file!r}, which is not in the bundle")
    return name, files[file]


def _require(value: Any, kind: type, where: str) -> Any:
    if not isinstance(value, kind):
        raise InputError(f"{where} is {value!r:.60}, which is no {kind.__name__}")
    return value


def _as_json_value(value: Any) -> Any:
    """Return an argument as a JSON value, a path as text and an iterable as a list; `InputError` for any other object."""
    if isinstance(value, Mapping):
        return {str(name): _as_json_value(each) for name, each in value.items()}
    if isinstance(value, str | int | float | bool | None):
        return value
    if isinstance(value, PathLike):
        return fspath(value)
    if isinstance(value, Iterable):
        return [_as_json_value(each) for each in value]
    raise InputError(f"bad value {value!r}: use texts, numbers, true and false, and lists of them")


PATHS = ("metadata_log", "clients", "rates_files", *FILES)
FLAGS = ("advise", "agree", "again", "keep_going", "unbounded", "every_rf", "losses", "symmetry")
NUMBERS: Mapping[str, type | tuple[type, ...]] = {
    "depth": int,
    "partition": int,
    "at_a_time": int,
    "workers": int,
    "time_limit": (int, float),
    "memory_limit": (int, str),
}


def _fits(name: str, value: Any) -> bool:
    if name in FLAGS:
        return isinstance(value, bool)
    if name in NUMBERS:
        return isinstance(value, NUMBERS[name]) and not isinstance(value, bool)
    if name == "files":
        return isinstance(value, dict) and all(each in FILES and _fits(each, value[each]) for each in value)
    if name in ("settings", "also") and isinstance(value, dict):
        return True
    if name in ("settings", "properties", "topics", "without", "also", "beside", "replicas", "went"):
        return _is_texts(value)
    return isinstance(value, str) or (name in PATHS and _is_texts(value))


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _option(name: str, value: Any) -> list[str]:
    if isinstance(value, dict):
        value = [f"{key}={each}" for key, each in value.items()]
    if isinstance(value, bool):
        return [name] if value else [name.replace("--", "--no-", 1)]
    return [part for each in (value if isinstance(value, list) else [value]) for part in (name, str(each))]
