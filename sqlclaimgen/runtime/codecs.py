"""Values between Python and the wire, one codec for each way a driver carries them.

A kind is the word of the description: `bigint`, `timestamp(6)`, `json`. JSON is text here; what a
team's own types make of it is in `values`.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, ClassVar, NamedTuple

from sqlclaimgen.runtime.clock import MICROSECOND, floor
from sqlclaimgen.runtime.numerals import integer, number
from sqlclaimgen.runtime.steps import Many

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Held(NamedTuple):
    """What a fenced statement must still find in a row. `sent` is the expiry of an extension whose
    answer is not known yet, or the token again."""

    id: Any
    token: datetime
    sent: datetime
    attempt: int


def precision_of(kind: str) -> int:
    """Fraction digits of `timestamp(p)`."""
    return int(kind[len("timestamp(") : -1]) if kind.startswith("timestamp(") else 6


def to_microseconds(value: datetime) -> int:
    """Integer microseconds since 1970, exact."""
    return (value - _EPOCH) // MICROSECOND


def from_microseconds(value: int) -> datetime:
    """The inverse of to_microseconds."""
    return _EPOCH + value * MICROSECOND


def aware(value: datetime) -> datetime:
    """`value`, in UTC. Raises ValueError when it has no time zone: nobody could say which moment it is."""
    if value.tzinfo is None:
        raise ValueError(f"naive datetime {value!r}: give it a time zone")
    return value.astimezone(UTC)


class Codec:
    """Encodes parameters and decodes results. This one fits psycopg, which knows most types itself."""

    dialect: ClassVar[str] = "postgres"
    unordered: ClassVar[bool] = False
    """Whether a claim's rows come back in no order (SQLite's RETURNING), so that they are sorted here."""
    backticks: ClassVar[bool] = False
    """Whether names stand in backticks, and a backslash escapes in strings."""
    holds_nul: ClassVar[bool] = False
    """Whether text may hold a NUL character."""
    in_process: ClassVar[bool] = False
    """Whether the database runs in this process, and so by this host's clock."""
    checks_early: ClassVar[bool] = True
    """Whether what a COMMIT would check can be checked before it."""
    counts_changes: ClassVar[bool] = False
    """Whether an update that writes what a row holds already may count no row."""

    def encode(self, kind: str, value: Any) -> Any:
        """A Python value of `kind` as the driver takes it. Raises ValueError for a naive datetime."""
        if value is None:
            return None
        if kind.startswith("timestamp"):
            return self.time(floor(aware(value), precision_of(kind)))
        return value

    def decode(self, kind: str, value: Any) -> Any:
        """A result value as Python sees it. Raises ValueError when it is no `kind`."""
        if value is None:
            return None
        if kind.startswith("timestamp"):
            return self.from_time(value)
        if kind == "date" and not isinstance(value, date):
            raise ValueError(f"{value!r} is no date")
        if isinstance(value, bytes) and kind.partition("(")[0] in ("text", "varchar"):
            raise ValueError(f"{value!r} is no text")
        return value

    def time(self, value: datetime) -> Any:
        """An aware time as the driver takes it, with all its microseconds."""
        return aware(value)

    def from_time(self, value: Any) -> datetime:
        """The inverse of time."""
        if not isinstance(value, datetime):
            raise ValueError(f"{value!r} is no timestamp")
        return value.astimezone(UTC)

    def ids(self, kind: str, ids: Sequence[Any]) -> dict[str, Any]:
        """The parameters that name rows."""
        return {"ids": [self.encode(kind, id) for id in ids]}

    def set_aside(self, ids: Sequence[Any]) -> dict[str, Any]:
        """The parameters that name the rows a claim leaves out, by ids that are encoded already."""
        return {"set_aside": list(ids)}

    def groups(self, groups: Sequence[Any]) -> dict[str, Any]:
        """The parameters that name groups, as the database spelled them."""
        return {"groups": list(groups)}

    def left_out(self, locks: Sequence[Any]) -> dict[str, Any]:
        """The parameters that name the locks a claim leaves out."""
        return {"locks": list(locks)}

    def held(self, kind: str, held: Sequence[Held]) -> dict[str, Any]:
        """The parameters of a fenced statement over many rows."""
        return {
            "ids": [self.encode(kind, lease.id) for lease in held],
            "tokens": [self.time(lease.token) for lease in held],
            "sents": [self.time(lease.sent) for lease in held],
            "attempts": [lease.attempt for lease in held],
        }


