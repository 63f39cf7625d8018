"""Rendered templates to statements: `-- name:` begins one, and what is said above its text is its doc."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sqlclaimgen.statements.layout import wrapped
from sqlclaimgen.statements.model import Parameter, Statement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_NAME = re.compile(r"^-- name: (\S+)$", re.MULTILINE)
_KEYS = ("Transaction", "Locks", "Index", "Runs")


class TemplateBroken(Exception):
    """A template of this package does not have the shape that this module reads."""


def parse(
    text: str,
    names: Callable[[str], tuple[str, ...]],
    what: Callable[[str, str], str],
    *,
    backslashes: bool = False,
) -> Iterator[Statement]:
    """The statements of a rendered template. `names` finds the placeholders of a text, `what` says
    what one of a statement's is. `backslashes`: they escape in strings."""
    starts = list(_NAME.finditer(text))
    if text.strip() and not starts:
        raise TemplateBroken(f"text without a name: {text.strip()[:80]}")
    if not starts:
        return
    for start, following in zip(starts, [*starts[1:], None], strict=True):
        body = text[start.end() + 1 : following.start() if following else len(text)]
        yield _statement(start[1], body, names, what, backslashes)


def _statement(
    name: str,
    body: str,
    names: Callable[[str], tuple[str, ...]],
    what: Callable[[str, str], str],
    backslashes: bool,
) -> Statement:
    lines = body.strip("\n").split("\n")
    purpose: list[str] = []
    said: dict[str, str] = {}
    while lines and lines[0].startswith("-- "):
        line = lines.pop(0)[3:].rstrip()
        key, colon, rest = line.partition(": ")
        if colon and key in _KEYS:
            said[key] = rest
        elif not said:
            purpose.append(line)
        else:
            # a note about the text itself, after the facts
            purpose.append(line)
    kept = (line.rstrip() for line in lines if line.strip())
    sql = "\n".join(wrapped(line, backslashes=backslashes) for line in kept)
    if not sql.endswith(";") or set(said) != set(_KEYS):
        raise TemplateBroken(f"{name}: needs {', '.join(_KEYS)} and a closing semicolon: {body}")
    sql = sql[:-1]
    return Statement(
        name=name,
        purpose=tuple(purpose),
        parameters=tuple(Parameter(parameter, what(name, parameter)) for parameter in names(sql)),
        transaction=said["Transaction"],
        locks=said["Locks"],
        index=said["Index"],
        runs=said["Runs"],
        text=sql,
    )
