"""One table while its rules run: what is known of it so far, and where its findings go."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlclaimgen.description.column_shape import ColumnShape
    from sqlclaimgen.description.findings import Findings
    from sqlclaimgen.description.model import Column, Role
    from sqlclaimgen.description.shape import TableShape
    from sqlclaimgen.dialects import Dialect


@dataclass(slots=True)
class Scope:
    """A table under check. `columns` and `dialects` are filled in by the first rules."""

    key: str
    shape: TableShape
    findings: Findings
    columns: tuple[Column, ...] = ()
    dialects: tuple[Dialect, ...] = ()
    doubtful: set[str] = field(default_factory=set[str])
    """Columns whose type or role was refused: rules that depend on them keep quiet."""

    def path(self, *keys: str | int) -> tuple[str | int, ...]:
        """The path of a key of this table."""
        return ("table", self.key, *keys)

    def error(
        self, code: str, what: str, hint: str, *keys: str | int, inside: int | None = None
    ) -> None:
        """A mistake at a key of this table."""
        self.findings.error(code, what, hint, self.path(*keys), inside=inside)

    def warning(self, code: str, what: str, hint: str, *keys: str | int) -> None:
        """Something legal at a key of this table that its author should know."""
        self.findings.warning(code, what, hint, self.path(*keys))

    def column(self, role: Role) -> Column | None:
        """The column that plays `role`, or None."""
        return next((column for column in self.columns if column.role is role), None)

    def lacks(self, role: Role) -> bool:
        """Whether the table surely has no column of `role`: none plays it, and no column's role
        was refused."""
        columns = self.path("columns")
        unsure = any(
            broken[:3] == columns and broken[4:5] in ((), ("role",))
            for broken in self.findings.broken
        )
        return self.column(role) is None and not unsure

    def written(self, column: Column) -> ColumnShape:
        """What the description says of `column`."""
        return self.shape.columns[column.name]

    def names(self, *roles: Role) -> str | None:
        """A column without a role that is called like one of `roles`, for a hint."""
        words = {role.value for role in roles}
        return next((c.name for c in self.columns if c.role is None and c.name in words), None)
