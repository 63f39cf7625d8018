"""Long lines of SQL, broken where a reader would break them, and never inside a name or a string."""

from __future__ import annotations

import re

WIDTH = 100

# what must not be broken, or a place where a line may end or begin
_PIECES = re.compile(
    r"""(?P<whole>"(?:[^"]|"")*"|`(?:[^`]|``)*`|'(?:[^'\\]|\\.|'')*')|(?P<comma>,\ )|(?P<and>\ AND\ )""",
    re.VERBOSE,
)


def wrapped(line: str) -> str:
    """`line`, broken before AND and after commas when it is longer than WIDTH."""
    if len(line) <= WIDTH:
        return line
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    done: list[str] = []
    start = 0
    last: tuple[int, int] | None = None
    for match in _PIECES.finditer(line):
        if match["whole"] or not line[: match.start()].strip():
            continue
        # (where this line ends, where the next one begins)
        here = (match.end() - 1, match.end()) if match["comma"] else (match.start(), match.start() + 1)
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
