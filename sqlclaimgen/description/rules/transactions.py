"""Transactions: the keys that only some forms or some databases can follow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlclaimgen.description.model import Form

if TYPE_CHECKING:
    from sqlclaimgen.description.scope import Scope


def isolation(scope: Scope, form: Form, *, ordered: bool) -> str | None:
    """The level of row lock claims and of transactional handlers; None for READ COMMITTED. `ordered`:
    groups are FIFO, which has a refusal of its own."""
    level = scope.shape.isolation
    waits = [d for d in scope.dialects if not d.serializable_claims]
    if level == "serializable" and form is Form.ROW_LOCK and waits and not ordered:
        scope.error(
            "ISOLATION-LOCKS",
            f'`isolation` is "serializable", and {waits[0].serializable_claims.reason}',
            waits[0].serializable_claims.way_out,
            "isolation",
        )
    return None if level == "read committed" else level


def mode(scope: Scope) -> str | None:
    """How write transactions begin on SQLite."""
    # Only a database that locks the whole file has ways to begin that.
    served = any(not dialect.row_lock for dialect in scope.dialects)
    if scope.shape.mode is not None and not served:
        scope.error(
            "MODE-UNUSED",
            "`mode` is how SQLite begins a write transaction, and this table is not for SQLite",
            'Add "sqlite" to `dialects`, or leave `mode` out.',
            "mode",
        )
    return scope.shape.mode


def notify(scope: Scope) -> bool:
    """Whether an enqueue wakes the workers of other processes, on the databases that can."""
    if scope.shape.notify and not any(d.notify for d in scope.dialects):
        no = scope.dialects[0].notify
        scope.error(
            "NOTIFY-UNUSED",
            f"`notify` is set, and no database of this table serves it: {no.reason.rstrip('.')}",
            no.way_out,
            "notify",
        )
    return scope.shape.notify
