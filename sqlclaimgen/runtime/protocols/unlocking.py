"""Giving a key back, and what happens where the database does not confirm it."""

from __future__ import annotations

import logging

from sqlclaimgen.runtime.errors import FaultKind, StatementFailed
from sqlclaimgen.runtime.keys import KeyLock
from sqlclaimgen.runtime.protocols import key_failures, keyed
from sqlclaimgen.runtime.queue import Bound
from sqlclaimgen.runtime.steps import Close, Commit, Protocol

_log = logging.getLogger("sqlclaimgen")


def unlock(bound: Bound, lock: KeyLock) -> Protocol[None]:
    """Give a key back, in no transaction. Never fails: where it is not confirmed the connection is closed."""
    try:
        confirmed = yield from given_back(bound, lock)
        if confirmed and lock.session is not None:
            # outside autocommit the driver has begun a transaction for it
            yield Commit()
    except StatementFailed as error:
        if error.kind is not FaultKind.LOST:
            _log.warning("%s: closing the connection: %s", bound.queue.table, error)
        yield Close()
    except GeneratorExit:
        raise
    except BaseException:
        yield Close()
        raise
    else:
        if not confirmed:
            _log.warning(
                "%s: closing the connection: %s",
                bound.queue.table,
                key_failures.unconfirmed(bound, lock),
            )


def given_back(bound: Bound, lock: KeyLock) -> Protocol[bool]:
    """Whether the key was given back; where not, the connection has been closed."""
    if lock.session is None:
        yield from keyed.dropped(lock)
        return True
    named = {"lock": lock.name, "lock_name": lock.name}
    result = yield from bound.run("unlock", named)
    # NULL and 0: nobody, or somebody else, holds it
    if result.rows and result.rows[0][0] in (True, 1):
        return True
    yield Close()
    return False
