"""What each `:name` of a statement is, for the reader of a `.sql` file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlclaimgen.description.model import Role, Table
from sqlclaimgen.statements import columns

if TYPE_CHECKING:
    from sqlclaimgen.dialects import Dialect

_FIXED = {
    "limit": "integer, at most so many rows",
    "window": "integer, how many candidates are read",
    "last": "integer, the size of the window that was looked at",
    "attempt": "integer, as the row holds it: one more than the delivery's",
    "attempts": "list of integers, one for each id: as the rows hold them",
    "reason": "text, why the row is given up",
    "error": "text or NULL, what went wrong",
    "held": "list of id, token and attempt",
    "held_tokens": "list of id and token",
    "ids": "list of ids",
}


def what(table: Table, dialect: Dialect, name: str) -> str:
    """One parameter in words: its type and what to pass."""
    time = dialect.time_literal
    lease = f"now + {table.lease} s" if table.column(Role.LOCKED_UNTIL) else ""
    times = {
        "now": f"{time}, the host's clock",
        "due": f"{time}, when the row is due again",
        "locked_until": f"{time}, the new expiry: {lease}",
        "token": f"{time}, the expiry held",
        "tokens": f"list of {time}, one for each id: the expiries held",
        "sents": f"list of {time}, one for each id: expiries sent and not answered, or the tokens",
        "sent": f"{time}, an expiry sent and not answered, or the token again",
    }
    for role, parameter in ((Role.ID, "id"), (Role.GROUP, "group"), (Role.PRIORITY, "priority")):
        column = table.column(role)
        if name == parameter and column is not None:
            return columns.spelled(table, column, dialect)
    found = times.get(name) or _FIXED.get(name)
    if found:
        return found
    column = next((c for c in table.columns if c.field == name), None)
    if column is None:
        raise KeyError(f"a template of {dialect.name} uses :{name}, which nothing describes")
    return columns.spelled(table, column, dialect) + (" or NULL" if column.null else "")
