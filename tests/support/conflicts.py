"""Real conflicts at a chosen step: the server raises the error, and the transaction is undone."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

from sqlclaimgen.runtime.drivers.base import Session
from sqlclaimgen.runtime.drivers.psycopg import PsycopgSession
from sqlclaimgen.runtime.steps import Result, Step
from tests.worker.support.injecting import name_of

DIALECTS = ("postgres", "mysql", "mariadb")

_SIGNAL = "SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'Deadlock found'"
RAISES = {
    "postgres": "DO $$ BEGIN RAISE EXCEPTION 'conflict' USING ERRCODE = '40001'; END $$",
    "mysql": _SIGNAL,
    "mariadb": _SIGNAL,
}
"""A statement that ends as one that met a conflict."""


class Conflicts:
    """The steps at which transactions are still to be undone, and how often they were."""

    def __init__(self, name: str, times: int) -> None:
        self.name = name
        self.left = times
        self.met = 0


@contextlib.contextmanager
def conflicting(name: str, times: int) -> Iterator[Conflicts]:
    """Every blocking connection meets a conflict at the step `name`, so many times in all."""
    conflicts = Conflicts(name, times)
    with contextlib.ExitStack() as patched:
        for kind in (Session, PsycopgSession):
            original: Any = kind.execute

            def execute(self: Session, step: Step, original: Any = original) -> Result:
                if conflicts.left and name_of(step) == name:
                    conflicts.left -= 1
                    conflicts.met += 1
                    if self.dialect != "postgres":
                        self.connection.rollback()  # InnoDB undoes the whole transaction
                    return self.run(RAISES[self.dialect], {})
                found: Result = original(self, step)
                return found

            patched.enter_context(mock.patch.object(kind, "execute", execute))
        yield conflicts
