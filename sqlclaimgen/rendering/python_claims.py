"""The functions of a module that claim and that look after the table, and what is said of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlclaimgen.description.model import Form, Role
from sqlclaimgen.dialects import DIALECTS
from sqlclaimgen.statements.planning import scopes, suffix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlclaimgen.description.model import Table
    from sqlclaimgen.statements import Plan

_SETTLES = "Settling joins the transaction open on ``conn``, or commits its own."
JOINS = {
    Form.LEASE: _SETTLES,
    Form.ROW_LOCK: "Settling is part of the claim's transaction: leaving its block commits.",
    Form.ADVISORY_LOCK: _SETTLES,
}
LOST = {
    Form.LEASE: "Every settlement raises LeaseLost when the row no longer holds its token.",
    Form.ROW_LOCK: "Every settlement raises ClaimLost when the claim's transaction is gone.",
    Form.ADVISORY_LOCK: "Every settlement raises ClaimLost when the key's lock is gone.",
}
_HOW = {
    Form.LEASE: "The claim commits at once; the rows are held by the expiry in them.",
    Form.ROW_LOCK: "The rows are held by a transaction open until the block is left.",
    Form.ADVISORY_LOCK: "The row is held by a lock on its key until the block is left.",
}
_BY_KEY = (
    "Rows with the same key are in work one at a time, of this table or another.",
    "Raises ConnectionBusy when ``conn`` holds another delivery by its key.",
)
_FIFO = {
    "strict": (
        "FIFO: nothing of a group while a row of it is in work, and a head that is not",
        "due holds its group.",
    ),
    "due": (
        "FIFO: nothing of a group while a row of it is in work. A row that is not due lets",
        "the others pass.",
    ),
}


def faces(*, asynchronous: bool) -> list[dict[str, str]]:
    """How the functions of a module are written: blocking, and over asyncio where that is served."""
    blocking = {"def": "def", "end": "", "await": "", "connection": "Connection", "claim": "Claim"}
    over_asyncio = {
        "def": "async def",
        "end": "_async",
        "await": "await ",
        "connection": "AsyncConnection",
        "claim": "AsyncClaim",
    }
    return [blocking, over_asyncio] if asynchronous else [blocking]


def _by_key(table: Table) -> list[str]:
    """What is said of a claim by key."""
    if table.form is not Form.ADVISORY_LOCK:
        return []
    databases = (DIALECTS[name] for name in table.dialects)
    return [*_BY_KEY, *(line for database in databases for line in database.keys_in_process)]


def claims(table: Table) -> list[dict[str, Any]]:
    """The claim functions, one for each scope, as the template writes them."""
    made: list[dict[str, Any]] = []
    limited = table.form is not Form.ADVISORY_LOCK
    many = "up to ``limit`` due rows" if limited else "a due row"
    for scope in scopes(table):
        grouped = table.has(Role.GROUP)
        takes = {"group": f"{many} of one group", "ungrouped": f"{many} that have no group"}
        ordered = bool(table.fifo) and scope != "ungrouped"
        if ordered:
            takes = {
                "group": "the head of one group",
                "table": "the heads of up to ``limit`` groups",
            }
        made.append(
            {
                "name": "claim" + suffix(table, scope),
                "group": scope == "group",
                "limit": limited and not (ordered and scope == "group"),
                "takes": takes.get(scope, many),
                "fifo": _FIFO[table.fifo] if ordered and table.fifo else (),
                "turns": ordered and scope == "table",
                "how": _HOW[table.form],
                "by_key": _by_key(table),
                "scope": {
                    "group": "_runtime.group(group)",
                    "ungrouped": "_runtime.UNGROUPED",
                    "table": "_runtime.TABLE" if grouped else "_runtime.ONLY",
                }[scope],
            }
        )
    return made


def care(table: Table, plans: Sequence[Plan]) -> dict[str, Any]:
    """The functions that look after the table: each exists where its statements do."""
    made = {statement.name for statement in plans[0].statements}
    stats = [
        {
            "name": claim["name"].replace("claim", "stats", 1),
            "group": claim["group"],
            "scope": claim["scope"],
            "of": {"group": " of one group", "ungrouped": " that have no group"}.get(scope, ""),
        }
        for scope, claim in zip(scopes(table), claims(table), strict=True)
    ]
    names = [name for name in ("redrive", "purge") if name in made]
    return {
        "stats": stats,
        "stats_type": "StatsWithDead" if "stats_dead" in made else "Stats",
        "redrive": "redrive" in made,
        "oldest": "redrive_oldest" in made,
        "purge": "purge" in made,
        "names": [*names, *(one["name"] for one in stats)],
    }
