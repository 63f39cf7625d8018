"""How the fields of a row are annotated, and which imports that takes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlclaimgen.description.model import Column, Kind, PythonType

if TYPE_CHECKING:
    from collections.abc import Iterable

_PLAIN = {
    Kind.SMALLINT: "int",
    Kind.INT: "int",
    Kind.BIGINT: "int",
    Kind.TEXT: "str",
    Kind.VARCHAR: "str",
    Kind.BYTES: "bytes",
    Kind.JSON: "_t.Any",
    Kind.UUID: "_uuid.UUID",
    Kind.BOOLEAN: "bool",
    Kind.TIMESTAMP: "_datetime.datetime",
    Kind.DATE: "_datetime.date",
    Kind.NUMERIC: "_decimal.Decimal",
    Kind.DOUBLE: "float",
}


@dataclass(slots=True)
class Types:
    """The imports that a module's annotations need, collected as they are used."""

    user: dict[PythonType, str] = field(default_factory=dict[PythonType, str])
    """A team's own types, by the name the module gives them."""
    reserved: frozenset[str] = frozenset()
    """Names that the module has itself."""

    def collect(self, columns: Iterable[Column]) -> None:
        """Name every type of the team's that these columns hold, two of one name apart."""
        for column in columns:
            if column.python is None or column.python in self.user:
                continue
            # two underscores in front are changed inside of a class
            root = f"_{column.python.name.partition('.')[0].lstrip('_')}"
            taken = {name.partition(".")[0] for name in self.user.values()} | self.reserved
            same = next(
                (
                    name.partition(".")[0]
                    for kind, name in self.user.items()
                    if kind.module == column.python.module
                    and kind.name.partition(".")[0] == column.python.name.partition(".")[0]
                ),
                None,
            )
            name, count = root, 2
            while same is None and name in taken:
                name, count = f"{root}_{count}", count + 1
            rest = column.python.name.partition(".")[2]
            self.user[column.python] = (same or name) + (f".{rest}" if rest else "")

    def imports(self) -> list[str]:
        """The import lines of the team's own types, sorted."""
        made = {
            f"from {kind.module} import {kind.name.partition('.')[0]} as {name.partition('.')[0]}"
            for kind, name in self.user.items()
        }
        return sorted(made)

    def plain(self, column: Column) -> str:
        """The annotation of a column's value when it is not NULL."""
        if column.python is not None:
            return self.user[column.python]
        return _PLAIN[column.type.kind]

    def annotation(self, column: Column) -> str:
        """The annotation of a field."""
        plain = self.plain(column)
        return f"{plain} | None" if column.null and plain != "_t.Any" else plain

    def given(self, column: Column) -> str:
        """The annotation of a field of New: None leaves the time of insertion to the database."""
        annotation = self.annotation(column)
        return f"{annotation} | None" if column.default_now and not column.null else annotation
