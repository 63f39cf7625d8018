"""Transactional handlers whose transaction was undone in favour of another one: they run again."""

from __future__ import annotations

from sqlclaimgen.runtime.errors import FaultKind, StatementFailed
from sqlclaimgen.runtime.worker.sessions import AsyncSession

RUNS = 5
"""How often a handler runs before a conflict is its failure, and spends an attempt."""


def conflict_of(session: AsyncSession, error: BaseException) -> BaseException | None:
    """The conflict that an error is, or was raised from; None: it is about something else."""
    found: BaseException | None = error
    seen: set[int] = set()
    while found is not None and id(found) not in seen:
        seen.add(id(found))
        kind = found.kind if isinstance(found, StatementFailed) else session.fault(found)
        if kind is FaultKind.CONFLICT:
            return found
        found = found.__cause__ or found.__context__
    return None
