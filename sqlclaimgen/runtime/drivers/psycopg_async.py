"""PostgreSQL through psycopg 3's asyncio connection."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row

from sqlclaimgen.runtime.drivers.base import carried
from sqlclaimgen.runtime.drivers.psycopg import (
    CHECK_CONSTRAINTS,
    encodings,
    fault,
    gone,
    opening,
    rows_with_text,
    shut,
)
from sqlclaimgen.runtime.errors import FaultKind
from sqlclaimgen.runtime.placeholders import pyformat
from sqlclaimgen.runtime.steps import (
    Begin,
    CheckConstraints,
    Close,
    Commit,
    DropKey,
    HoldKey,
    KeysInUse,
    Pause,
    ReleaseSavepoint,
    Result,
    Rollback,
    RollbackToSavepoint,
    Run,
    Savepoint,
    Step,
)


async def notified(connection: Any, seconds: float) -> bool:
    """Wait for notifications, at most so long: whether any came. Raises psycopg's errors."""
    return len([one async for one in connection.notifies(timeout=seconds, stop_after=1)]) > 0


class AsyncPsycopgSession:
    """A psycopg AsyncConnection: the caller's, or the worker's own."""

    dialect: str = "postgres"
    knows_transactions: bool = True
    always_in_transaction: str | None = None

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    async def prepare(self) -> None:
        """Set what the runtime relies on. Nothing stays behind on a server connection of a pooler."""
        self.connection.prepare_threshold = None
        if self.in_transaction:
            await self.connection.commit()  # `connect` has set something: a search_path, a role
        await self.connection.set_autocommit(True)

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        status = self.connection.info.transaction_status
        return bool(status not in (TransactionStatus.IDLE, TransactionStatus.UNKNOWN))

    def asked_in_transaction(self) -> bool:
        """The same: every answer tells."""
        return self.in_transaction

    @property
    def broken(self) -> bool:
        """Whether the open transaction can only be rolled back, or the connection is closed."""
        status = self.connection.info.transaction_status
        return bool(status in (TransactionStatus.INERROR, TransactionStatus.UNKNOWN))

    @property
    def aborted(self) -> bool:
        """Whether an error aborted the open transaction."""
        return bool(self.connection.info.transaction_status == TransactionStatus.INERROR)

    async def execute(self, step: Step) -> Result:
        """Carry out one step. Raises psycopg's own errors."""
        match step:
            case Run():
                return await self._run(step.sql, step.parameters)
            case Begin():
                level = step.isolation or "read committed"
                await self._run(opening(self.connection.autocommit, level), {})
            case Commit():
                await self.connection.commit()
            case Rollback():
                try:
                    await self.connection.rollback()
                except Exception:
                    await self.connection.close()
            case Savepoint(name):
                await self._run(f"SAVEPOINT {name}", {})
            case ReleaseSavepoint(name):
                await self._run(f"RELEASE SAVEPOINT {name}", {})
            case RollbackToSavepoint(name):
                await self._run(f"ROLLBACK TO SAVEPOINT {name}", {})
            case CheckConstraints():
                await self._run(CHECK_CONSTRAINTS, {})
            case Pause(seconds, _):
                await asyncio.sleep(seconds)
            case Close():
                await self.connection.close()
            case KeysInUse() | HoldKey() | DropKey():
                raise TypeError(f"{self.dialect} keeps its keys itself, not in this process")
        return Result()

    async def _run(self, sql: str, parameters: Mapping[str, Any]) -> Result:
        async with psycopg.AsyncCursor(self.connection, row_factory=tuple_row) as cursor:
            given = carried(parameters, *encodings(self.connection))
            await cursor.execute(pyformat(sql).encode(), given)
            described = cursor.description
            try:
                rows = await cursor.fetchall() if described is not None else ()
            except psycopg.DataError:
                rows = rows_with_text(cursor)
            return Result(rows, cursor.rowcount, described=described)

    def fault(self, error: BaseException) -> FaultKind | None:
        """What one of psycopg's errors means."""
        return fault(self.connection, error)

    def abort(self) -> None:
        """Break the connection at once."""
        shut(self.connection)

    @property
    def gone(self) -> bool:
        """Whether the server has closed the connection. Says nothing to it."""
        return gone(self.connection)

    async def close(self) -> None:
        """Close it."""
        await self.connection.close()
