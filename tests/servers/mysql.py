"""MySQL for the tests."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from .base import Row, SessionId
from .innodb import InnoDBDatabase, InnoDBServer, server_user
from .processes import run
from .programs import Program, ProgramMissing, find


class MySQLDatabase(InnoDBDatabase):
    """A database of a MySQL server."""

    dialect: ClassVar[str] = "mysql"

    def innodb_lock_counts(self) -> dict[SessionId, int]:
        """What `performance_schema.data_locks` shows, table locks left out."""
        rows = self.execute(
            "SELECT t.processlist_id, COUNT(*) FROM performance_schema.data_locks l"
            " JOIN performance_schema.threads t ON t.thread_id = l.thread_id"
            " WHERE l.lock_type = 'RECORD' AND l.lock_status = 'GRANTED'"
            " GROUP BY t.processlist_id"
        )
        return {int(session): int(count) for session, count in rows}

    def innodb_locks(self) -> list[Row]:
        """Every row lock: session, table, index, mode, status, data. MariaDB does not show them."""
        return self.execute(
            "SELECT t.processlist_id, l.object_name, l.index_name, l.lock_mode, l.lock_status,"
            " l.lock_data FROM performance_schema.data_locks l"
            " JOIN performance_schema.threads t ON t.thread_id = l.thread_id"
            " WHERE l.lock_type = 'RECORD' ORDER BY 1, 2, 3, 6"
        )

    def _waiting_for_rows(self) -> set[SessionId]:
        # Not innodb_trx, which shows an old state for as long as it is read often.
        rows = self.execute(
            "SELECT t.processlist_id FROM performance_schema.data_lock_waits w"
            " JOIN performance_schema.threads t ON t.thread_id = w.requesting_thread_id"
        )
        return {int(row[0]) for row in rows}


class MySQLServer(InnoDBServer[MySQLDatabase]):
    """A MySQL server."""

    dialect: ClassVar[str] = "mysql"
    database_class = MySQLDatabase
    program_name: ClassVar[str] = "mysql"
    defaults: ClassVar[dict[str, str | int]] = {
        "mysqlx": "OFF",
        "secure-file-priv": "NULL",
        "performance-schema": "ON",
    }

    @property
    def client(self) -> Program:
        """The `mysql` client, or where MySQL came without it MariaDB's."""
        for client in (self.program.sibling("mysql"), find("mariadb").sibling("mariadb")):
            if client is not None:
                return client
        raise ProgramMissing(self.program_name)

    def initialize(self, folder: Path) -> None:
        """Runs `mysqld --initialize-insecure`."""
        run(
            self.program.command(*self._common(folder), "--initialize-insecure"),
            folder=folder,
            environment=self.program.variables(),
        )

    def command(self, folder: Path) -> list[str]:
        """`mysqld` in the foreground."""
        return self.program.command(
            *self._common(folder),
            f"--socket={folder}/socket",
            f"--pid-file={folder}/pid",
            # a server that starts removes the temporary tables of every other one in the same place
            f"--tmpdir={folder}",
            *self.options(),
        )

    def _common(self, folder: Path) -> list[str]:
        return ["--no-defaults", *server_user(), *self._base(), f"--datadir={folder}/data"]

    def _base(self) -> list[str]:
        tree = self.program.tree
        if tree is None:
            return []
        return [
            f"--basedir={tree}/usr",
            f"--lc-messages-dir={tree}/usr/share/mysql",
            f"--plugin-dir={tree}/usr/lib/mysql/plugin",
        ]
