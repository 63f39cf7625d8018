"""What a database can do, as data: one object per dialect, and the only place that knows its name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar
from uuid import UUID

from sqlclaimgen.dialects.storage import Limits
from sqlclaimgen.dialects.types import Kind, Type

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_TEXT = Type(Kind.TEXT)
_TIME = Type(Kind.TIMESTAMP, precision=6)

_BITS = {
    "tinyint": 8,
    "smallint": 16,
    "int2": 16,
    "mediumint": 24,
    "int": 32,
    "integer": 32,
    "int4": 32,
    "bigint": 64,
    "int8": 64,
}


@dataclass(frozen=True, slots=True)
class Capability:
    """Whether a database can do a thing; when not, why, and what to do instead, a full sentence each."""

    served: bool
    reason: str = ""
    way_out: str = ""

    def __bool__(self) -> bool:
        return self.served


YES = Capability(served=True)


@dataclass(frozen=True, slots=True)
class NameLimit:
    """How long an identifier may be: `count` of `unit`, which is `bytes` (of UTF-8) or `characters`."""

    count: int
    unit: str

    def length(self, name: str) -> int:
        """The length of `name` as this database counts it."""
        return len(name.encode()) if self.unit == "bytes" else len(name)


class Dialect(ABC):
    """One database. Subclasses fill in the data and the few functions that turn names and values to SQL."""

    name: ClassVar[str]
    """The word in `dialects = [..]`, and the folder of its templates and output."""
    title: ClassVar[str]
    floor: ClassVar[str]
    """The oldest version served."""
    loading: ClassVar[str]
    """A shell command that runs the file `{path}` with the database's own client."""
    name_limit: ClassVar[NameLimit]
    limits: ClassVar[Limits]
    connection: ClassVar[str]
    """What the runtime calls the type of its driver's connections."""
    async_connection: ClassVar[str] = ""
    """The same of its asyncio connections; blank where its driver has none."""
    has_logins: ClassVar[bool] = True
    """Whether rights on a table are granted to logins."""
    sqlglot: ClassVar[str]
    """The dialect sqlglot parses the statements as."""
    row_lock: ClassVar[Capability] = YES
    notify: ClassVar[Capability]
    serializable_claims: ClassVar[Capability] = YES
    """Whether row lock claims at SERIALIZABLE pass one another by."""
    folders: ClassVar[tuple[str, ...]]
    """Where its templates are looked for, most particular first."""
    backslashes: ClassVar[bool] = False
    """Whether a backslash escapes in strings."""
    partial_indexes: ClassVar[bool] = False
    """Whether an index can be limited to unfinished rows."""
    time_literal: ClassVar[str]
    """What the `.sql` files call a time: a type, or microseconds."""

    @abstractmethod
    def quote(self, name: str) -> str:
        """`name` as an identifier, quotes inside doubled."""

    @abstractmethod
    def column_type(self, type: Type, *, key: bool = False) -> str:
        """The type as this database spells it. `key`: the column is compared or indexed, so text is
        compared exactly (case and accents count) and has a length where an index needs one."""

    def qualified(self, schema: str | None, name: str) -> str:
        """`schema.name`, each part quoted on its own: a dot inside a name is legal."""
        return f"{self.quote(schema)}.{self.quote(name)}" if schema else self.quote(name)

    def literal(self, value: str | int | float | bool | None) -> str:
        """`value` as SQL text."""
        if value is None:
            return "NULL"
        if isinstance(value, bool):
            return self.boolean(value)
        if isinstance(value, int | float):
            return repr(value)
        return self.text(value)

    def boolean(self, value: bool) -> str:
        """`value` as a boolean literal."""
        return "TRUE" if value else "FALSE"

    def text(self, value: str) -> str:
        """`value` as a text literal."""
        return "'" + value.replace("'", "''") + "'"

    def spelled(self, value: Any) -> str:
        """A value as its driver takes it, as a literal with the type that the driver would send. Raises
        ValueError for text with a NUL character."""
        match value:
            case str() if "\0" in value:
                raise ValueError("it holds a NUL character, which no database takes")
            case None | bool() | int() | float() | str():
                return self.literal(value)
            case datetime():
                return self.time(value)
            case bytes():
                return f"X'{value.hex()}'"
            case Decimal():
                return str(value)
            case date() | UUID():
                return self.text(str(value))
            case _:
                raise ValueError(f"{value!r} has no literal")

    def time(self, value: datetime) -> str:
        """A time as its driver takes it, as a literal."""
        return self.text(value.isoformat(" ", "microseconds"))

    def typed(self, parameter: str, type: str) -> str:
        """A parameter where the server could not tell its type by itself."""
        return f":{parameter}"

    def returned(self, expression: str, name: str, kind: Kind) -> str:
        """A column in a statement's answer. JSON comes back as text, which the runtime decodes."""
        return expression

    def lesser(self, expression: str, value: int) -> str:
        """The lesser of a number and a constant."""
        return f"LEAST({expression}, {value})"

    def largest(self, type: Type, spelled: str) -> int:
        """The largest number that an integer column holds, by its type as this database spells it."""
        word = spelled.lower().partition("(")[0].split()[0]
        bits = _BITS.get(word) or _BITS[type.kind.value]
        return int(2**bits - 1) if "unsigned" in spelled.lower() else int(2 ** (bits - 1) - 1)

    @abstractmethod
    def left_out(self, column: str, type: str) -> str:
        """The condition that a column's value is not in the list `:set_aside`, which may be empty."""

    def among(self, column: str, type: str) -> str:
        """The condition that a column's value is in the list `:ids`."""
        return f"{column} IN ({self.ids})"

    by_id: ClassVar[str] = ""
    """What follows a table whose rows are found by id, so that they are locked by it and nothing else."""

    def forced(self, index: str) -> str:
        """What follows a table that is read by this index and no other, whatever its statistics say."""
        return ""

    nothing: ClassVar[str] = "DEFAULT VALUES"
    """What follows the table in an INSERT that gives no column a value."""

    def deleting(self, table: str) -> str:
        """The head of a DELETE of rows found by id."""
        return f"DELETE FROM {table}"

    def locked(self, rows: str) -> str:
        """What a write of `rows`, in words, locks."""
        return rows

    def locks_of_insert(self, *, generated: bool) -> str:
        """What an enqueue locks, in words. `generated`: the database numbers the rows."""
        waited_for = "" if generated else "; another insert of the same id waits for the commit"
        return f"the new row, which nobody else sees before the commit{waited_for}"

    inserts_past: ClassVar[bool] = True
    """Whether an INSERT of many rows can pass over one that a unique index refuses."""

    ids: ClassVar[str] = ":ids"
    """What stands in `IN (..)` for a list of ids."""
    holds_lock: ClassVar[str] = ""
    """The condition that the session still holds the lock of a claim; blank where the process tells."""

    keys_in_process: ClassVar[tuple[str, ...]] = ()
    """What to know where the process keeps the keys, in lines of a docstring."""

    def key_owner(self, schema: str | None) -> tuple[str, str]:
        """What stands before a key, so that it belongs to its database: an expression, and text."""
        return "", ""

    def key_text(self, text: str) -> str:
        """A piece of a key's own text."""
        return self.text(text)

    @abstractmethod
    def key_value(self, column: str) -> str:
        """A column's value in a key: text, verbatim."""

    def key(self, pieces: Sequence[str]) -> str:
        """A key put together: text that compares exactly."""
        return f"({' || '.join(pieces)})" if len(pieces) > 1 else pieces[0]

    @abstractmethod
    def lock(self, key: str) -> str:
        """What is locked for a key."""

    def enqueued(self, value: str, type: str) -> str:
        """A value of an INSERT, cast where the driver's own type would not fit."""
        return value

    def default(self, value: str | int | float | bool, type: str) -> str:
        """What stands behind DEFAULT for a column of this spelled type."""
        return self.literal(value)

    now_default: ClassVar[str]
    """The default of a time column that is filled when a row is inserted."""

    def extra_type(self, kind: str) -> str:
        """The type of a column that only the dead-letter table has: `text` or `time`."""
        return self.column_type(_TIME if kind == "time" else _TEXT)

    def storage(self, *, lease: bool, keeps_finished: bool) -> tuple[str, ...]:
        """Storage settings that the workload wants, for `WITH (..)`."""
        return ()

    def override(self, sql: Mapping[str, str]) -> str | None:
        """The exact type a description gives for this dialect (`sql = { postgres = "citext" }`)."""
        return sql.get(self.name)
