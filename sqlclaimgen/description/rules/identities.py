"""The id: every table has exactly one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlclaimgen.description.model import Role

if TYPE_CHECKING:
    from sqlclaimgen.description.scope import Scope


def check(scope: Scope) -> None:
    """Refuse a table without an id. (Two are refused where roles are given out.)"""
    if not scope.lacks(Role.ID):
        return
    likely = next(
        (c.name for c in scope.columns if c.role is None and c.name.lower() == "id"), None
    )
    likely = likely or next(
        (c.name for c in scope.columns if c.role is None and c.name.lower().endswith("_id")), None
    )
    scope.error(
        "ID-MISSING",
        f"table `{scope.key}` has no column of role `id`",
        f'Give column `{likely}` role = "id".'
        if likely
        else 'Add the column that identifies a row: id = { role = "id", type = "bigint", '
        "generated = true }.",
        "columns",
    )