class MySQLCodec(Codec):
    """For PyMySQL: times are naive and in UTC, for it drops an offset without a word."""

    dialect = "mysql"
    backticks = True
    holds_nul = True
    checks_early = False
    counts_changes = True

    def encode(self, kind: str, value: Any) -> Any:
        if kind == "uuid" and value is not None:
            return str(value)
        return super().encode(kind, value)

    def decode(self, kind: str, value: Any) -> Any:
        if value is None:
            return None
        match kind:
            case "uuid":
                return uuid.UUID(bytes=value) if isinstance(value, bytes) else uuid.UUID(str(value))
            case "boolean":
                return bool(value)
            case "json":
                return value.decode() if isinstance(value, bytes) else value
            case _:
                return super().decode(kind, value)

    def time(self, value: datetime) -> Any:
        return aware(value).replace(tzinfo=None)

    def from_time(self, value: Any) -> datetime:
        if not isinstance(value, datetime):
            raise ValueError(f"{value!r} is no timestamp")
        return value.replace(tzinfo=UTC)

    def ids(self, kind: str, ids: Sequence[Any]) -> dict[str, Any]:
        return {"ids": Many([self.encode(kind, id) for id in ids])}

    def set_aside(self, ids: Sequence[Any]) -> dict[str, Any]:
        return {"set_aside": Many(list(ids) or [None])}  # IN () is no SQL

    def groups(self, groups: Sequence[Any]) -> dict[str, Any]:
        return {"groups": Many(list(groups)), "group_list": json.dumps(list(groups))}

    def held(self, kind: str, held: Sequence[Held]) -> dict[str, Any]:
        rows: list[tuple[Any, ...]] = []
        for lease in held:
            for token in dict.fromkeys((lease.token, lease.sent)):
                rows.append((self.encode(kind, lease.id), self.time(token), lease.attempt))
        return {
            "ids": Many([self.encode(kind, lease.id) for lease in held]),
            "held": Many(rows),
            "held_tokens": Many([row[:2] for row in rows]),
        }


class MariaDBCodec(MySQLCodec):
    """MariaDB, through the same driver."""

    dialect = "mariadb"


def _whole(value: Any) -> Any:
    """An integer that came as a float, as SQLite before 3.41 returns those of a table whose first column is
    REAL. Above 2**53 it may be another one, and stays what it is: no integer."""
    exact = isinstance(value, float) and value.is_integer() and abs(value) < 2**53
    return int(value) if exact else value


class SQLiteCodec(Codec):
    """For sqlite3: times are integer microseconds, lists are JSON. Its columns take values of every
    type, so numbers are checked here: a row that does not decode would be claimed again and again."""

    dialect = "sqlite"
    unordered = True
    holds_nul = True
    in_process = True
    checks_early = False

    def encode(self, kind: str, value: Any) -> Any:
        if value is None:
            return None
        match kind:
            case "uuid":
                return str(value)
            case "boolean":
                return int(value)
            case "date":
                return value.isoformat()
            case "smallint" | "int" | "bigint":
                return integer(_whole(value))
            case _ if kind.startswith("numeric"):
                return number(value)
            case _:
                return super().encode(kind, value)

    def decode(self, kind: str, value: Any) -> Any:
        if value is None:
            return None
        match kind:
            case "uuid":
                return uuid.UUID(value)
            case "boolean":
                return bool(value)
            case "date":
                return date.fromisoformat(value)
            case "smallint" | "int" | "bigint":
                return super().decode(kind, _whole(value))
            case "double":
                return float(value)  # RETURNING gives 3 for 3.0
            case _ if kind.startswith("numeric"):
                return Decimal(value)
            case _:
                return super().decode(kind, value)

    def time(self, value: datetime) -> Any:
        return to_microseconds(aware(value))

    def from_time(self, value: Any) -> datetime:
        value = _whole(value)
        if not isinstance(value, int):
            raise ValueError(f"{value!r} is no integer of microseconds since 1970")
        return from_microseconds(value)

    def ids(self, kind: str, ids: Sequence[Any]) -> dict[str, Any]:
        return {"ids": json.dumps([self.encode(kind, id) for id in ids])}

    def groups(self, groups: Sequence[Any]) -> dict[str, Any]:
        return {"groups": json.dumps(list(groups))}

    def set_aside(self, ids: Sequence[Any]) -> dict[str, Any]:
        return {"set_aside": json.dumps(list(ids))}

    def left_out(self, locks: Sequence[Any]) -> dict[str, Any]:
        return {"keys": json.dumps(list(locks))}

    def held(self, kind: str, held: Sequence[Held]) -> dict[str, Any]:
        rows = [
            (
                self.encode(kind, lease.id),
                self.time(lease.token),
                self.time(lease.sent),
                lease.attempt,
            )
            for lease in held
        ]
        return {"held": json.dumps(rows)}


CODECS: dict[str, Codec] = {
    codec.dialect: codec for codec in (Codec(), MySQLCodec(), MariaDBCodec(), SQLiteCodec())
}
"""By dialect."""
