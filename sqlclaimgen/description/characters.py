"""Characters that no text of a description may hold: it stands in SQL, in Python and on pages, where they
would end a line, or hide or reorder what is written."""

from __future__ import annotations

import re

_HIDDEN = (
    r"\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff"
    r"\ufdd0-\ufdef\ufeff\ufff0-\uffff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# ranges, not categories of Unicode, which differ between versions of Python
_CHARACTER = re.compile(f"[{_HIDDEN}]")


def hidden(text: str, *, but: str = "") -> int | None:
    """Where the first control character, line separator, mark of direction or invisible character of
    `text` is that is not in `but`; None when it has none."""
    return next((m.start() for m in _CHARACTER.finditer(text) if m[0] not in but), None)


def named(character: str) -> str:
    """A character that cannot be shown: `U+202E`."""
    return f"U+{ord(character):04X}"


def shown(text: str, longest: int = 400) -> str:
    """`text` on one line of a terminal or a log: hidden characters escaped, and cut in the middle."""
    if len(text) > longest:
        text = f"{text[: longest * 2 // 3]} ... {text[-longest // 3 :]}"
    return _CHARACTER.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape", "surrogatepass").decode("ascii")
