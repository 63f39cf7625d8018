"""What a description says, resolved: every default filled in, every name looked up.

The rules have run before one of these exists, so the code behind it asks no questions.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from sqlclaimgen.dialects.types import INTEGERS, TEXTS, Kind, Type

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = [
    "FORMAT",
    "INTEGERS",
    "TEXTS",
    "Column",
    "DeadLetterGroup",
    "DeadLetterTable",
    "Description",
    "Form",
    "KeyPart",
    "KeyTemplate",
    "Kind",
    "Output",
    "PythonType",
    "Retry",
    "Role",
    "StatusValues",
    "Table",
    "Type",
]

FORMAT = 1
"""The format of description files, generated modules and the lock file that this version serves."""


class Form(StrEnum):
    """The three ways to claim a row. The value is what `form = ".."` takes."""

    ROW_LOCK = "row_lock"
    LEASE = "lease"
    ADVISORY_LOCK = "advisory_lock"

    @property
    def words(self) -> str:
        """The form's name in prose: `row lock`, `lease`, `advisory lock`."""
        return self.value.replace("_", " ")


class Role(StrEnum):
    """What a column is for. The value is what `role = ".."` takes."""

    ID = "id"
    GROUP = "group"
    PRIORITY = "priority"
    PARTITION_KEY = "partition_key"
    RETRY_AFTER = "retry_after"
    ATTEMPT = "attempt"
    PROCESSED_AT = "processed_at"
    LOCKED_UNTIL = "locked_until"
    HEADERS = "headers"
    PAYLOAD = "payload"
    LAST_ERROR = "last_error"
    DEDUPE_KEY = "dedupe_key"
    STATUS = "status"
    ORIGIN = "origin"
    """The group a row came from before it became a dead letter of another group."""


@dataclass(frozen=True, slots=True)
class PythonType:
    """The user's own type for what a column holds: `module:Name`."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}:{self.name}"


@dataclass(frozen=True, slots=True)
class StatusValues:
    """What a `status` column says of a row, in the words the table uses (text or integers)."""

    pending: str | int
    done: str | int
    dead: str | int


@dataclass(frozen=True, slots=True)
class Column:
    """One column. `default` is a literal of the column's type, or None for no default;
    `default_now` says that a time defaults to the time of insertion, as `retry_after` does."""

    name: str
    field: str
    type: Type
    role: Role | None = None
    null: bool = False
    generated: bool = False
    default: str | int | float | bool | None = None
    default_now: bool = False
    sql: Mapping[str, str] = dataclasses.field(default_factory=lambda: MappingProxyType({}))
    python: PythonType | None = None
    status: StatusValues | None = None


@dataclass(frozen=True, slots=True)
class DeadLetterTable:
    """Dead letters go into this table: the same columns, plus reason, error and time where the
    table has them (None: it does not)."""

    name: str
    schema: str | None = None
    reason: str | None = "reason"
    error: str | None = "error"
    time: str | None = "died_at"


@dataclass(frozen=True, slots=True)
class DeadLetterGroup:
    """Dead letters become rows of this group of the same table. The column of role `origin`, where
    the table has it, keeps the group they came from."""

    group: str | int


@dataclass(frozen=True, slots=True)
class Retry:
    """When a row whose handler failed is due again. Times are in seconds."""

    backoff: str = "none"
    """`none`, `constant`, `linear` or `exponential`."""
    base: int = 0
    max: int = 0
    jitter: float = 0.0
    """Share of the delay that is random, 0 to 1."""


@dataclass(frozen=True, slots=True)
class KeyPart:
    """A piece of an advisory lock's key: literal text, or a column's value inserted verbatim."""

    text: str | None = None
    column: Column | None = None


@dataclass(frozen=True, slots=True)
class KeyTemplate:
    """`accounts-{account}`, taken apart."""

    source: str
    parts: tuple[KeyPart, ...]

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns the key is made of, in the template's order."""
        return tuple(part.column for part in self.parts if part.column is not None)


@dataclass(frozen=True, slots=True)
class Table:
    """One work table."""

    key: str
    """Names the Python module and the files."""
    name: str
    schema: str | None
    dialects: tuple[str, ...]
    form: Form
    columns: tuple[Column, ...]
    lease: int = 30
    """Seconds. Lease form only."""
    advisory_lock: KeyTemplate | None = None
    fifo: str | None = None
    """None, `strict` (a head that is not due holds its group) or `due` (it lets others pass)."""
    claims: tuple[str, ...] = ("table",)
    """`group` and `table`: the claims the table has."""
    max_attempts: int | None = None
    dead_letter: DeadLetterTable | DeadLetterGroup | None = None
    retry: Retry | None = None
    clock: str = "host"
    """`host` or `database`."""
    isolation: str | None = None
    """None for READ COMMITTED, or `repeatable read` or `serializable`."""
    mode: str | None = None
    where: str | None = None
    """One more condition, SQL in the table's own words, that a row must meet to be claimed."""
    conditions: Mapping[str, tuple[str | Column, ...]] = dataclasses.field(
        default_factory=lambda: MappingProxyType({})
    )
    """The text of `where` for each database, by its word, with the columns in it taken out."""
    notify: bool = False
    commit_order: bool = False

    def column(self, role: Role) -> Column | None:
        """The column that plays `role`, or None."""
        return next((column for column in self.columns if column.role is role), None)

    def has(self, role: Role) -> bool:
        """Whether a column plays `role`."""
        return self.column(role) is not None

    @property
    def id(self) -> Column:
        """The id, which every table has."""
        column = self.column(Role.ID)
        assert column is not None
        return column

    @property
    def keeps_finished(self) -> bool:
        """Whether a finished row stays, marked; else it is deleted."""
        return self.has(Role.PROCESSED_AT) or self.has(Role.STATUS)

    @property
    def title(self) -> str:
        """`schema.name`, or the name alone."""
        return f"{self.schema}.{self.name}" if self.schema else self.name


@dataclass(frozen=True, slots=True)
class Output:
    """Where files go, relative to the description."""

    sql: str = "sql"
    python: str = "queues"
    docs: str = "docs/queues"
    runtime: str = "package"
    """`package`: modules import sqlclaimgen.runtime; `vendored`: a copy beside them."""


@dataclass(frozen=True, slots=True)
class Description:
    """A whole tables.toml."""

    path: Path
    """The file it was read from."""
    output: Output
    tables: tuple[Table, ...]
    warnings: tuple[Any, ...] = ()
    """Diagnostics of severity `warning`."""

    @property
    def source(self) -> str:
        """The file's name as generated headers show it, with no folder of this machine."""
        return self.path.name
