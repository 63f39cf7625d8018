"""Calling a team's `connect`, and telling a mistake in it from a server that is away."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import time
from collections.abc import Callable, Generator
from typing import Any

from sqlclaimgen.runtime.drivers.opening import from_driver, installation
from sqlclaimgen.runtime.errors import ClaimError, FaultKind, StatementFailed
from sqlclaimgen.runtime.worker.settings import Settings

CONNECT = "connect"
"""What StatementFailed calls the statement when no connection could be opened."""


class Connector:
    """`connect`, for all connections of one run.

    `in_loop`: whether handlers run in the team's event loop. `give_up` is called in the worker's loop
    when waiting will not help; `fatal` says why. With `until_empty` a run that has had no connection
    gives up as well, once it has tried for `max_backoff` seconds.
    """

    def __init__(
        self,
        table: str,
        connect: Callable[[], Any],
        settings: Settings,
        give_up: Callable[[], None],
        *,
        in_loop: bool,
        until_empty: bool,
    ) -> None:
        self._table = table
        self._connect = connect
        self._settings = settings
        self._give_up = give_up
        self._in_loop = in_loop
        self._until_empty = until_empty
        self._loop = asyncio.get_running_loop()
        self._began = time.monotonic()
        self._had = False
        self.connected = asyncio.Event()
        """`connect` has given a connection."""
        self.fatal: ClaimError | None = None
        """What ends the run."""

    def __call__(self) -> Any:
        """A connection, or something to await for one. Raises ClaimError for one that the handler could
        not be given, and for a mistake in `connect` before it has ever given one."""
        try:
            connection = self._connect()
        except Exception as error:
            self.judge(error)
            raise
        awaitable = inspect.isawaitable(connection)
        if self._settings.transactional and awaitable is not self._in_loop:
            raise self._misfit(connection)
        if awaitable:
            return _Opening(self, connection)
        self.gave()
        return connection

    def gave(self) -> None:
        """Take note of a connection. From any thread."""
        if not self._had:
            self._had = True
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self.connected.set)

    def judge(self, error: Exception) -> None:
        """Raise ClaimError for an error that no wait will mend. What happens later to a `connect` that
        has worked is waited for, whatever it is: it must not end a service that runs."""
        if self._had or isinstance(error, ClaimError | OSError) or from_driver(error):
            return
        command = installation(error)
        way_out = f"Install the driver: {command}" if command else "Mend it, and run again"
        raise ClaimError(
            f"{self._table}: `connect` raised {error!r}, which no server that is away explains. "
            f"{way_out}.",
            table=self._table,
            statement=CONNECT,
        ) from error

    def failed(self, error: Exception) -> None:
        """Take note that no connection could be opened. In the worker's loop."""
        if isinstance(error, ClaimError):
            self._end(error)
            return
        seconds = time.monotonic() - self._began
        if not self._until_empty or self._had or seconds < self._settings.max_backoff:
            return
        given_up = StatementFailed(
            f"{self._table}: no connection in the {seconds:.1f} seconds since this run until empty began: "
            f"{error!r}. See that the server runs and what `connect` is told of it, or set `max_backoff` "
            "higher to wait longer.",
            table=self._table,
            kind=FaultKind.LOST,
            statement=CONNECT,
        )
        given_up.__cause__ = error
        self._end(given_up)

    def _end(self, error: ClaimError) -> None:
        self.fatal = self.fatal or error
        self._give_up()

    def _misfit(self, connection: Any) -> ClaimError:
        """Why a transactional handler cannot be given a connection, which is closed."""
        if inspect.isawaitable(connection):
            if inspect.iscoroutine(connection):
                connection.close()
            return ClaimError(
                f"{self._table}: a transactional handler that is plain needs a connection that "
                "blocks, and `connect` gave one of asyncio. Give it psycopg.connect, or make the "
                "handler `async`.",
                table=self._table,
            )
        kind = f"{type(connection).__module__}.{type(connection).__qualname__}"
        with contextlib.suppress(Exception):  # it may be no connection at all
            connection.close()
        return ClaimError(
            f"{self._table}: a transactional handler that is `async` needs a connection of asyncio, "
            f"and `connect` gave a {kind}, which blocks and belongs to a thread of the worker's. Give "
            "`connect` something to await (psycopg.AsyncConnection.connect), or make the handler plain: "
            "an AsyncWorker runs it on that thread.",
            table=self._table,
        )


class _Opening:
    """What `connect` gave to await for a connection. Dropped before, it is closed like a coroutine."""

    def __init__(self, connector: Connector, awaitable: Any) -> None:
        self._connector = connector
        self._awaitable = awaitable

    def __await__(self) -> Generator[Any, None, Any]:
        try:
            steps: Generator[Any, None, Any] = self._awaitable.__await__()
            connection = yield from steps
        except Exception as error:
            self._connector.judge(error)
            raise
        self._connector.gave()
        return connection

    def close(self) -> None:
        if inspect.iscoroutine(self._awaitable):
            self._awaitable.close()
