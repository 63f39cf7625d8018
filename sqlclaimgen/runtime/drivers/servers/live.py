"""A table as it is in the database, in every server's terms alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class LiveColumn:
    """A column of the live table."""

    name: str
    type: str
    required: bool
    """NOT NULL and without a default: an INSERT that does not name it fails."""
    numbered: bool
    """The database gives each row a number of its own here, and none twice."""
    changes: bool = False
    """Every UPDATE of the row sets it to the current time, unless it is named (ON UPDATE)."""
    zoned: bool = False
    """A time is read and written in the session's time zone (TIMESTAMP on MySQL and MariaDB)."""


@dataclass(slots=True)
class LiveTable:
    """A live table. Views have no unique index of their own."""

    columns: list[LiveColumn] = field(default_factory=list[LiveColumn])
    unique: list[frozenset[str]] = field(default_factory=list[frozenset[str]])
    """The columns of each unique index that holds for every row."""
    view: bool = False
    partitioned: bool = False
    reuses: bool = False
    """The database numbers the rows, and gives the number of a deleted one again (SQLite)."""
    unseen: bool = False
    """Row level security may hide rows from this role."""
    forbidden: Sequence[str] = ()
    """The commands for which no policy of row level security lets this role see a row."""
    datestyle: str = "ISO"
    """How the session spells dates (PostgreSQL)."""
    cased: bool = True
    """Whether two columns may differ in case alone."""

    def column(self, name: str) -> LiveColumn | None:
        """The column of this name, or None."""
        key = self._key(name)
        return next((column for column in self.columns if self._key(column.name) == key), None)

    def is_unique(self, name: str) -> bool:
        """Whether a unique index holds for this column alone."""
        return frozenset({self._key(name)}) in self.unique

    def in_unique(self, name: str) -> bool:
        """Whether a unique index holds for this column with others."""
        return any(self._key(name) in columns for columns in self.unique)

    def index(self, rows: Iterable[Sequence[Any]]) -> None:
        """Take unique indexes from rows of an index and one of its columns."""
        found: dict[Any, set[str]] = {}
        for index, column in rows:
            found.setdefault(index, set()).add(self._key(str(column)))
        self.unique += map(frozenset, found.values())

    def _key(self, name: str) -> str:
        return name if self.cased else name.lower()
