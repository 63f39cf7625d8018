"""`sqlclaimgen.lock`: every generated file with its hash, and what running consumers agree on.

It lies beside the description and is committed with the files. No time, host or version is in it.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from sqlclaimgen import files
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
    pending: dict[PurePosixPath, tuple[str, ...]] = field(
        default_factory=dict[PurePosixPath, tuple[str, ...]]
    )
    """Hashes of what a build was about to write, by path. A build that was interrupted leaves them, so
    that the next one knows its files."""

    def known(self, path: PurePosixPath) -> frozenset[str]:
        """Every hash that a build gave to this file, or was about to."""
        listed = self.files.get(path)
        return frozenset((*([listed] if listed else ()), *self.pending.get(path, ())))

    def about_to_write(self, hashes: Mapping[PurePosixPath, str]) -> Entry:
        """This entry while a build writes files with these hashes."""
        pending = dict(self.pending)
        for path, hash in hashes.items():
            if hash not in self.known(path):
                pending[path] = (*pending.get(path, ()), hash)
        return Entry(self.files, self.tables, pending)


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
                made.pending |= self.entries[name].pending
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
            if entry.pending:
                lines.append(f"\n[descriptions.{_quoted(source)}.pending]\n")
            for path, hashes in sorted(entry.pending.items()):
                lines.append(f"{_quoted(str(path))} = [{', '.join(map(_quoted, hashes))}]\n")
        return "".join(lines)


def load(folder: Path) -> Lock:
    """The lock in `folder`; an empty one where there is none. Raises DescriptionInvalid when it cannot
    be read."""
    path = folder / NAME
    try:
        content = files.content(path)
        return Lock() if content is None else _lock(tomllib.loads(_text(content)))
    except _OtherFormat as error:
        what, hint = str(error), "Install the version of sqlclaimgen that wrote it."
    except OSError as error:
        what = error.strerror or type(error).__name__
        hint = "Move away what lies there, or make it readable; then run `sqlclaimgen build`."
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        # what tomllib raises is a ValueError, as is a byte that is not UTF-8
        what = str(error) or type(error).__name__
        hint = "Take one side of the merge, or delete the file; then run `sqlclaimgen build`."
    found = Diagnostic(str(path), 1, 1, "LOCK-UNREADABLE", f"the lock cannot be read: {what}", hint)
    raise DescriptionInvalid((found,))


class _OtherFormat(ValueError):
    """The lock is of a newer version."""


def _text(content: bytes) -> str:
    return content.decode("utf-8").replace("\r\n", "\n")


def _lock(document: Mapping[str, Any]) -> Lock:
    form = document.get("format")
    if isinstance(form, int) and form > FORMAT:
        raise _OtherFormat(f"its format is {form}, and this version reads {FORMAT}")
    if form != FORMAT:
        raise ValueError(f"its format is {form!r}, and this version reads {FORMAT}")
    lock = Lock()
    for source, said in document.get("descriptions", {}).items():
        lock.entries[source] = Entry(
            {_path(path): _hash(hash) for path, hash in said["files"].items()},
            {
                key: {n: str(v) for n, v in table.items()}
                for key, table in said.get("tables", {}).items()
            },
            {
                _path(path): tuple(_hash(hash) for hash in hashes)
                for path, hashes in said.get("pending", {}).items()
            },
        )
    return lock


def _path(text: str) -> PurePosixPath:
    if "\0" in text:
        raise ValueError(f"{text!r} is no path")
    return PurePosixPath(text)


def _hash(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.80} is no hash")
    return value


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
