"""One transaction around the steps of a protocol."""

from __future__ import annotations

from typing import TypeVar

from sqlclaimgen.runtime.steps import Begin, Commit, Protocol, Rollback

T = TypeVar("T")


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


def joining(body: Protocol[T], *, joined: bool) -> Protocol[T]:
    """`body` in the transaction that is open already, or in one of its own."""
    if joined:
        return (yield from body)
    return (yield from in_transaction(body))
