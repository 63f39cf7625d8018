"""An advisory lock's key in SQL: the template's text and the columns' values, put together by the database.

Values are inserted verbatim, so two rows whose values run together differently can share a key:
they wait for each other, and nothing else happens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlclaimgen.description.model import Table
    from sqlclaimgen.dialects import Dialect


def key(table: Table, dialect: Dialect, alias: str = "") -> str:
    """The key of a row, as an expression over its columns. `alias` stands before their names."""
    template = table.advisory_lock
    assert template is not None
    owner, text = dialect.key_owner(table.schema)
    pieces = [owner] if owner else []
    for part in template.parts:
        if part.column is None:
            text += part.text or ""
            continue
        if text:
            pieces.append(dialect.key_text(text))
            text = ""
        pieces.append(dialect.key_value(alias + dialect.quote(part.column.name)))
    if text:
        pieces.append(dialect.key_text(text))
    return dialect.key(pieces)


def lock(table: Table, dialect: Dialect, alias: str = "") -> str:
    """What the database locks for the key of a row: a number, a name, or the key itself."""
    return dialect.lock(key(table, dialect, alias))
