"""Defaults of columns: a literal that the column's type can hold, or the time of insertion."""

from __future__ import annotations

import datetime
import decimal
import math
import re
import uuid
from typing import TYPE_CHECKING

from sqlclaimgen.description.characters import hidden, named
from sqlclaimgen.description.model import Kind, Role

if TYPE_CHECKING:
    from sqlclaimgen.description.column_shape import ColumnShape
    from sqlclaimgen.description.model import StatusValues, Type
    from sqlclaimgen.description.roles import RoleRule
    from sqlclaimgen.description.scope import Scope

Literal = str | int | float | bool

BITS = {Kind.SMALLINT: 15, Kind.INT: 31, Kind.BIGINT: 63}

NOW = "now"

_NUMBER = re.compile(r"[+-]?[0-9]{1,100}(?:\.[0-9]{1,100})?(?:[eE][+-]?[0-9]{1,3})?")


def resolve(
    scope: Scope,
    name: str,
    shape: ColumnShape,
    rule: RoleRule | None,
    type_: Type | None,
    status: StatusValues | None,
) -> tuple[Literal | None, bool]:
    """The default of a column: a literal or None, and whether it is the time of insertion."""
    written = shape.default
    if written is None:
        by_role = status.pending if status else rule.default if rule else None
        return (None, True) if by_role == NOW and not status else (by_role, False)
    if type_ is None:
        return None, False
    wrong, hint = _wrong(written, shape, type_, status)
    if wrong:
        scope.error(
            "DEFAULT", f"`default` of column `{name}` {wrong}", hint, "columns", name, "default"
        )
        return None, False
    if type_.kind is Kind.TIMESTAMP:
        return None, True
    number = _number(written) if type_.kind is Kind.NUMERIC else None
    return (written if number is None else f"{number:f}"), False


def _wrong(
    value: Literal, shape: ColumnShape, type_: Type, status: StatusValues | None
) -> tuple[str, str]:
    if shape.generated:
        return "has no effect: the database numbers the rows", "Leave one of the two out."
    if shape.role in {Role.PROCESSED_AT, Role.LOCKED_UNTIL, Role.ORIGIN, Role.LAST_ERROR}:
        return (
            f"is refused: a new row has no `{shape.role}`",
            "Leave it out: the column starts as NULL.",
        )
    if shape.role == Role.ATTEMPT and value != 1:
        return f"is {value}, and the stored count starts at 1", "Leave it out, or write 1."
    if status and value != status.pending:
        return (
            f"is {value!r}, and a new row is pending",
            f"Leave it out: the default is {status.pending!r}.",
        )
    wrong = unfit(value, type_)
    return (wrong or "", _way_out(type_))


def broken(value: object) -> str | None:
    """What is wrong with a text that statements hold as a literal: they are read line by line."""
    if not isinstance(value, str) or (at := hidden(value)) is None:
        return None
    return "has a line break" if value[at] in "\r\n" else f"holds the character {named(value[at])}"


def unfit(value: Literal, type_: Type) -> str | None:
    """Why `type_` cannot hold `value`, or None when it can."""
    match type_.kind:
        case Kind.SMALLINT | Kind.INT | Kind.BIGINT:
            if type(value) is not int:
                return f"is {_shown(value)}, and the column is {type_}"
            bits = BITS[type_.kind]
            if not -(2**bits) <= value < 2**bits:
                return f"is {value}, which {type_} cannot hold"
        case Kind.BOOLEAN:
            if type(value) is not bool:
                return f"is {_shown(value)}, and the column is boolean"
        case Kind.DOUBLE:
            if isinstance(value, bool | str) or not math.isfinite(value):
                return f"is {_shown(value)}, and the column is double"
        case Kind.TEXT | Kind.VARCHAR:
            if not isinstance(value, str):
                return f"is {_shown(value)}, and the column is {type_}"
            if (at := hidden(value, but="\n\t")) is not None:
                return f"holds the character {named(value[at])}"
            if type_.length is not None and len(value) > type_.length:
                return f"has {len(value)} characters, and the column is {type_}"
        case Kind.NUMERIC:
            return None if _fits(value, type_) else f"is {_shown(value)}, and the column is {type_}"
        case Kind.UUID | Kind.DATE | Kind.TIMESTAMP:
            if not _reads(value, type_.kind):
                return f"is {_shown(value)}, and the column is {type_}"
        case Kind.JSON | Kind.BYTES:
            return f"is refused: {type_} columns have none here"
    return None


def _shown(value: Literal) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'the text "{value}"' if isinstance(value, str) else str(value)


def _fits(value: Literal, type_: Type) -> bool:
    number = _number(value)
    if number is None:
        return False
    precision, scale = type_.precision or 0, type_.scale or 0
    whole, _, decimals = f"{number.copy_abs():f}".partition(".")
    return len(whole.lstrip("0")) <= precision - scale and len(decimals.rstrip("0")) <= scale


def _number(value: Literal) -> decimal.Decimal | None:
    """The number that every database reads in `value`, or None."""
    if isinstance(value, bool) or not _NUMBER.fullmatch(str(value)):
        return None
    return decimal.Decimal(str(value))


def _reads(value: Literal, kind: Kind) -> bool:
    if not isinstance(value, str):
        return False
    if kind is Kind.TIMESTAMP:
        return value == NOW
    try:
        if kind is Kind.UUID:
            return str(uuid.UUID(value)) == value
        return datetime.date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False


def _way_out(type_: Type) -> str:
    match type_.kind:
        case Kind.JSON | Kind.BYTES:
            return "Leave it out and pass the value with each new row."
        case Kind.TIMESTAMP:
            return 'Write "now", the time of insertion, or leave it out.'
        case Kind.UUID:
            return "Write it in lower case with dashes, or pass one with each new row."
        case Kind.DATE:
            return 'Write "YYYY-MM-DD".'
        case Kind.BOOLEAN:
            return "Write true or false, without quotes."
        case _:
            return f"Write a value that {type_} can hold."
