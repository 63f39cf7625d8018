"""One transaction around the steps of a protocol."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TypeVar

from sqlclaimgen.runtime.errors import FaultKind, StatementFailed
from sqlclaimgen.runtime.steps import Begin, Commit, Pause, Protocol, Rollback

T = TypeVar("T")

TRIES = 10
"""How often a transaction is tried that others are preferred to."""


def in_transaction(body: Protocol[T], *, isolation: str | None = None) -> Protocol[T]:
    """Begin, run `body`, commit; roll back and raise when anything fails on the way."""
    yield Begin(isolation)
    try:
        value = yield from body
        yield Commit()
    except GeneratorExit:
        raise
    except BaseException:
        yield Rollback()
        raise
    return value


def joining(body: Callable[[], Protocol[T]], *, joined: bool) -> Protocol[T]:
    """`body` in the transaction that is open already, or in one of its own, as often as it takes."""
    if joined:
        return (yield from body())
    return (yield from again(lambda: in_transaction(body())))


def again(whole: Callable[[], Protocol[T]]) -> Protocol[T]:
    """`whole`, which begins and ends its transaction itself, and once more after a short random wait when
    that was undone in favour of another one: TRIES times at most."""
    for tried in range(1, TRIES):
        try:
            return (yield from whole())
        except StatementFailed as error:
            if error.kind is not FaultKind.CONFLICT:
                raise
            conflict = error
        yield Pause(jitter(tried), conflict)
    return (yield from whole())


def jitter(tried: int) -> float:
    """Seconds to wait after so many conflicts: random, so that two that met do not meet again."""
    return random.uniform(0, min(0.005 * 2**tried, 0.1))
