"""Long lines of SQL, broken where a reader would break them, and never inside a name or a string."""

from __future__ import annotations

import re

WIDTH = 100

# what must not be broken, or a place where a line may end or begin
_PLACES = r"""|(?P<comma>,[ ])|(?P<and>[ ]AND[ ])"""
_ANSI = re.compile(r"""(?P<whole>"(?:[^"]|"")*"|'(?:[^']|'')*')""" + _PLACES)
_MYSQL = re.compile(
    r"""(?P<whole>`(?:[^`]|``)*`|"(?:[^"\\]|\\.|"")*"|'(?:[^'\\]|\\.|'')*')""" + _PLACES
)


def wrapped(line: str, *, backslashes: bool = False) -> str:
    """`line`, broken before AND and after commas when it is longer than WIDTH. `backslashes`: names are
    in backticks and a backslash escapes in strings, as on MySQL and MariaDB."""
    if len(line) <= WIDTH:
        return line
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    done: list[str] = []
    start = 0
    last: tuple[int, int] | None = None
    for match in (_MYSQL if backslashes else _ANSI).finditer(line):
        if match["whole"] or not line[: match.start()].strip():
            continue
        # (where this line ends, where the next one begins)
        here = (
            (match.end() - 1, match.end()) if match["comma"] else (match.start(), match.start() + 1)
        )
        used = here[0] - start + (len(indent) if done else 0)
        if last is not None and used > WIDTH:
            done.append(line[start : last[0]])
            start = last[1]
        last = here
    used = len(line) - start + (len(indent) if done else 0)
    if last is not None and used > WIDTH and last[1] > start:
        done.append(line[start : last[0]])
        start = last[1]
    done.append(line[start:])
    return f"\n{indent}".join(done)
