"""`sqlclaimgen.lock`: every generated file with its hash, and what running consumers agree on.

It lies beside the description and is committed with the files. No time, host or version is in it.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, cast

from sqlclaimgen.description.diagnostics import DescriptionInvalid, Diagnostic
from sqlclaimgen.description.model import FORMAT, DeadLetterGroup, Role

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from sqlclaimgen.description.model import Table

NAME = "sqlclaimgen.lock"

_HEAD = """\
# Written by `sqlclaimgen build`: commit it. After a merge take either side and build again.
"""


def digest(content: bytes) -> str:
    """The SHA-256 of a file's text; CRLF counts as LF, so that a checkout on Windows changes nothing."""
    return hashlib.sha256(content.replace(b"\r\n", b"\n")).hexdigest()


def agreement(table: Table) -> dict[str, str]:
    """What every consumer of `table` that runs at the same time must agree on: how a row is held, by
    what it is fenced, and which rows exclude one another. Only what the table has is in it."""

    def name(role: Role) -> str:
        column = table.column(role)
        return column.name if column else ""

    token = table.column(Role.LOCKED_UNTIL)
    dead = table.dead_letter
    said = {
        "form": table.form.value,
        "key": table.advisory_lock.source if table.advisory_lock else "",
        "schema": (table.schema or "") if table.advisory_lock or table.fifo else "",
        "group": name(Role.GROUP),
        "guard": table.fifo or "",
        "clock": table.clock,
        "token": f"{token.name} {token.type}" if token else "",
        "attempt": name(Role.ATTEMPT),
        "dead_group": str(dead.group) if isinstance(dead, DeadLetterGroup) else "",
    }
    return {key: value for key, value in said.items() if value}


@dataclass(slots=True)
class Entry:
    """What one description generated."""

    files: dict[PurePosixPath, str] = field(default_factory=dict[PurePosixPath, str])
    """Hashes by path, relative to the lock's folder."""
    tables: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    """Agreements by table key."""


@dataclass(slots=True)
class Lock:
    """The lock of a folder: an entry for each description in it, by file name."""

    entries: dict[str, Entry] = field(default_factory=dict[str, Entry])

    def taken_over(self, folder: Path, source: str) -> Entry:
        """The entry of `source`, with those of descriptions that are no longer there: they were
        renamed, or what they generated has become this one's to remove."""
        made = Entry()
        for name in [*self.entries]:
            if name == source or not (folder / name).is_file():
                made.files |= self.entries[name].files
                made.tables |= self.entries[name].tables
        return made

    def replaced(self, folder: Path, source: str, entry: Entry) -> Lock:
        """This lock with `entry` for `source`, and without descriptions that are no longer there."""
        kept = {
            name: other
            for name, other in self.entries.items()
            if name != source and (folder / name).is_file()
        }
        return Lock(kept | {source: entry})

    def text(self) -> str:
        """The file's text: TOML in one order."""
        lines = [_HEAD, f"format = {FORMAT}\n"]
        for source, entry in sorted(self.entries.items()):
            for key, said in sorted(entry.tables.items()):
                lines.append(f"\n[descriptions.{_quoted(source)}.tables.{key}]\n")
                lines += [f"{name} = {_quoted(value)}\n" for name, value in said.items()]
            lines.append(f"\n[descriptions.{_quoted(source)}.files]\n")
            lines += [f"{_quoted(str(p))} = {_quoted(h)}\n" for p, h in sorted(entry.files.items())]
        return "".join(lines)


def load(folder: Path) -> Lock:
    """The lock in `folder`; an empty one where there is none. Raises DescriptionInvalid when it cannot
    be read."""
    path = folder / NAME
    try:
        text = path.read_bytes().decode("utf-8").replace("\r\n", "\n")
        document = tomllib.loads(text)
        return _lock(document)
    except FileNotFoundError:
        return Lock()
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        # what tomllib raises is a ValueError, as is a byte that is not UTF-8
        what = str(error) or type(error).__name__
        hint = "Take one side of the merge, or delete the file; then run `sqlclaimgen build`."
        found = Diagnostic(
            str(path), 1, 1, "LOCK-UNREADABLE", f"the lock cannot be read: {what}", hint
        )
        raise DescriptionInvalid((found,)) from error


def _lock(document: Mapping[str, Any]) -> Lock:
    form = document.get("format")
    if form != FORMAT:
        raise ValueError(f"its format is {form!r}, and this version reads {FORMAT}")
    lock = Lock()
    for source, said in document.get("descriptions", {}).items():
        files = cast("dict[str, str]", said["files"])
        tables = cast("dict[str, dict[str, str]]", said.get("tables", {}))
        lock.entries[source] = Entry(
            {PurePosixPath(path): str(hash) for path, hash in files.items()},
            {key: {n: str(v) for n, v in table.items()} for key, table in tables.items()},
        )
    return lock


def drains(before: Entry, after: Entry) -> list[str]:
    """For each table whose consumers must not run beside newer ones, what changed, in words."""
    found: list[str] = []
    for key, said in after.tables.items():
        old = before.tables.get(key)
        if old is None or old == said:
            continue
        changed = [
            f"{name} was {old.get(name, 'not set')}, is {said.get(name, 'not set')}"
            for name in dict.fromkeys([*old, *said])
            if old.get(name) != said.get(name)
        ]
        found.append(f"{key}: {'; '.join(changed)}")
    return found


def _quoted(text: str) -> str:
    """A basic string of TOML, which is JSON's but for DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
