"""MySQL 8.0.1 and newer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from sqlclaimgen.dialects.base import Capability, Dialect, NameLimit
from sqlclaimgen.dialects.storage import Limits
from sqlclaimgen.dialects.types import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlclaimgen.dialects.types import Type

_NAMES = {
    Kind.SMALLINT: "smallint",
    Kind.INT: "int",
    Kind.BIGINT: "bigint",
    Kind.TEXT: "longtext",
    Kind.BYTES: "longblob",
    Kind.JSON: "json",
    Kind.UUID: "char(36)",
    Kind.BOOLEAN: "boolean",
    Kind.DATE: "date",
    Kind.DOUBLE: "double",
}

KEY_LENGTH = 255
"""Characters of a `text` column that is compared or indexed: InnoDB indexes no longtext."""


class MySQL(Dialect):
    """MySQL. Keys are compared exactly: the default collations fold case and accents, and
    utf8mb4_bin ignores spaces at the end."""

    name = "mysql"
    title = "MySQL"
    floor = "8.0.1"
    loading = 'mysql "$DATABASE" < {path}'
    name_limit = NameLimit(64, "characters")
    limits: ClassVar[Limits] = Limits(
        key=3072,
        row=65535,
        columns=1017,
        text_key=KEY_LENGTH,
        reserved=frozenset({"db_row_id", "db_trx_id", "db_roll_ptr", "fts_doc_id"}),
        # MySQL keeps a question mark in their place, MariaDB refuses them
        supplementary=False,
        numbered=("bigint", "int", "integer", "mediumint", "smallint", "tinyint"),
    )
    connection = "MySQLConnection"
    sqlglot = "mysql"
    backslashes = True
    exact: ClassVar[str] = "CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin"
    """How text is compared that is a key: by its bytes, spaces at the end included. Before 8.0.17
    MySQL has only utf8mb4_bin, which takes `a` and `a ` for one."""
    folders: ClassVar[tuple[str, ...]] = ("mysql", "common")
    inserts_past = False
    now_default = "(UTC_TIMESTAMP(6))"
    time_literal = "datetime(6), UTC"
    serializable_claims = Capability(
        served=False,
        reason="MySQL and MariaDB lock every row that a claim looks at there: claims wait for one another.",
        way_out='Write "repeatable read", or leave `isolation` out for READ COMMITTED.',
    )
    notify = Capability(
        served=False,
        reason="only PostgreSQL has LISTEN and NOTIFY.",
        way_out="Leave `notify` out: workers poll, once a second unless set.",
    )

    # a session that was opened again under the same connection holds nothing
    holds_lock = "IS_USED_LOCK(:lock_name) = CONNECTION_ID()"

    def key_owner(self, schema: str | None) -> tuple[str, str]:
        # lock names belong to the whole server
        return ("", f"{schema}.") if schema else ("CONVERT(DATABASE() USING utf8mb4)", ".")

    def key_text(self, text: str) -> str:
        # the same bytes whatever the connection's character set and SQL mode
        plain = text.isascii() and text.isprintable() and not set(text) & set("'\\")
        return f"_utf8mb4'{text}'" if plain else f"_utf8mb4 0x{text.encode().hex()}"

    def key_value(self, column: str) -> str:
        return f"CONVERT({column} USING utf8mb4)"

    def key(self, pieces: Sequence[str]) -> str:
        return f"CONCAT({', '.join(pieces)}) COLLATE utf8mb4_bin"

    def forced(self, index: str) -> str:
        # with ORDER BY and LIMIT the optimizer may walk another index that has the order
        name = "PRIMARY" if index.startswith("the primary key") else self.quote(index)
        return f" FORCE INDEX ({name})"

    def lock(self, key: str) -> str:
        # MySQL takes 64 characters, and the two servers compare names differently that are not plain
        return (
            f"IF(CHAR_LENGTH({key}) > 64 OR {key} REGEXP '[^a-z0-9_.-]', SHA2({key}, 256), {key})"
        )

    # left alone, the servers may look for a lease by its expiry: then a settlement locks the entry of
    # an index before its row, an extension the other way round, and the two deadlock
    by_id = " FORCE INDEX (PRIMARY)"

    nothing = "() VALUES ()"

    def left_out(self, column: str, type: str) -> str:
        # an empty list is a NULL. In COALESCE it is a filter: no range of the primary key is read for it
        return f"COALESCE({column} NOT IN (:set_aside), TRUE)"

    def deleting(self, table: str) -> str:
        # an index can be named in the form for several tables only
        return f"DELETE settled FROM {table} AS settled{self.by_id}"

    def quote(self, name: str) -> str:
        return "`" + name.replace("`", "``") + "`"

    def text(self, value: str) -> str:
        return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"

    def default(self, value: str | int | float | bool, type: str) -> str:
        # a text column takes an expression only
        literal = self.literal(value)
        return f"({literal})" if type == _NAMES[Kind.TEXT] else literal

    def spelled(self, value: Any) -> str:
        # every build would pay for the import
        from sqlclaimgen.runtime.steps import Many

        if isinstance(value, Many):
            return ", ".join(self.spelled(item) for item in value.items)
        if issubclass(type(value), tuple):
            return "(" + ", ".join(self.spelled(part) for part in value) + ")"
        return super().spelled(value)

    def column_type(self, type: Type, *, key: bool = False) -> str:
        match type.kind:
            case Kind.VARCHAR:
                plain = f"varchar({type.length})"
                return f"{plain} {self.exact}" if key else plain
            case Kind.TEXT if key:
                return f"varchar({KEY_LENGTH}) {self.exact}"
            case Kind.UUID:
                return "char(36) CHARACTER SET ascii COLLATE ascii_bin"
            case Kind.NUMERIC:
                return f"decimal({type.precision},{type.scale})"
            case Kind.TIMESTAMP:
                return f"datetime({type.precision})"
            case kind:
                return _NAMES[kind]
