"""Leases: the token that a lease's expiry is, and the clock it is computed from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlclaimgen.description.model import Form, Role

if TYPE_CHECKING:
    from sqlclaimgen.description.scope import Scope


def check(scope: Scope, form: Form) -> None:
    """Refuse a lease whose token would repeat (catalogue DD-07, DD-08)."""
    column = scope.column(Role.LOCKED_UNTIL)
    if form is not Form.LEASE or column is None or not scope.lacks(Role.ATTEMPT):
        return
    if column.type.precision != 6 and column.name not in scope.doubtful:
        scope.error(
            "LEASE-COARSE",
            f"column `{column.name}` is {column.type} and the table counts no attempts: "
            "two claims within a tick would hold the same token",
            'Write type = "timestamp(6)", or add a column of role `attempt`.',
            "columns",
            column.name,
            *(["type"] if scope.written(column).type else []),
        )
    if scope.shape.clock == "database":
        scope.error(
            "CLOCK",
            "the database's clock needs an attempt on a lease table: its times may repeat, and the "
            "expiry alone would be no token",
            'Add attempt = { role = "attempt" }, or leave `clock` out.',
            "clock",
        )
