"""A table of any shape, made by its generated DDL and filled so that a wrong plan shows: mostly rows
that are finished or delayed, and what is due sorts behind what is not."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlclaimgen.description.model import Column, DeadLetterGroup, DeadLetterTable, Role, Table
from sqlclaimgen.dialects import DIALECTS
from sqlclaimgen.runtime.codecs import CODECS, Codec, Held, to_microseconds
from sqlclaimgen.statements import Plan, columns, plan
from tests.servers import Database

ROWS = 12_000
FINISHED = ROWS * 80 // 100
DEAD = 1000
GROUPS, FIFO_GROUPS = 5, 250


@dataclass
class Crowd:
    """One filled table on a database."""

    database: Database
    plan: Plan
    connection: Any = field(init=False)
    """What statements are judged over."""
    made: datetime = field(default_factory=lambda: datetime.now(UTC))
    """What the times in its rows are counted from."""

    def __post_init__(self) -> None:
        self.connection = self.database.connect()

    @property
    def table(self) -> Table:
        return self.plan.table

    @property
    def codec(self) -> Codec:
        return CODECS[self.database.dialect]

    def parameters(self, statement: str, many: int) -> dict[str, Any]:
        """Something that fits every parameter of a statement. `many`: the length of lists, and the
        limit."""
        codec, now = self.codec, datetime.now(UTC)
        time = codec.time(now)
        kind = columns.kind(self.table.id)
        # dead letters are what is brought back
        last = FINISHED + DEAD if statement.startswith("redrive") else ROWS
        ids = list(range(last - many + 1, last + 1))
        held = [Held(id, now, now, 2) for id in ids]
        names = [self.group(n) for n in range(many)]
        numbers = ("attempt", "transaction", "lock", "session")
        return {
            **{column.field: None for column in self.table.columns},
            "account": "k1",
            "note": "",
            "attempt": 2,
            "state": "pending",
            **dict.fromkeys(("now", "due", "token", "sent"), time),
            "before": codec.time(now + timedelta(hours=1)),
            "since": codec.time(now - timedelta(hours=3)),
            "soon": codec.time(now + timedelta(seconds=5)),
            "locked_until": codec.time(now + timedelta(seconds=60)),
            **dict.fromkeys(("limit",), many),
            "window": 100,
            "last": 99,
            # in the middle of the rows that are due, even with those before and behind it
            "seen_id": FINISHED + DEAD + 200,
            "seen_value": codec.time(self.made - timedelta(hours=1))
            if self.table.has(Role.RETRY_AFTER)
            else 2,
            "most": 1000,
            "priority": 2,
            "urgency": 2,
            "queue": "g1",
            **dict.fromkeys(("group", "after"), self.group(1)),
            "until": self.group(3),
            **dict.fromkeys(("reason", "error", "lock_name", "key_text"), "none"),
            **dict.fromkeys(numbers, 1),
            **codec.groups(names),
            **codec.left_out([] if self.database.dialect != "postgres" else [1]),
            **codec.set_aside(ids[:2]),
            **codec.ids(kind, ids),
            **codec.held(kind, held),
            "id": ROWS,
        }

    def group(self, number: int) -> str:
        """The name of a group."""
        return f"g{number % FIFO_GROUPS:03}" if self.table.fifo else f"g{number % GROUPS}"

    # -- filling -----------------------------------------------------------------------------------

    def fill(self) -> None:
        quote = self.plan.dialect.quote
        named = {c.name: self._value(c) for c in self.table.columns}
        chosen = {name: value for name, value in named.items() if value is not None}
        names = ", ".join(map(quote, chosen))
        overriding = " OVERRIDING SYSTEM VALUE" if self.database.dialect == "postgres" else ""
        self.database.execute(
            f"INSERT INTO {quote('jobs')} ({names}){overriding} SELECT {', '.join(chosen.values())}"
            " FROM numbers ORDER BY n"
        )
        tables = [self.table.name]
        if isinstance(self.table.dead_letter, DeadLetterTable):
            dead = self.table.dead_letter
            # those that nothing keeps from coming back stand behind a few whose key is taken
            others = ", ".join(quote(c.name) for c in self.table.columns if c.role != Role.ID)
            back = others.replace(quote("slip"), f"CASE WHEN id % 100 = 0 THEN {quote('slip')} END")
            self.database.execute(
                f"INSERT INTO {quote(dead.name)} ({quote('id')}, {others}, {quote('died_at')})"
                f" SELECT id + {ROWS}, {back}, {self._time(hours=-1)}"
                f" FROM {quote('jobs')} WHERE id > {ROWS // 2}"
            )
            tables.append(dead.name)
        for name in tables:
            how = {"postgres": f"ANALYZE {quote(name)}", "sqlite": "ANALYZE"}
            self.database.execute(how.get(self.database.dialect, f"ANALYZE TABLE {quote(name)}"))

    def _value(self, column: Column) -> str | None:
        """A column's value in row `n`."""
        table = self.table
        kept = f"n <= {FINISHED}" if table.keeps_finished else "1 = 0"
        dead = f"n > {FINISHED} AND n <= {FINISHED + DEAD}"
        due = f"({kept} OR n % 20 = 0 OR {dead})" if table.has(Role.RETRY_AFTER) else "1 = 1"
        match column.role:
            case Role.ID:
                return "n"
            case Role.GROUP:
                groups = FIFO_GROUPS if table.fifo else GROUPS
                width = 3 if table.fifo else 1
                number = (
                    f"(n / 20) % {groups}"
                    if self.database.dialect in _WHOLE
                    else f"FLOOR(n / 20) % {groups}"
                )
                text = self._padded(number, width)
                cases = (
                    f"WHEN n % 100 = 60 THEN NULL ELSE {text}" if column.null else f"ELSE {text}"
                )
                buried = isinstance(table.dead_letter, DeadLetterGroup)
                first = f"WHEN {dead} THEN 'dead' " if buried else "WHEN 1 = 0 THEN '' "
                return f"CASE {first}{cases} END"
            case Role.PRIORITY:
                return f"CASE WHEN {due} THEN 2 ELSE n % 2 END"
            case Role.RETRY_AFTER:
                return f"CASE WHEN {due} THEN {self._time(hours=-1)} ELSE {self._time(hours=9)} END"
            case Role.LOCKED_UNTIL:
                return (
                    f"CASE WHEN {kept} THEN NULL WHEN n % 200 = 20 THEN {self._time(hours=1)}"
                    f" WHEN n % 400 = 40 THEN {self._time(hours=-1)} END"
                )
            case Role.PROCESSED_AT:
                return f"CASE WHEN {kept} THEN {self._time(hours=-2)} END"
            case Role.STATUS:
                buried = table.dead_letter is None
                other = f"WHEN {dead} THEN 'dead' " if buried else ""
                return f"CASE WHEN {kept} THEN 'done' {other}ELSE 'pending' END"
            case Role.ORIGIN:
                return f"CASE WHEN {dead} THEN 'g1' END"
            case Role.DEDUPE_KEY:
                return f"CASE WHEN {kept} THEN NULL ELSE {self._padded('n', 6)} END"
            case _:
                pass
        match column.name:
            case "account":
                return self._padded("n % 97", 2)
            case "note":
                return "CASE WHEN n % 140 = 0 THEN 'held back' ELSE '' END"
            case _:
                return None

    def _padded(self, number: str, width: int) -> str:
        match self.database.dialect:
            case "sqlite":
                return f"printf('g%0{width}d', {number})"
            case "postgres":
                return f"'g' || lpad(CAST({number} AS text), {width}, '0')"
            case _:
                return f"CONCAT('g', LPAD({number}, {width}, '0'))"

    def _time(self, *, hours: int) -> str:
        time = self.made + timedelta(hours=hours)
        match self.database.dialect:
            case "sqlite":
                return str(to_microseconds(time))
            case "postgres":
                return f"TIMESTAMPTZ '{time.isoformat()}'"
            case _:
                return f"'{time.replace(tzinfo=None).isoformat(sep=' ')}'"


_WHOLE = ("postgres", "sqlite")
"""Databases that divide whole numbers to whole numbers."""


def numbers(database: Database) -> None:
    """Make the table of the numbers from 1 to ROWS, which rows are made of."""
    digits = " UNION ALL ".join(f"SELECT {n}" for n in range(1, 10))
    key = " PRIMARY KEY"
    database.execute(f"CREATE TABLE numbers (n integer NOT NULL{key})")
    parts = " + ".join(f"{10**place} * d{place}.n" for place in range(5))
    crossed = ", ".join(f"d AS d{place}" for place in range(5))
    database.execute(
        f"INSERT INTO numbers WITH d AS (SELECT 0 AS n UNION ALL {digits})"
        f" SELECT n FROM (SELECT 1 + {parts} AS n FROM {crossed}) AS counted WHERE n <= {ROWS}"
    )


def crowd(database: Database, table: Table) -> Crowd:
    """The table in place of the last one, filled."""
    made = Crowd(database, plan(table, DIALECTS[database.dialect]))
    for name in ("jobs", "jobs_dead"):
        database.execute(f"DROP TABLE IF EXISTS {name}")
    database.execute_script(made.plan.ddl)
    made.fill()
    return made
