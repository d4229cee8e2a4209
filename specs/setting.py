"""A setting with where it comes from, and what was noticed about the user's input: both stand beside every answer."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypedDict


class Origin(StrEnum):
    """How a value came to be: written in a file, given on the command line, a version's default, assumed, or changed by the
    question itself.

    A default is what Kafka does without the setting, where the input would have shown another value.  Where the input
    could not have shown it, the value is assumed.
    """

    FILE = "file"
    FLAG = "flag"
    DEFAULT = "default"
    ASSUMED = "assumed"
    CHANGE = "change"


class SettingDocument(TypedDict):
    """A setting in a result document."""

    value: str
    where: str
    how: str


Sources = dict[str, SettingDocument]
"""Settings in a result document, by their keys."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A raw value, where it stands (`where` reads after "in"), and how it came to be.  `cited` are pairs of a topic and the
    place where a file gives it this value; a default has such pairs too, if files give its value to some topics."""

    value: str
    where: str
    how: Origin = Origin.FILE
    cited: tuple[tuple[str, str], ...] = ()

    def document(self) -> SettingDocument:
        others = sum(where != self.where for _, where in self.cited)
        many = f"{others} {'other ' * (self.how is Origin.FILE)}topic{'s' * (others > 1)}"
        more = (f" and {many}" if self.how is Origin.FILE else f"; given to {many} by files") if others else ""
        return {"value": self.value, "where": self.where + more, "how": str(self.how)}

    def cited_for(self, found: Iterable[tuple[tuple[str, ...], Setting | None]]) -> Setting:
        """Return the setting, `cited` being the topics and places in `found` whose files give its value; empty if none does."""
        same = ((topics, each) for topics, each in found if each and (each.value, each.how) == (self.value, Origin.FILE))
        cited = (one for topics, each in same for one in each.cited or [(topic, each.where) for topic in topics])
        return replace(self, cited=tuple(dict.fromkeys(cited)))

    def of_topics(self, topics: Collection[str]) -> Setting:
        """Return the setting, citing only these topics.  If it is a file's, or files give its value to all these topics, it
        stands at the first place that is cited, as of a file."""
        cited = tuple(each for each in self.cited if each[0] in topics)
        is_of_file = bool(cited) and (self.how is Origin.FILE or {topic for topic, _ in cited}.issuperset(topics))
        return replace(self, where=cited[0][1], how=Origin.FILE, cited=cited) if is_of_file else replace(self, cited=cited)


Settings = dict[str, Setting]


def sources(settings: Mapping[str, Setting]) -> Sources:
    """Return the settings as a result document has them, by their keys."""
    return {key: each.document() for key, each in settings.items()}


def shared_sources(every: Iterable[Mapping[str, Setting]]) -> tuple[Sources, list[Sources]]:
    """Return the settings that all configurations have with one value and source, and a list of what each has besides."""
    found = [sources(each) for each in every]
    shared = {key: one for key, one in found[0].items() if all(each.get(key) == one for each in found)}
    return shared, [{key: one for key, one in each.items() if key not in shared} for each in found]


def assumed(every: Iterable[Mapping[str, Setting]]) -> dict[str, str]:
    """Return the assumed values by key, several joined by " or "; a flag of which both values are assumed is left out."""
    found: dict[str, dict[str, None]] = {}
    for settings in every:
        for key, each in settings.items():
            if each.how is Origin.ASSUMED:
                found.setdefault(key, {})[each.value] = None
    return {key: " or ".join(values) for key, values in found.items() if set(values) != {"true", "false"}}


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """Where the user's files speak of a topic; `is_declared` where the file asks for it, so that it is changed there."""

    where: str
    is_declared: bool = False


class NoticeKind(StrEnum):
    """What a notice is: something to look at, something assumed, something that the models leave out, something that Kafka does
    not know, or why `holds` is not said."""

    WARNING = "warning"
    ASSUMED = "assumed"
    NOT_MODELLED = "not modelled"
    IGNORED = "ignored"
    LEFT_OUT = "not decided"


class NoticeDocument(TypedDict):
    """A notice in a result document."""

    kind: str
    says: str
    where: str
    remedy: str
    topics: list[str]


@dataclass(frozen=True, slots=True)
class Notice:
    """One thing noticed about the input: what, where it stands, what to do, and the topics that it is about.

    Without topics it is about everything that was read.
    """

    kind: NoticeKind
    says: str
    where: str = ""
    remedy: str = ""
    topics: tuple[str, ...] = ()

    def __str__(self) -> str:
        place = f" ({self.where})" if self.where else ""
        return f"{self.says}{place}{'; ' if self.remedy else ''}{self.remedy}"

    def document(self) -> NoticeDocument:
        return {
            "kind": str(self.kind),
            "says": self.says,
            "where": self.where,
            "remedy": self.remedy,
            "topics": list(self.topics),
        }


def of_kind(notices: Iterable[Notice], *kinds: NoticeKind) -> tuple[Notice, ...]:
    """Return the notices of some kinds, each once, in their order."""
    return tuple(dict.fromkeys(each for each in notices if each.kind in kinds))
