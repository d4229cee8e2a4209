"""Characters that are obeyed instead of shown: controls, marks of direction, separators that only some programs know."""

from __future__ import annotations

import re

UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
"""Characters that are obeyed instead of shown, all but a tab and the end of a line."""

MARKUP = re.compile(r"<(?=[A-Za-z/!?])|!\[|\]\(|\||\n")
"""What Markdown would take for HTML, an image, a link, the end of a table's cell, or of a line."""

_PLAIN = {"<": "&lt;", "![": "!\\[", "](": "]\\(", "|": "\\|", "\n": " "}


def plain_markdown(text: str) -> str:
    """Return the text in one line; HTML, images, links, `|` and unseen characters are escaped for Markdown, no other marks."""
    return MARKUP.sub(lambda found: _PLAIN[found[0]], visible(text))


def visible(text: str) -> str:
    """Return the text with an escape for each control, mark of direction and unseen separator; tabs and line feeds stay."""
    return UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
