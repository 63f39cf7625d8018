"""What a protocol yields: one step at a time for a driver to carry out, and what it gets back.

Protocols are generators without I/O. A blocking and an asyncio driver run the same ones, and a test
can stop one at any step, end its connection there, or interleave two in every order.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from sqlclaimgen.runtime.keys import KeyLock

T = TypeVar("T")

Values: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Many:
    """A list for `IN (:ids)` on databases without arrays: the driver writes one placeholder each.
    Items that are tuples become row values."""

    items: Sequence[Any]


class Text(str):
    """A text for people, an error's: what the connection or the database cannot carry of it is replaced
    by the driver, so that it never fails a statement."""


@dataclass(frozen=True, slots=True)
class Begin:
    """Open a transaction. `isolation` None means READ COMMITTED (BEGIN IMMEDIATE on SQLite)."""

    isolation: str | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """Run a generated statement. `sql` is its text with `:name` placeholders."""

    statement: str
    sql: str
    parameters: Mapping[str, Any]
    id: Any = None
    """The row concerned, for errors."""


@dataclass(frozen=True, slots=True)
class Commit:
    """Commit the open transaction."""


@dataclass(frozen=True, slots=True)
class Rollback:
    """Roll the open transaction back. Never fails: a connection that cannot is closed."""


@dataclass(frozen=True, slots=True)
class Savepoint:
    """Set a savepoint."""

    name: str


@dataclass(frozen=True, slots=True)
class ReleaseSavepoint:
    """Release a savepoint. An error here means the transaction it was set in is gone."""

    name: str


@dataclass(frozen=True, slots=True)
class RollbackToSavepoint:
    """Undo what came after a savepoint."""

    name: str


@dataclass(frozen=True, slots=True)
class CheckConstraints:
    """Have constraints checked now that would be checked at the COMMIT (PostgreSQL's deferred ones):
    what is refused here can be undone to a savepoint."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait, and leave the connection alone meanwhile. `conflict`: why what follows is a second try."""

    seconds: float
    conflict: Exception | None = None


@dataclass(frozen=True, slots=True)
class Close:
    """Close the connection: what it holds can no longer be told."""


@dataclass(frozen=True, slots=True)
class KeysInUse:
    """List the keys of a database file that this process holds, a row each. For databases without
    session locks, as are the next two."""

    file: str


@dataclass(frozen=True, slots=True)
class HoldKey:
    """Hold a key in this process, over this connection. Brings a row when it was won; never waits."""

    file: str
    lock: KeyLock


@dataclass(frozen=True, slots=True)
class DropKey:
    """Give a key back."""

    lock: KeyLock


Step: TypeAlias = (
    Begin
    | Run
    | Commit
    | Rollback
    | Savepoint
    | ReleaseSavepoint
    | RollbackToSavepoint
    | CheckConstraints
    | Pause
    | Close
    | KeysInUse
    | HoldKey
    | DropKey
)


@dataclass(frozen=True, slots=True)
class Result:
    """What a step brought back. `count` is the rows an update, delete or insert matched."""

    rows: Sequence[Values] = field(default_factory=tuple)
    count: int = 0
    last_id: int | None = None
    """The id the database generated, where the statement cannot return it (MySQL)."""
    described: Any = field(default=None, compare=False, repr=False)
    """The columns of the rows in the driver's own words, where it has types for them."""


Protocol: TypeAlias = Generator[Step, Result, T]
"""Yields steps, receives results, returns its outcome. Errors are thrown in at the step that failed."""
