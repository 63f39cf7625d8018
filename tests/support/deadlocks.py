"""A deadlock whose victim is the connection at hand: InnoDB rolls its whole transaction back."""

from __future__ import annotations

import threading
from typing import Any

TABLES = (
    "CREATE TABLE effects (job BIGINT)",
    "CREATE TABLE other (id INT PRIMARY KEY, n INT)",
    "INSERT INTO other VALUES (1, 0), (2, 0)",
    "CREATE TABLE heavy (id INT PRIMARY KEY)",
)


def prepare(database: Any) -> None:
    """The tables that `victim` works on, and `effects` for what a handler writes."""
    for text in TABLES:
        database.execute(text)


def victim(database: Any, connection: Any) -> BaseException:
    """Run into a deadlock on `connection`, and return its error, as code does that keeps it inside."""
    rival = database.connect()
    cursor = rival.cursor()
    # the server gives up the transaction that wrote less
    cursor.execute("INSERT INTO heavy VALUES " + ",".join(f"({n})" for n in range(500)))
    cursor.execute("UPDATE other SET n = n + 1 WHERE id = 2")
    connection.cursor().execute("UPDATE other SET n = n + 1 WHERE id = 1")
    waiting = threading.Thread(
        target=lambda: cursor.execute("UPDATE other SET n = n + 1 WHERE id = 1")
    )
    waiting.start()
    database.wait_until_blocked(database.session_id(rival))
    try:
        connection.cursor().execute("UPDATE other SET n = n + 1 WHERE id = 2")
    except Exception as error:
        return error
    finally:
        waiting.join(60)
        rival.rollback()
        rival.close()
    raise AssertionError("no deadlock")
