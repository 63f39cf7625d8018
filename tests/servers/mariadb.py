"""MariaDB for the tests."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from .base import SessionId
from .innodb import InnoDBDatabase, InnoDBServer, server_user
from .processes import run
from .programs import Program, ProgramMissing


class MariaDBDatabase(InnoDBDatabase):
    """A database of a MariaDB server."""

    dialect: ClassVar[str] = "mariadb"
    server: MariaDBServer

    def innodb_lock_counts(self) -> dict[SessionId, int]:
        """InnoDB's own count per transaction. It may count a row that was only passed over."""
        return {session: count for session, count, _ in self._transactions() if count}

    def _waiting_for_rows(self) -> set[SessionId]:
        return {session for session, _, state in self._transactions() if state == "LOCK WAIT"}

    def _transactions(self) -> list[tuple[SessionId, int, str]]:
        # The server refreshes this view only when nobody has read it for a tenth of a second.
        with self.server.transactions_lock:
            time.sleep(0.11)
            rows = self.execute(
                "SELECT trx_mysql_thread_id, trx_rows_locked, trx_state"
                " FROM information_schema.innodb_trx"
            )
        return [(int(session), int(count), str(state)) for session, count, state in rows]


class MariaDBServer(InnoDBServer[MariaDBDatabase]):
    """A MariaDB server."""

    dialect: ClassVar[str] = "mariadb"
    database_class = MariaDBDatabase
    program_name: ClassVar[str] = "mariadb"
    defaults: ClassVar[dict[str, str | int]] = {
        "character-set-server": "utf8mb4",
        "innodb-log-file-size": "32M",
    }

    def __init__(
        self, settings: Mapping[str, str | int] | None = None, *, durable: bool = False
    ) -> None:
        super().__init__(settings, durable=durable)
        self.transactions_lock = threading.Lock()

    @property
    def client(self) -> Program:
        """The `mariadb` client."""
        client = self.program.sibling("mariadb")
        if client is None:
            raise ProgramMissing(self.program_name)
        return client

    def initialize(self, folder: Path) -> None:
        """Runs `mariadb-install-db`, a script that starts the server program by itself."""
        script = self.program.sibling("mariadb-install-db")
        if script is None:
            raise ProgramMissing(self.program_name)
        run(
            script.command(
                "--no-defaults",
                *self._base(),
                *server_user(),
                f"--datadir={folder}/data",
                "--auth-root-authentication-method=normal",
                "--skip-test-db",
                "--innodb-log-file-size=32M",
            ),
            folder=folder,
            environment=script.variables(),
        )

    def command(self, folder: Path) -> list[str]:
        """`mariadbd` in the foreground."""
        return self.program.command(
            "--no-defaults",
            *self._base(),
            *server_user(),
            f"--datadir={folder}/data",
            f"--socket={folder}/socket",
            f"--pid-file={folder}/pid",
            # a server that starts removes the temporary tables of every other one in the same place
            f"--tmpdir={folder}",
            *self.options(),
        )

    def _base(self) -> list[str]:
        return [f"--basedir={self.program.tree / 'usr'}"] if self.program.tree else []
