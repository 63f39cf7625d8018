"""A transaction on the caller's asyncio connection."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator

from sqlclaimgen.runtime import blocks
from sqlclaimgen.runtime.connections import AsyncPostgresConnection
from sqlclaimgen.runtime.driving_async import async_session_of, drive_async


@contextlib.asynccontextmanager
async def transaction_async(conn: AsyncPostgresConnection) -> AsyncGenerator[None, None]:
    """Commit when the block ends, roll back when it raises or its task is cancelled. As `transaction`
    otherwise, with the same errors."""
    session = async_session_of(conn, table="transaction")
    block = blocks.of(session)
    await drive_async(session, block.enter(), table=block.table, cancelled=lambda _: block.undo())
    try:
        yield
    except BaseException:
        await drive_async(session, block.undo(), table=block.table, to_its_end=True)
        raise
    await drive_async(session, block.leave(), table=block.table)
