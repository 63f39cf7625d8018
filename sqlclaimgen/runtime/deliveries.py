"""One row in one worker's hands."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Generic, TypeVar
from uuid import UUID

from sqlclaimgen.runtime.batches import Batch
from sqlclaimgen.runtime.codecs import Held
from sqlclaimgen.runtime.errors import RowInvalid
from sqlclaimgen.runtime.keys import KeyLock
from sqlclaimgen.runtime.queue import Bound
from sqlclaimgen.runtime.steps import Values
from sqlclaimgen.runtime.values import decoded

Row = TypeVar("Row")
Id = TypeVar("Id")


class Delivery(Generic[Row, Id]):
    """What every form's delivery has. Generated modules derive the table's own from the form's.

    `settled` is set once the outcome is written; `joined` with it when that was in the caller's
    transaction, which may still roll it back. `lost` is set when another holds the row, or may;
    `given_back` when the claim's block was left, or the row released, without an outcome. `worked`:
    a worker settles it with what its handler returns, over a connection of its own, and nobody else may.
    """

    __slots__ = (
        "__weakref__",
        "_attempt",
        "_bound",
        "_row",
        "_values",
        "connection",
        "given_back",
        "id",
        "joined",
        "lost",
        "settled",
        "started",
        "worked",
    )

    id: Id

    def __init__(self, bound: Bound, id: Id, attempt: int, values: Values) -> None:
        self.id = id
        self.lost = False
        self.settled = False
        self.started = False
        self.joined = False
        self.given_back = False
        self.worked = False
        self.connection: Any = None
        self._bound = bound
        self._attempt = attempt
        self._values = values
        self._row: list[Row] = []

    @property
    def row(self) -> Row:
        """The row as the claim returned it. Raises RowInvalid when it does not decode: the row stays
        claimed, and can be settled like any other."""
        if not self._row:
            queue = self._bound.queue
            name = ""
            try:
                fields: dict[str, Any] = {}
                for column, value in zip(queue.columns, self._values, strict=False):
                    name = column.field
                    fields[name] = decoded(self._bound.codec, column, value)
                name = ""
                self._row.append(queue.row(**fields))
            except Exception as error:
                where = f"'s {name}" if name else ""
                raise RowInvalid(
                    f"{queue.table} {self.id!r}: the row{where} does not decode: {error}. Mend the "
                    "row or the type. In a worker `on_invalid` decides meanwhile; by hand, settle the "
                    "delivery.",
                    table=queue.table,
                    id=self.id,
                    attempt=self._attempt,
                    statement="claim",
                ) from error
        return self._row[0]

    @property
    def bound(self) -> Bound:
        """The table and database this delivery belongs to."""
        return self._bound

    @property
    def raw(self) -> Values:
        """The row's values as the database spelled them."""
        return self._values

    @property
    def spelled(self) -> Any:
        """The id as the database spells it, by which statements name the row: a uuid in a column of
        text may be in capitals there."""
        queue = self._bound.queue
        raw = self._values[queue.index(queue.id_field)]
        return raw if isinstance(raw, str | int | UUID) else self.id

    @property
    def number(self) -> int:
        """Which delivery of its row this is, from 1; always 1 where the table counts nothing."""
        return self._attempt

    @property
    def live(self) -> bool:
        """Neither settled nor lost."""
        return not self.settled and not self.lost

    def __repr__(self) -> str:
        state = "settled" if self.settled else "lost" if self.lost else "in work"
        return f"<{self._bound.queue.table} {self.id!r}, attempt {self._attempt}, {state}>"


class LeaseDelivery(Delivery[Row, Id]):
    """A row held by the expiry written into it.

    `token` is that expiry. While the answer to an extension is not known, `sent` is the expiry that
    it would have written, and a fenced statement accepts either.
    """

    __slots__ = ("sent", "settling", "token")

    def __init__(self, bound: Bound, id: Id, attempt: int, values: Values, token: datetime) -> None:
        super().__init__(bound, id, attempt, values)
        self.token = token
        self.sent: datetime | None = None
        self.settling = False

    @property
    def live(self) -> bool:
        """Neither settled nor lost nor past its lease."""
        return super().live and not self.overdue

    @property
    def overdue(self) -> bool:
        """Past its lease: another claim may take the row at any moment, or has."""
        return self._bound.now() >= (self.sent or self.token)

    @property
    def held(self) -> Held:
        """What the row must still hold."""
        # `sent` first: an extension that is answered meanwhile moves it into the token
        sent = self.sent
        token = self.token
        return Held(self.spelled, token, sent or token, self._attempt + 1)


class RowLockDelivery(Delivery[Row, Id]):
    """A row held by the transaction that claimed it, on the connection that claimed it."""

    __slots__ = ("batch",)

    def __init__(self, bound: Bound, id: Id, attempt: int, values: Values, batch: Batch) -> None:
        super().__init__(bound, id, attempt, values)
        self.batch = batch


class AdvisoryDelivery(Delivery[Row, Id]):
    """A row held by a session lock on its key, on the connection that claimed it.

    `key` is the key; `lock` what is held for it, None once it was given back.
    """

    __slots__ = ("key", "lock", "opened")

    def __init__(self, bound: Bound, id: Id, attempt: int, values: Values, lock: KeyLock) -> None:
        super().__init__(bound, id, attempt, values)
        self.key = lock.key
        self.lock: KeyLock | None = lock
        self.opened = False
