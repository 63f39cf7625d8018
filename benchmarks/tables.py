"""The tables that are worked on: one description, generated, created and filled."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from functools import cached_property
from typing import Any

from tests.servers import Database
from tests.support.generated import Generated

_COLUMNS = """
id = { role = "id", type = "bigint", generated = true }
queue = { role = "group", type = "varchar(40)" }
priority = { role = "priority" }
retry_after = { role = "retry_after" }
attempt = { role = "attempt" }
payload = { role = "payload", type = "bytes" }
"""

DESCRIPTION = f"""
format = 1

[table.lease_jobs]
dialects = ["postgres", "mysql", "mariadb", "sqlite"]
lease = "60s"
[table.lease_jobs.columns]
locked_until = {{ role = "locked_until" }}
{_COLUMNS}
[table.notified_jobs]
dialects = ["postgres"]
lease = "60s"
notify = true
[table.notified_jobs.columns]
locked_until = {{ role = "locked_until" }}
{_COLUMNS}
[table.row_lock_jobs]
dialects = ["postgres"]
[table.row_lock_jobs.columns]
{_COLUMNS}
[table.advisory_jobs]
dialects = ["postgres"]
advisory_lock = "accounts-{{account}}"
[table.advisory_jobs.columns]
account = {{ type = "bigint" }}
{_COLUMNS}
"""

QUEUE = "mails"
"""The group that every row is in."""
PAYLOAD = b"x" * 64
_SECOND = timedelta(seconds=1)

# After a fill: what a table that has stood for a while has behind it.
_SETTLED: dict[str, tuple[str, ...]] = {
    "postgres": ("VACUUM (ANALYZE) {}", "CHECKPOINT"),
    "mysql": ("ANALYZE TABLE {}",),
    "mariadb": ("ANALYZE TABLE {}",),
    "sqlite": ("ANALYZE {}", "PRAGMA wal_checkpoint(TRUNCATE)"),
}
_CLEARED = {"sqlite": "DELETE FROM {}"}
_OPENED = {"sqlite": ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL")}


def _microseconds(time: datetime) -> int:
    return (time - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(microseconds=1)


def _naive(time: datetime) -> datetime:
    return time.replace(tzinfo=None)


STORED: dict[str, Callable[[datetime], Any]] = {
    "postgres": lambda time: time,
    "mysql": _naive,
    "mariadb": _naive,
    "sqlite": _microseconds,
}
"""How a time is passed to each database's driver."""


class Table:
    """One generated table in a database of its own."""

    def __init__(self, database: Database, generated: Generated, name: str) -> None:
        self.database = database
        self.name = name
        self.module: Any = generated.module(name)
        self.state: str | None = None
        """What a case has filled it with and left there; None: nothing that another one may rely on."""
        self._generated = generated
        generated.install(database, name)

    @cached_property
    def keyed(self) -> bool:
        """Whether the table has the column of the advisory key."""
        return "account" in self.module.New.__dataclass_fields__

    @property
    def dsn(self) -> str:
        """The database's address."""
        return self.database.dsn

    def connect(self) -> Any:
        """A new connection of the plain driver, whose commits are durable."""
        connection = self.database.connect()
        for text in _OPENED.get(self.database.dialect, ()):
            connection.execute(text)
        return connection

    def stored(self, time: datetime) -> Any:
        """The time as the driver takes it."""
        return STORED[self.database.dialect](time)

    def clear(self) -> None:
        """Remove every row."""
        self.state = None
        text = _CLEARED.get(self.database.dialect, "TRUNCATE TABLE {}")
        self.database.execute(text.format(self.name))

    def refill(self, rows: int, keys: int = 1) -> None:
        """Due rows and nothing else, on `keys` keys."""
        self.clear()
        self.add(rows, keys=keys)
        self.rest()

    def add(
        self,
        rows: int,
        *,
        priority: int = 5,
        delay: timedelta = -_SECOND,
        lease: timedelta | None = None,
        keys: int = 1,
    ) -> None:
        """Add rows of one priority that are due after `delay`, and under a lease when it is given."""
        now = datetime.now(timezone.utc)
        values: dict[str, tuple[str, Any]] = {
            "queue": ("%s", QUEUE),
            "priority": ("%s", priority),
            "retry_after": ("%s", self.stored(now + delay)),
            "payload": ("%s", PAYLOAD),
        }
        if lease is not None:
            values["locked_until"] = ("%s", self.stored(now + lease))
        if self.keyed:
            values["account"] = ("number %% %s", keys)
        columns, terms = ", ".join(values), ", ".join(term for term, _ in values.values())
        self.database.execute(
            f"INSERT INTO {self.name} ({columns}) SELECT {terms} FROM {_numbers(rows)}"
            " WHERE number < %s",
            [*(value for _, value in values.values()), rows],
        )

    def rest(self) -> None:
        """Let the database catch up: statistics, and what a fill left to be written."""
        for text in _SETTLED[self.database.dialect]:
            self.database.execute(text.format(self.name))

    def left(self) -> int:
        """How many rows there are: those that are not finished, for a finished one is deleted."""
        return int(self.database.value(f"SELECT COUNT(*) FROM {self.name}"))


def _numbers(rows: int) -> str:
    """A derived table of at least so many numbers, from 0, on any database."""
    digits = " UNION ALL ".join(f"SELECT {n} AS d" for n in range(10))
    places = range(len(str(rows)))
    total = " + ".join(f"{10**place} * t{place}.d" for place in places)
    tables = " CROSS JOIN ".join(f"({digits}) AS t{place}" for place in places)
    return f"(SELECT {total} AS number FROM {tables}) AS numbers"
