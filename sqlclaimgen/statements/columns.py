"""Which columns a Row and a New have, and how the database spells their types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlclaimgen.description.model import INTEGERS, Column, Kind, Role, Table

if TYPE_CHECKING:
    from sqlclaimgen.dialects import Dialect

_BOOKKEEPING = frozenset(
    {Role.ATTEMPT, Role.LOCKED_UNTIL, Role.PROCESSED_AT, Role.STATUS, Role.ORIGIN}
)
_SET_BY_STATEMENTS = _BOOKKEEPING | {Role.RETRY_AFTER, Role.LAST_ERROR}
_KEYS = frozenset(
    {Role.ID, Role.GROUP, Role.PARTITION_KEY, Role.DEDUPE_KEY, Role.STATUS, Role.ORIGIN}
)


def of_row(table: Table) -> tuple[Column, ...]:
    """The columns of a Row: all but the bookkeeping, in the order of the description."""
    return tuple(column for column in table.columns if column.role not in _BOOKKEEPING)


def of_new(table: Table) -> tuple[Column, ...]:
    """The columns a producer gives, in the order of the description."""
    return tuple(
        column
        for column in table.columns
        if column.role not in _SET_BY_STATEMENTS
        and not (column.generated and column.type.kind in INTEGERS)
    )


def is_key(table: Table, column: Column) -> bool:
    """Whether a column is compared, so that case and accents must count."""
    keyed = table.advisory_lock.columns if table.advisory_lock else ()
    return column.role in _KEYS or column in keyed


def spelled(table: Table, column: Column, dialect: Dialect) -> str:
    """The column's type in this database: what the description says for it, or the dialect's own."""
    exact = dialect.override(column.sql)
    return (
        exact if exact is not None else dialect.column_type(column.type, key=is_key(table, column))
    )


def kind(column: Column) -> str:
    """The word the runtime's codecs know the type by."""
    if column.type.kind is Kind.TIMESTAMP:
        return str(column.type)
    return column.type.kind.value
