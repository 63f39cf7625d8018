"""Sessions that die at a chosen step: killed on the server before it, or after it with the reply unread.

    with injected(Injector(database)) as injector:
        ... run a worker ...
    for strike in injector.strikes():           # every step of that run, before it and after it
        with injected(Injector(database, strike)):
            ... run a worker ...

It wraps the worker's own sessions, whatever the form and the face.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from unittest import mock

from sqlclaimgen.runtime.steps import Close, Result, Rollback, Run, Step
from sqlclaimgen.runtime.worker import lines
from sqlclaimgen.runtime.worker.core import Core
from sqlclaimgen.runtime.worker.opening import open_session
from sqlclaimgen.runtime.worker.sessions import AsyncSession
from tests.conformance.stepping import lost_connection
from tests.servers import Database


@dataclass(frozen=True)
class Strike:
    """Where to strike: at a statement, the how manieth time it comes (from 0), before it is carried
    out or after."""

    statement: str
    number: int
    after: bool

    def __str__(self) -> str:
        return f"{'after' if self.after else 'before'} {self.statement} {self.number}"


def name_of(step: Step) -> str:
    """A step's name: the statement's, or `begin`, `commit`."""
    return step.statement if isinstance(step, Run) else type(step).__name__.lower()


class Injector:
    """Counts the steps of every session of a worker and kills one session at one of them.

    `process`: the whole process dies there: no session sends anything any more, and each is killed.
    """

    def __init__(
        self,
        database: Database,
        strike: Strike | None = None,
        *,
        process: bool = False,
        on_strike: Callable[[], None] | None = None,
    ) -> None:
        self.database = database
        self.strike = strike
        self.steps: list[str] = []
        """What was sent, in its order over all sessions."""
        self.struck = False
        self.dead = False
        self._process = process
        self._on_strike = on_strike
        self._sessions: list[AsyncSession] = []

    def wrap(self, session: AsyncSession) -> AsyncSession:
        """Watch a session."""
        original = session.execute

        async def execute(step: Step) -> Result:
            if self.dead:
                raise lost_connection(session.connection)
            if isinstance(step, Rollback | Close):
                return await original(step)  # the answer of neither is waited for by anybody
            name = name_of(step)
            here = (name, self.steps.count(name))
            self.steps.append(name)
            strike = self.strike
            if strike is None or self.struck or here != (strike.statement, strike.number):
                return await original(step)
            if strike.after:
                await original(step)
            self.struck = True
            self._kill(session)
            if strike.after or self.dead:
                raise lost_connection(session.connection)
            return await original(step)

        session.execute = execute  # type: ignore[method-assign]
        self._sessions.append(session)
        return session

    def strikes(self) -> Iterator[Strike]:
        """A strike before and after every step that was sent."""
        for name, times in sorted(Counter(self.steps).items()):
            for number in range(times):
                yield Strike(name, number, after=False)
                yield Strike(name, number, after=True)

    def _kill(self, session: AsyncSession) -> None:
        doomed = [session]
        if self._process:
            self.dead = True
            doomed = self._sessions
        for one in doomed:
            if self.database.dialect == "sqlite":
                # to close it under a statement of its own thread would end this process, not that session
                one.submit(one.connection.close)
                continue
            with contextlib.suppress(LookupError):
                self.database.kill_session(self.database.session_id(one.connection))
        if self._on_strike is not None:
            self._on_strike()


@contextlib.contextmanager
def injected(injector: Injector) -> Iterator[Injector]:
    """Every session that a worker opens in this block is watched."""

    async def opened(*arguments: Any) -> AsyncSession:
        if injector.dead:
            raise ConnectionError("the process is dead")
        return injector.wrap(await open_session(*arguments))

    with mock.patch.object(lines, "open_session", opened):
        yield injector


@contextlib.contextmanager
def dying() -> Iterator[None]:
    """Inside the block a worker that was stopped twice is dead: it holds no row of a handler that runs on."""

    async def overrun(core: Core, engine: object) -> None:
        del core, engine

    with mock.patch.object(Core, "_overrun", overrun):
        yield
