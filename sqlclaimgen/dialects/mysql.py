"""MySQL 8.0.1 and newer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, cast

from sqlclaimgen.dialects.base import Capability, Dialect, NameLimit
from sqlclaimgen.dialects.types import Kind

if TYPE_CHECKING:
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
    """MySQL. Keys are compared with utf8mb4_bin: the default collations fold case and accents."""

    name = "mysql"
    title = "MySQL"
    floor = "8.0.1"
    name_limit = NameLimit(64, "characters")
    sqlglot = "mysql"
    backslashes = True
    folders: ClassVar[tuple[str, ...]] = ("mysql", "common")
    now_default = "(UTC_TIMESTAMP(6))"
    time_literal = "datetime(6), UTC"
    notify = Capability(
        served=False,
        reason="only PostgreSQL has LISTEN and NOTIFY.",
        way_out="Leave `notify` out: workers poll, once a second unless set.",
    )

    def quote(self, name: str) -> str:
        return "`" + name.replace("`", "``") + "`"

    def text(self, value: str) -> str:
        return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"

    def spelled(self, value: Any) -> str:
        # every build would pay for the import
        from sqlclaimgen.runtime.steps import Many

        if isinstance(value, Many):
            return ", ".join(self.spelled(item) for item in value.items)
        if isinstance(value, tuple):
            parts = cast("tuple[Any, ...]", value)
            return "(" + ", ".join(self.spelled(part) for part in parts) + ")"
        return super().spelled(value)

    def column_type(self, type: Type, *, key: bool = False) -> str:
        match type.kind:
            case Kind.VARCHAR:
                plain = f"varchar({type.length})"
                return f"{plain} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin" if key else plain
            case Kind.TEXT if key:
                return f"varchar({KEY_LENGTH}) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
            case Kind.UUID:
                return "char(36) CHARACTER SET ascii COLLATE ascii_bin"
            case Kind.NUMERIC:
                return f"decimal({type.precision},{type.scale})"
            case Kind.TIMESTAMP:
                return f"datetime({type.precision})"
            case kind:
                return _NAMES[kind]
