"""Where the values of a configuration come from, and notices about the input, in the same words everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from neverlost.checker.engine.host.visible import visible
from neverlost.specs.configuration.keys import MECHANISM, is_setting
from neverlost.specs.setting import NoticeKind, Origin

SPOKEN = (NoticeKind.WARNING, NoticeKind.ASSUMED, NoticeKind.LEFT_OUT)
"""What a reader of the verdict has to know; the rest is listed on request."""


def sources(cell: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the settings of a cell that its input decides, each with `key`, `value` and `source`.  A default of
    neverlost is left out, and so are faults, bounds and mechanisms that the user does not set."""
    return [
        {"key": key, "value": each["value"], "source": source(each)}
        for key, each in cell.get("settings", {}).items()
        if each["value"] != "" and _is_decided(key, each)
    ]


def _is_decided(key: str, setting: Mapping[str, str]) -> bool:
    is_ours = setting["how"] == Origin.DEFAULT and setting["where"].endswith("neverlost")
    is_chosen = setting["how"] in (Origin.FILE, Origin.FLAG, Origin.CHANGE)
    return not is_ours and (is_chosen or (is_setting(key) and not key.startswith(MECHANISM)))


def source(setting: Mapping[str, str]) -> str:
    """Return where a value comes from, in words."""
    is_said = setting["how"] != Origin.ASSUMED or setting["where"].startswith("assumed")
    return setting["where"] if is_said else f"assumed: {setting['where']}"


def has_files(cell: Mapping[str, Any]) -> bool:
    """Return True if a cell has notices, or values from the user's files, so that places are worth printing."""
    return bool(cell.get("notices")) or any(each["how"] == Origin.FILE for each in cell.get("settings", {}).values())


def notices(cell: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the notices about the input of a cell: `kind`, whether it `matters` to the verdict, and what it `says`."""
    return [
        {"kind": each["kind"], "matters": each["kind"] in SPOKEN, "says": notice_sentence(each)}
        for each in cell.get("notices", ())
    ]


def notice_sentence(notice: Mapping[str, Any]) -> str:
    """Return a notice with its place and what to do."""
    place = f" ({notice['where']})" if notice["where"] else ""
    return f"{notice['says']}{place}{'; ' if notice['remedy'] else ''}{notice['remedy']}"


def list_notices(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the notices of a result document, of its cells and of the answers of `nines`, each once."""
    own = document.get("notices", ())
    parts = (*document.get("cells", ()), *document.get("nines", {}).values())
    listed = [*(own.values() if isinstance(own, Mapping) else [own]), *(each.get("notices", ()) for each in parts)]
    return list({notice_sentence(each): each for notices in listed for each in notices}.values())


def list_caveats(document: Mapping[str, Any]) -> list[str]:
    """Return what an answer takes for granted and what it leaves undecided, beside the values of `assumed_lines`."""
    kinds = (NoticeKind.ASSUMED, NoticeKind.LEFT_OUT)
    return [visible(f"{each['kind']}: {notice_sentence(each)}") for each in list_notices(document) if each["kind"] in kinds]


def assumed_lines(document: Mapping[str, Any]) -> list[str]:
    return [f"assumed: {key}={value}" for key, value in document.get("assumed", {}).items()]
