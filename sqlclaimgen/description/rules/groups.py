"""Groups: their order (`fifo`), and which claims the table has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlclaimgen.description.model import INTEGERS, Form, Role

if TYPE_CHECKING:
    from sqlclaimgen.description.scope import Scope


def fifo(scope: Scope, form: Form) -> str | None:
    """`strict`, `due` or None, as the group column says."""
    for name, shape in scope.shape.columns.items():
        if shape.fifo is None or scope.findings.is_broken(scope.path("columns", name, "role")):
            continue
        if shape.role != Role.GROUP:
            scope.error(
                "FIFO-PLACE",
                f"column `{name}` has `fifo` and is not the group column",
                "Order is kept within a group: set `fifo` on the column of role `group`.",
                "columns",
                name,
                "fifo",
            )
    group = scope.column(Role.GROUP)
    written = scope.written(group).fifo if group else None
    if group is None or not written:
        return None
    at = ("columns", group.name, "fifo")
    if form is Form.ADVISORY_LOCK:
        scope.error(
            "FIFO-ADVISORY",
            "the advisory lock form keeps no order",
            f"Put the group into the key, {{{group.name}}}: one row of it is then in work at a "
            "time, in no order. Or take the lease form.",
            *at,
        )
    if scope.shape.isolation not in (None, "read committed"):
        scope.error(
            "FIFO-ISOLATION",
            f"FIFO groups do not work at {scope.shape.isolation}: the claim has to see what the "
            "guard waited for",
            "Leave `isolation` out: READ COMMITTED is the default.",
            "isolation",
        )
    id_ = scope.column(Role.ID)
    if id_ and id_.type.kind not in INTEGERS and id_.name not in scope.doubtful:
        scope.warning(
            "FIFO-ORDER",
            f"rows of a group are in order of their id where priority and time are equal, and "
            f"{id_.type} ids say nothing of when a row came",
            "Use an integer id with generated = true, or ids that grow with time (UUIDv7).",
            *at,
        )
    return "due" if written == "due" else "strict"


def claims(scope: Scope) -> tuple[str, ...]:
    """The claims of the table: `group`, `table` or both, in this order."""
    group = scope.column(Role.GROUP)
    written = scope.shape.claims
    if written is None:
        return ("group",) if group else ("table",)
    if not written:
        scope.error(
            "CLAIMS",
            f"table `{scope.key}` would have no claim",
            'Write claims = ["table"], ["group"] or both, or leave it out.',
            "claims",
        )
    for n, name in enumerate(written):
        if name in written[:n]:
            scope.error("CLAIMS", f'"{name}" is there twice', "Name each once.", "claims", n)
        elif name == "group" and scope.lacks(Role.GROUP):
            scope.error(
                "CLAIMS",
                f"table `{scope.key}` has no group to claim",
                'Give a column role = "group", or write claims = ["table"].',
                "claims",
                n,
            )
    return tuple(name for name in ("group", "table") if name in written) or ("table",)
