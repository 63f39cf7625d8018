"""Protocols one step at a time: stop one before its COMMIT, kill its session there, interleave two.

claim = Stepper(connection, stand.module.QUEUE, lambda bound: lease.claim(bound, scope, 10))
claim.stop_before(Commit)            # the transaction is open, every lock is held
...
taken = claim.finish()
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from sqlclaimgen.runtime.driving import failure, session_of
from sqlclaimgen.runtime.steps import Protocol, Result, Run, Step


class Stepper:
    """One protocol on one connection; `next` is the step that has not been carried out yet."""

    def __init__(
        self, connection: Any, queue: Any, protocol: Callable[[Any], Protocol[Any]]
    ) -> None:
        self.connection = connection
        self.table = queue.table
        self.session = session_of(connection, table=queue.table)
        self.bound = queue.bind(self.session.dialect)
        self.done = False
        self.value: Any = None
        self.next: Step | None = None
        self.steps: list[Step] = []
        """The steps that were carried out."""
        self._protocol = protocol(self.bound)
        self._advance(lambda: next(self._protocol))

    def step(self) -> Result | None:
        """Carry out the next step. Returns what it brought, None when it failed (the protocol was told)."""
        step = self.next
        assert step is not None, "the protocol is over"
        self.steps.append(step)
        try:
            result = self.session.execute(step)
        except BaseException as caught:
            self.fail(step, caught)
            return None
        self._advance(lambda: self._protocol.send(result))
        return result

    def fail(self, step: Step, caught: BaseException) -> None:
        """Tell the protocol that `step` failed with a driver's error."""
        kind = self.session.fault(caught)
        error = caught if kind is None else failure(self.table, step, caught, kind)
        if error is not caught:
            error.__cause__ = caught
        self._advance(lambda: self._protocol.throw(error))

    def skip(self) -> None:
        """Let the protocol believe that the next step was carried out; nothing is sent."""
        self._advance(lambda: self._protocol.send(Result(count=1)))

    def swallow(self) -> None:
        """Carry out the next step and lose its answer: the protocol hears that the connection is gone."""
        step = self.next
        assert step is not None, "the protocol is over"
        self.session.execute(step)
        self.connection.close()
        self.fail(step, lost_connection(self.connection))

    def stop_before(self, *what: type[Step] | str) -> Step:
        """Go on until the next step is of one of these kinds, or runs a statement of this name."""
        while self.next is not None:
            for one in what:
                if isinstance(one, str):
                    if isinstance(self.next, Run) and self.next.statement == one:
                        return self.next
                elif isinstance(self.next, one):
                    return self.next
            self.step()
        raise AssertionError(f"the protocol ended before {what}: {self.steps}")

    def finish(self) -> Any:
        """Go on to the end; returns the protocol's value, or raises what it raises."""
        while not self.done:
            self.step()
        return self.value

    def abandon(self) -> None:
        """Drop the protocol where it stands, as a process that dies does: nothing more is sent."""
        self._protocol.close()
        self.done, self.next = True, None

    def _advance(self, resume: Callable[[], Step]) -> None:
        try:
            self.next = resume()
        except StopIteration as stop:
            self.done, self.next, self.value = True, None, stop.value
        except BaseException:
            self.done, self.next = True, None
            raise


def lost_connection(connection: Any) -> BaseException:
    """The error of the connection's driver for a connection that is gone."""
    module = type(connection).__module__.partition(".")[0]
    if module == "psycopg":
        import psycopg

        return psycopg.OperationalError("server closed the connection unexpectedly")
    if module == "pymysql":
        import pymysql

        return pymysql.err.OperationalError(2013, "Lost connection to MySQL server during query")
    import sqlite3

    return sqlite3.ProgrammingError("Cannot operate on a closed database.")


def interleavings(first: int, second: int) -> Iterator[Sequence[int]]:
    """Every order of `first` steps of protocol 0 with `second` steps of protocol 1."""
    total = first + second
    for places in itertools.combinations(range(total), first):
        yield [0 if n in places else 1 for n in range(total)]
