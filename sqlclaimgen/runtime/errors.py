"""Everything the runtime raises: one root, fields before text."""

from __future__ import annotations

from enum import StrEnum
from typing import Any


class ClaimError(Exception):
    """Root of everything the runtime raises.

    `table`, `id`, `attempt` and `statement` say where it happened; they are None or empty where the
    error concerns no row or no statement.
    """

    def __init__(
        self,
        text: str,
        *,
        table: str,
        id: object = None,
        attempt: int | None = None,
        statement: str = "",
    ) -> None:
        super().__init__(text)
        self.table = table
        self.id = id
        self.attempt = attempt
        self.statement = statement

    def __reduce__(self) -> tuple[Any, ...]:
        # the arguments after the text are by keyword, which the default leaves out
        return _again, (type(self), self.args), dict(self.__dict__)


def _again(kind: type[ClaimError], args: tuple[object, ...]) -> ClaimError:
    return kind.__new__(kind, *args)


class LeaseLost(ClaimError):
    """The row no longer holds this delivery's token: another claim has it, or it is settled."""


class ClaimLost(ClaimError):
    """The session that held the row is gone, and with it the row lock or the key's lock."""


class SettlementUnknown(ClaimError):
    """The server gave no answer to a COMMIT, and nothing found afterwards tells whether it counted."""


class BatchRolledBack(ClaimError):
    """Another settlement of this batch failed, so the whole batch was rolled back; the row is due."""


class TransactionOpen(ClaimError):
    """The call commits at once, so it refuses a connection with work of the caller's open on it."""


class WrongConnection(ClaimError):
    """This delivery is held by another connection, and only that one can settle it."""


class ConnectionBusy(ClaimError):
    """The connection holds a delivery of the advisory lock form, and holds one at a time."""


class WriteIgnored(ClaimError):
    """A settlement wrote nothing, without an error, and the row still stands as it was under this
    delivery: a trigger or a rule cancels the write. It is no lost row."""


class AlreadySettled(ClaimError):
    """The delivery has its outcome already."""


class UnsupportedServer(ClaimError):
    """The table was not generated for the database behind this connection."""


class ServerTooOld(ClaimError):
    """The server is older than the oldest version the statements were written for."""


class SchemaMismatch(ClaimError):
    """A generated statement does not fit the live table. `column` names the column where it is known."""

    def __init__(self, text: str, *, table: str, statement: str, column: str | None = None) -> None:
        super().__init__(text, table=table, statement=statement)
        self.column = column


class ServerUnfit(ClaimError):
    """The server, or a pooler before it, is set up so that the table's form cannot keep its promise.
    `setting` is what to change, as the server calls it."""

    def __init__(self, text: str, *, table: str, setting: str) -> None:
        super().__init__(text, table=table)
        self.setting = setting


class ClocksApart(ClaimError):
    """This host's clock and the database's differ by more than a quarter of the lease. `seconds` is
    by how much this host's is behind."""

    def __init__(self, text: str, *, table: str, seconds: float) -> None:
        super().__init__(text, table=table)
        self.seconds = seconds


class CommitRefused(ClaimError):
    """A transactional handler's transaction is not its own to end: it tried, or it is over."""


class RowInvalid(ClaimError):
    """A claimed row does not decode into its declared types. The row stays claimed: a worker does with it
    what its `on_invalid` says, and by hand it is settled like any other."""


class AlreadyQueued(ClaimError):
    """A row with the same dedupe key is queued already. `key` is that key, None where a dead letter came
    back."""

    def __init__(
        self, text: str, *, table: str, id: object = None, statement: str = "", key: object = None
    ) -> None:
        super().__init__(text, table=table, id=id, statement=statement)
        self.key = key


class ValueRefused(ClaimError, ValueError):
    """A value of a row to enqueue cannot be stored, or not read again. `column` names its field."""

    def __init__(self, text: str, *, table: str, column: str) -> None:
        super().__init__(text, table=table, statement="enqueue")
        self.column = column


class FormatUnknown(ClaimError):
    """The module was generated in a format that this runtime does not know."""


class Closed(ClaimError):
    """The worker or the claim's block has been left."""


class FaultKind(StrEnum):
    """What a failed statement means for the one who ran it."""

    LOST = "lost"
    """The connection is gone, and every lock with it."""
    CONFLICT = "conflict"
    """A deadlock or a serialization failure: the transaction was undone in favour of another one, and
    goes through when it is run again."""
    BUSY = "busy"
    """A lock wait or a statement ran into its limit, a statement was cancelled, a file is busy: try again
    later."""
    UNIQUE = "unique"
    """A unique index refused the row."""
    ABORTED = "aborted"
    """An earlier error aborted the transaction, which can only be rolled back (PostgreSQL)."""
    ROW = "row"
    """Something about one row: a constraint, a trigger, a value that does not fit or cannot be sent. It
    says nothing of other rows, of the connection or the server."""
    REFUSED = "refused"
    """Anything else the server said no to."""

    @property
    def passes(self) -> bool:
        """Whether the same may go through when it is tried again, over the same connection."""
        return self in (FaultKind.CONFLICT, FaultKind.BUSY)

    @property
    def of_a_row(self) -> bool:
        """Whether it concerns one row, and says nothing of others."""
        return self in (FaultKind.ROW, FaultKind.UNIQUE)


class StatementFailed(ClaimError):
    """The database refused a statement or did not answer. The driver's own error is the cause."""

    def __init__(
        self, text: str, *, table: str, kind: FaultKind, id: object = None, statement: str = ""
    ) -> None:
        super().__init__(text, table=table, id=id, statement=statement)
        self.kind = kind
        self.unanswered: object = None
        """What a claim had taken when its COMMIT got no answer: it may hold the rows."""

    def __reduce__(self) -> tuple[Any, ...]:
        again, made_of, state = super().__reduce__()
        return again, made_of, {**state, "unanswered": None}  # deliveries belong to their process


class IdNotUnique(StatementFailed):
    """A statement took or wrote more rows than it was given ids, and its transaction was rolled back."""
