"""PyMySQL reads the server's status from an OK packet, and not from the one that ends rows.

After a SELECT, or MariaDB's INSERT .. RETURNING, a connection that is not in autocommit is in a
transaction and does not know it. A claim that believed it would fail at SET TRANSACTION, or commit
the caller's work with START TRANSACTION.
"""

from __future__ import annotations

import pytest

from sqlclaimgen.runtime import TransactionOpen
from sqlclaimgen.runtime.driving import session_of
from tests.care.cases import DEAD_TABLE
from tests.conformance.harness import Stand, on_cases

ON_PYMYSQL = DEAD_TABLE.with_(name="pymysql", dialects=("mysql", "mariadb"))


@on_cases(ON_PYMYSQL)
@pytest.mark.parametrize("work", ["select", "enqueue"])
def test_an_open_transaction_is_seen(stand: Stand, work: str) -> None:
    connection = stand.connect()
    session = session_of(connection, table="jobs")
    assert not session.in_transaction
    if work == "select":
        cursor = connection.cursor()
        cursor.execute("SELECT COUNT(*) FROM jobs")
        cursor.fetchall()
    else:
        stand.module.enqueue(connection, stand.module.New(queue="a", payload={}))
    assert session.in_transaction
    with pytest.raises(TransactionOpen):
        stand.claim(connection)
    connection.rollback()
    assert not session.in_transaction
    assert stand.count == 0


@on_cases(ON_PYMYSQL)
def test_a_settlement_joins_the_transaction_of_an_enqueue(stand: Stand) -> None:
    (id,) = stand.enqueue([{"queue": "a", "payload": 1}])
    connection = stand.connect()
    with stand.claim(connection) as deliveries:
        (delivery,) = list(deliveries)
        stand.module.enqueue(connection, stand.module.New(queue="a", payload=2))
        delivery.ack(connection)
        connection.rollback()
        row = stand.row(id)
        assert row is not None and row["finished"] is None
        assert stand.count == 1
