"""A change of many rows of which the database may refuse some: those stay, the others are changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from sqlclaimgen.runtime.errors import FaultKind, StatementFailed
from sqlclaimgen.runtime.steps import (
    Protocol,
    ReleaseSavepoint,
    RollbackToSavepoint,
    Savepoint,
)

REFUSALS = (FaultKind.ROW, FaultKind.REFUSED, FaultKind.UNIQUE)
"""What the database says of a row, and says again; the rest is tried again as a whole."""

_SAVEPOINT = "sqlclaimgen_piece"

Change: TypeAlias = Callable[[Sequence[Any]], Protocol[None]]


@dataclass(frozen=True, slots=True)
class Kept:
    """A row that stays as it is, for the database refuses to change it."""

    id: Any
    error: str
    """What the database said."""


def changed(
    ids: Sequence[Any], change: Change, probe: Callable[[], Protocol[Any]]
) -> Protocol[dict[Any, StatementFailed]]:
    """Run `change` for these rows, in a savepoint of the open transaction; where it is refused, for each
    half of them. Returns the rows for which it is refused alone, with the errors.

    `probe` runs the statement for no row, before the first half. What is refused then is not the rows'
    fault, and is raised.
    """
    refusal = yield from _tried(change(ids))
    if refusal is None:
        return {}
    yield from probe()
    return (yield from _halved(ids, change, refusal))


def words(error: StatementFailed) -> str:
    """What the database said, in one line."""
    return " ".join(str(error.__cause__ or error).split())


def _halved(
    ids: Sequence[Any], change: Change, refusal: StatementFailed
) -> Protocol[dict[Any, StatementFailed]]:
    if len(ids) == 1:
        return {ids[0]: refusal}
    refused: dict[Any, StatementFailed] = {}
    middle = len(ids) // 2
    for half in (ids[:middle], ids[middle:]):
        again = yield from _tried(change(half))
        if again is not None:
            refused |= yield from _halved(half, change, again)
    return refused


def _tried(body: Protocol[None]) -> Protocol[StatementFailed | None]:
    yield Savepoint(_SAVEPOINT)
    try:
        yield from body
    except StatementFailed as error:
        if error.kind not in REFUSALS:
            raise
        yield RollbackToSavepoint(_SAVEPOINT)
        yield ReleaseSavepoint(_SAVEPOINT)
        return error
    yield ReleaseSavepoint(_SAVEPOINT)
    return None
