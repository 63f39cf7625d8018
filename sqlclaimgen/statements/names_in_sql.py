"""A table's names as a template writes them: quoted, by role, None where the table has none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlclaimgen.description.model import Column, DeadLetterGroup, DeadLetterTable, Role, Table
from sqlclaimgen.dialects.exact_types import without_collation
from sqlclaimgen.statements import columns, key_template
from sqlclaimgen.statements.channels import channel
from sqlclaimgen.statements.indexes import finished_by

if TYPE_CHECKING:
    from sqlclaimgen.dialects import Dialect


@dataclass(frozen=True, slots=True)
class ColumnInSQL:
    """One column: its quoted name, its spelled type, and the column itself."""

    name: str
    type: str
    column: Column
    default: str | None = None
    """What stands behind DEFAULT."""

    @property
    def json(self) -> bool:
        """Whether it holds JSON, which some databases return as text only when told."""
        return self.column.type.kind.value == "json"

    @property
    def parameter(self) -> str:
        """The parameter of `enqueue` that fills it: its field's name."""
        return self.column.field

    @property
    def inserted(self) -> str:
        """What `enqueue` writes: the parameter, or the time of insertion where that is NULL."""
        given = f":{self.parameter}"
        return f"COALESCE({given}, {self.default})" if self.column.default_now else given


class NamesInSQL:
    """What templates call `t`."""

    def __init__(self, table: Table, dialect: Dialect) -> None:
        self.described = table
        self.dialect = dialect
        self.table = dialect.qualified(table.schema, table.name)
        self.columns = tuple(self._column(column) for column in table.columns)
        self.row = tuple(self._column(column) for column in columns.of_row(table))
        self.new = tuple(self._column(column) for column in columns.of_new(table))
        self.order = tuple(
            self._column(column)
            for column in (table.column(r) for r in (Role.PRIORITY, Role.RETRY_AFTER, Role.ID))
            if column is not None
        )
        for role in Role:
            column = table.column(role)
            setattr(self, role.value, dialect.quote(column.name) if column else None)
        id = dialect.quote(table.id.name)
        self.returned_id = dialect.returned(id, id, table.id.type.kind)
        finished = finished_by(table)
        self.finished_by = finished.value if finished else None
        # a table of the user's may be called like a part of a statement
        self.x = "_" if table.name.lower() in _PARTS else ""

    def _column(self, column: Column) -> ColumnInSQL:
        spelled = columns.spelled(self.described, column, self.dialect)
        default = None
        if column.default is not None:
            default = self.dialect.default(column.default, spelled)
        if column.default_now:
            default = self.dialect.now_default
        return ColumnInSQL(self.dialect.quote(column.name), spelled, column, default)

    def column_of(self, role: str) -> Column:
        """The column of a role that the table has, by the role's word."""
        column = self.described.column(Role(role))
        assert column is not None
        return column

    def type_of(self, role: str) -> str:
        """The spelled type of the column of a role, as a cast takes it."""
        return without_collation(
            columns.spelled(self.described, self.column_of(role), self.dialect)
        )

    @property
    def channel(self) -> str | None:
        """The channel that an enqueue notifies, as a literal; None: it notifies none."""
        if not (self.described.notify and self.dialect.notify):
            return None
        return self.dialect.literal(channel(self.described))

    def countable(self, a: str = "") -> str:
        """The attempt as a claim tells it that adds one later: the counter stops at its column's maximum,
        and no row fails its claim."""
        return self.dialect.lesser(f"{a}{self._counter}", self._most_counted - 1)

    def counted(self, a: str = "") -> str:
        """The attempt with one more, at most its column's maximum."""
        return f"{self.countable(a)} + 1"

    @property
    def _counter(self) -> str:
        return self.dialect.quote(self.column_of("attempt").name)

    @property
    def _most_counted(self) -> int:
        column = self.column_of("attempt")
        return self.dialect.largest(column.type, self.type_of("attempt"))

    def left_out(self, a: str = "") -> str:
        """The condition that a row is not among those that a claim leaves out, `:set_aside`."""
        return self.dialect.left_out(
            f"{a}{self.dialect.quote(self.described.id.name)}", self.type_of("id")
        )

    @property
    def where(self) -> str | None:
        """The description's extra condition, in parentheses."""
        return self.condition()

    def condition(self, a: str = "") -> str | None:
        """The same with `a` before each column: a part of the statement may be called like one."""
        if not self.described.where:
            return None
        pieces = self.described.conditions[self.dialect.name]
        quote = self.dialect.quote
        return f"({''.join(p if isinstance(p, str) else a + quote(p.name) for p in pieces)})"

    def key(self, a: str = "") -> str:
        """The advisory lock's key of a row."""
        return key_template.key(self.described, self.dialect, a)

    def lock(self, a: str = "") -> str:
        """What is locked for the key of a row."""
        return key_template.lock(self.described, self.dialect, a)

    @property
    def pending(self) -> str:
        """The `status` of a row that waits, as a literal."""
        return self._status("pending")

    @property
    def done(self) -> str:
        """The `status` of a finished row, as a literal."""
        return self._status("done")

    @property
    def dead(self) -> str:
        """The `status` of a dead letter, as a literal."""
        return self._status("dead")

    def _status(self, which: str) -> str:
        column = self.described.column(Role.STATUS)
        assert column is not None and column.status is not None
        return self.dialect.literal(getattr(column.status, which))

    @property
    def stepped(self) -> bool:
        """Whether the claim steps through priorities, so that delayed rows of a better one are not
        walked by every claim."""
        return bool(self.described.has(Role.PRIORITY) and self.described.has(Role.RETRY_AFTER))

    @property
    def coarse_token(self) -> bool:
        """Whether two claims in one moment can have the same expiry."""
        column = self.described.column(Role.LOCKED_UNTIL)
        return column is not None and (column.type.precision or 0) < 6

    @property
    def fate(self) -> str | None:
        """Where dead letters go: `table`, `group`, `mark` (a status), or None."""
        match self.described.dead_letter:
            case DeadLetterTable():
                return "table"
            case DeadLetterGroup():
                return "group"
            case None:
                return "mark" if self.described.has(Role.STATUS) else None

    @property
    def dead_table(self) -> str:
        """The dead-letter table, quoted."""
        dead = self.described.dead_letter
        assert isinstance(dead, DeadLetterTable)
        return self.dialect.qualified(dead.schema, dead.name)

    @property
    def dead_group(self) -> str:
        """The dead-letter group, as a literal."""
        dead = self.described.dead_letter
        assert isinstance(dead, DeadLetterGroup)
        return self.dialect.literal(dead.group)

    def dead_extra(self, which: str) -> str | None:
        """The dead-letter table's column for `reason`, `error` or `time`, quoted; None: it has none."""
        dead = self.described.dead_letter
        assert isinstance(dead, DeadLetterTable)
        name = getattr(dead, which)
        return self.dialect.quote(name) if name else None


_PARTS = frozenset(
    {
        "candidate",
        "chosen",
        "taken",
        "moved",
        "step",
        "seen",
        "head",
        "held",
        "locked",
        "dead",
        "free",
        "t",
        "c",
    }
)
