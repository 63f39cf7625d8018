"""A table as the runtime sees it: what the generated module says of it, bound to one database."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

from sqlclaimgen.runtime.backoff import RetryPolicy
from sqlclaimgen.runtime.clock import Reading, utcnow
from sqlclaimgen.runtime.codecs import CODECS, Codec
from sqlclaimgen.runtime.errors import FormatUnknown, UnsupportedServer
from sqlclaimgen.runtime.steps import Protocol, Result, Run

FORMAT = 1
"""The format of generated modules that this runtime knows."""

D = TypeVar("D")
O = TypeVar("O")
N = TypeVar("N")
I = TypeVar("I")


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a Row or a New."""

    field: str
    kind: str
    """The description's word for its type: `bigint`, `timestamp(6)`, `json`."""
    python: Callable[..., Any] | None = None
    """The team's own type for what it holds."""


@dataclass(frozen=True, slots=True)
class Relation:
    """A table of the database as the description has it, to compare with the live one."""

    name: str
    columns: Mapping[str, str]
    """Each column's kind, by its name in the database."""
    schema: str | None = None
    id: str = "id"
    times: Sequence[str] = ()
    """The columns whose times claims and settlements write."""

    @property
    def title(self) -> str:
        """`schema.name`, or the name alone."""
        return f"{self.schema}.{self.name}" if self.schema else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue(Generic[D, O, N, I]):
    """One work table. Generated modules make it; workers and the functions here take it.

    `D` is the table's delivery, `O` what a handler may return, `N` a row to enqueue, `I` the id.
    Raises FormatUnknown when the module was generated in another format.
    """

    format: int
    table: str
    """As `schema.name`, for people."""
    form: str
    delivery: type[D]
    outcomes: tuple[type[O], ...]
    id_type: type[I]
    row: type[Any]
    """The table's Row, made from its fields by keyword."""
    new: type[N]
    """The table's New."""
    columns: Sequence[Column]
    """The columns of a Row, in the order in which claims return them."""
    id_field: str
    order: Sequence[str]
    """The fields of the claim order."""
    enqueued: Sequence[Column]
    """What a New has; each fills the parameter of `enqueue` that is called like its field."""
    statements: Mapping[str, Mapping[str, str]]
    """By dialect, then by name."""
    lease: timedelta | None = None
    token_precision: int = 6
    """Fraction digits of the column that holds the expiry."""
    counts_attempts: bool = False
    max_attempts: int | None = None
    retry: RetryPolicy | None = None
    """When a row whose handler failed is due again; None: now."""
    partition: str | None = None
    """The field whose rows run in order on one worker, value by value."""
    retry_after: Column | None = None
    error_length: int | None = None
    """Characters that the column of the last error holds; None: as many as are kept of any."""
    letter_length: int | None = None
    """The same for the error of a dead letter, where that column takes it."""
    group: Column | None = None
    fifo: str | None = None
    """None, `strict` or `due`."""
    dedupe_field: str | None = None
    dedupe_index: str | None = None
    """The index that refuses a second row with the same dedupe key."""
    dead_group: Any = None
    """The group that holds dead letters, where they are rows of the same table."""
    channel: str | None = None
    """The channel that a committed enqueue notifies (PostgreSQL)."""
    isolation: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What only one form or feature needs; each protocol names the keys it reads."""
    work: Relation | None = None
    """The work table; None: the live one is not looked at."""
    dead: Relation | None = None
    """The table of the dead letters, where they have one."""
    database_clock: bool = False
    """Whether times are the database's: its clock is read and counted on from, in place of `clock`."""
    reading: Reading | None = None
    """Shared by what is bound to one database, as a worker's connections are; else each has its own."""
    clock: Callable[[], datetime] = utcnow

    def __post_init__(self) -> None:
        if self.format != FORMAT:
            raise FormatUnknown(
                f"{self.table}: the module was generated in format {self.format}, and this runtime "
                f"knows format {FORMAT}. Run `sqlclaimgen build` with the version that is installed.",
                table=self.table,
            )

    def index(self, field: str) -> int:
        """Where a field stands in `columns`."""
        return next(n for n, column in enumerate(self.columns) if column.field == field)

    @property
    def id_kind(self) -> str:
        """The kind of the id column."""
        return self.columns[self.index(self.id_field)].kind

    @property
    def holds_nul(self) -> bool:
        """Whether every database of the table takes text with a NUL character."""
        return all(CODECS[dialect].holds_nul for dialect in self.statements)

    def bind(self, dialect: str) -> Bound:
        """The table on one database. Raises UnsupportedServer when it was not generated for it."""
        if dialect not in self.statements:
            raise UnsupportedServer(
                f"{self.table} was generated for {', '.join(self.statements)}, and this connection "
                f"leads to {dialect}. Add it to `dialects` in the description and build again.",
                table=self.table,
            )
        reading = self.reading or Reading()
        return Bound(self, CODECS[dialect], self.statements[dialect], reading)


@dataclass(frozen=True, slots=True)
class Bound:
    """A queue's statements on one database, with the codec that fits its driver."""

    queue: Queue[Any, Any, Any, Any]
    codec: Codec
    statements: Mapping[str, str]
    reading: Reading = field(compare=False)

    def has(self, statement: str) -> bool:
        """Whether the table has a statement of this name on this database."""
        return statement in self.statements

    def run(
        self, statement: str, parameters: Mapping[str, Any], *, row: Any = None
    ) -> Protocol[Result]:
        """Run one statement, with parameters already encoded. `row` is the id concerned, for errors."""
        return (yield Run(statement, self.statements[statement], parameters, row))

    def id(self, value: Any) -> Any:
        """An id as the driver takes it."""
        return self.codec.encode(self.queue.id_kind, value)

    @property
    def needs_reading(self) -> bool:
        """Whether the database's clock has to be read before `now` can tell its time. One that runs in this
        process has this host's clock, and tells fewer digits of it."""
        return self.queue.database_clock and not self.codec.in_process and not self.reading.fresh

    def now(self) -> datetime:
        """The time, read once per claim or settlement and passed in: the host's, or the database's
        where the table asks for it."""
        if not self.queue.database_clock:
            return self.queue.clock()
        return utcnow() if self.codec.in_process else self.reading.now or self.queue.clock()

    def earliest(self) -> datetime:
        """The earliest that it can be now, for what is due at once: a reading of the database's clock that
        was off would put it into the future, where the next claim does not find it."""
        if not self.queue.database_clock or self.codec.in_process:
            return self.now()
        return self.reading.earliest or self.queue.clock()
