"""By hand over psycopg's asyncio connection: what holds over a blocking one holds here, in every form."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from sqlclaimgen.runtime import (
    AlreadySettled,
    ClaimLost,
    Closed,
    ConnectionBusy,
    LeaseLost,
    StatementFailed,
    TransactionOpen,
    UnsupportedServer,
    WrongConnection,
    transaction_async,
)
from sqlclaimgen.runtime.drivers.psycopg_async import AsyncPsycopgSession
from sqlclaimgen.runtime.steps import Begin, Commit, Result, Step
from tests.conformance.harness import Case, Stand, on_cases

_COLUMNS = """
    [table.jobs.columns]
    id = { role = "id", type = "bigint", generated = true }
    account = { type = "text" }
    run_after = { role = "retry_after" }
    attempt = { role = "attempt" }
    processed_at = { role = "processed_at" }
    note = { role = "last_error", type = "text", null = true }
"""
_DEAD = """
    max_attempts = 3
    dead_letter = { table = "jobs_dead" }
"""
LEASE = Case(
    "lease",
    f'{_DEAD}\n    lease = "60s"\n{_COLUMNS}    locked_until = {{ role = "locked_until" }}\n',
    dialects=("postgres",),
)
ROW_LOCK = Case("row-lock", _DEAD + _COLUMNS, dialects=("postgres",))
ADVISORY = Case(
    "advisory",
    f'{_DEAD}\n    advisory_lock = "accounts-{{account}}"\n{_COLUMNS}',
    dialects=("postgres",),
)
FORMS = (LEASE, ROW_LOCK, ADVISORY)

implicit_and_autocommit = pytest.mark.parametrize("autocommit", [False, True])


@contextlib.asynccontextmanager
async def connected(stand: Stand, *, autocommit: bool = False) -> AsyncIterator[Any]:
    database: Any = stand.database
    connection = await database.connect_async(autocommit=autocommit)
    try:
        yield connection
    finally:
        await connection.close()


def run(stand: Stand, body: Callable[[Any], Awaitable[None]], *, autocommit: bool = False) -> None:
    """Run `body` with an asyncio connection."""

    async def main() -> None:
        async with connected(stand, autocommit=autocommit) as connection:
            await asyncio.wait_for(body(connection), 30)

    asyncio.run(main())


def due_ids(stand: Stand) -> list[int]:
    """What another connection could claim now."""
    found: list[int] = []
    connection = stand.connect()
    for _ in range(10):
        with stand.claim(connection) as deliveries:
            taken = [delivery.id for delivery in deliveries]
            for delivery in deliveries._deliveries:
                delivery.retry_after(connection, timedelta(hours=1))
            found += taken
        if not taken:
            break
    connection.close()
    return found


def over(stand: Stand, connection: Any) -> bool:
    """Whether a claim that was cancelled left nothing open. Where its statement may have won a key the
    connection is closed."""
    return idle(connection) or (stand.case is ADVISORY and connection.closed)


def idle(connection: Any) -> bool:
    return bool(connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE)


@implicit_and_autocommit
@on_cases(*FORMS)
def test_the_effect_and_the_ack_are_one_commit(stand: Stand, autocommit: bool) -> None:
    stand.database.execute("CREATE TABLE effects (id bigint)")
    [first, second] = stand.enqueue([{"account": "a"}, {"account": "b"}])

    async def body(connection: Any) -> None:
        for fails in (True, False):
            with contextlib.suppress(ZeroDivisionError):
                async with stand.module.claim_async(connection) as deliveries:
                    assert len(deliveries) == 1
                    for delivery in deliveries:
                        assert delivery.attempt == 1
                        async with transaction_async(connection):
                            await connection.execute(
                                "INSERT INTO effects VALUES (%s)", [delivery.id]
                            )
                            await delivery.ack_async(connection)
                            if fails:
                                raise ZeroDivisionError
            assert idle(connection)
            if fails:
                stand.database.execute(
                    f"UPDATE jobs SET run_after = '2100-01-01' WHERE id = {first}"
                )

    run(stand, body, autocommit=autocommit)
    assert stand.database.execute("SELECT id FROM effects") == [(second,)]
    assert [row["id"] for row in stand.rows() if row["processed_at"]] == [second]


@on_cases(*FORMS)
def test_every_outcome(stand: Stand) -> None:
    accounts = ["ack", "retry", "retry_after", "discard", "dead_letter"]
    ids = dict(zip(accounts, stand.enqueue([{"account": one} for one in accounts]), strict=True))

    async def body(connection: Any) -> None:
        for _ in accounts:
            async with stand.module.claim_async(connection) as deliveries:
                for delivery in deliveries:
                    outcome = delivery.row.account
                    settle = getattr(delivery, f"{outcome}_async")
                    more = {
                        "retry": ["later"],
                        "retry_after": [timedelta(hours=1), "away"],
                        "dead_letter": ["rejected", "broken"],
                    }
                    arguments: Any = more.get(outcome, [])
                    await settle(connection, *arguments)
                    with pytest.raises(AlreadySettled):
                        await delivery.ack_async(connection)

    run(stand, body)
    rows = {row["account"]: row for row in stand.rows()}
    assert rows["ack"]["processed_at"] is not None
    assert rows["discard"]["processed_at"] is not None
    assert rows["retry"]["note"] == "later"
    assert rows["retry_after"]["run_after"] > datetime.now(UTC) + timedelta(minutes=50)
    assert "dead_letter" not in rows
    [dead] = stand.rows(dead=True)
    assert (dead["id"], dead["reason"], dead["error"]) == (ids["dead_letter"], "rejected", "broken")


@implicit_and_autocommit
@on_cases(*FORMS)
def test_leaving_the_block_gives_back(stand: Stand, autocommit: bool) -> None:
    ids = stand.enqueue([{"account": "a"}])
    kept: list[Any] = []

    async def body(connection: Any) -> None:
        async with stand.module.claim_async(connection) as deliveries:
            kept.extend(deliveries)
        assert idle(connection)
        with pytest.raises(Closed):
            await kept[0].ack_async(connection)
        with pytest.raises(Closed):
            list(deliveries)

    run(stand, body, autocommit=autocommit)
    assert due_ids(stand) == ids


@pytest.mark.parametrize("again", [False, True], ids=["once", "again-and-again"])
@on_cases(*FORMS)
def test_a_cancelled_task_gives_its_rows_back(stand: Stand, again: bool) -> None:
    """Cancelled again at every turn of the loop, too, as anyio's scopes do."""
    ids = stand.enqueue([{"account": "a"}])

    async def body(connection: Any) -> None:
        entered = asyncio.Event()

        async def work() -> None:
            async with stand.module.claim_async(connection) as deliveries:
                for delivery in deliveries:
                    async with transaction_async(connection):
                        await delivery.ack_async(connection)
                        entered.set()
                        await asyncio.sleep(60)

        task = asyncio.create_task(work())
        await entered.wait()
        task.cancel()
        while again and not task.done():
            task.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await task
        assert idle(connection)

    run(stand, body)
    assert due_ids(stand) == ids


@pytest.mark.parametrize("step", [Begin, Commit])
@implicit_and_autocommit
@on_cases(*FORMS)
def test_a_task_cancelled_in_its_claim_holds_nothing(
    stand: Stand, monkeypatch: pytest.MonkeyPatch, step: type[Any], autocommit: bool
) -> None:
    ids = stand.enqueue([{"account": "a"}])
    execute = AsyncPsycopgSession.execute
    cancelled: list[Step] = []

    async def body(connection: Any) -> None:
        async def work() -> None:
            async with stand.module.claim_async(connection):
                await asyncio.sleep(60)

        async def cancelling(self: AsyncPsycopgSession, one: Step) -> Result:
            if isinstance(one, step) and not cancelled:
                cancelled.append(one)
                task.cancel()
                await asyncio.sleep(0)
            return await execute(self, one)

        monkeypatch.setattr(AsyncPsycopgSession, "execute", cancelling)
        task = asyncio.create_task(work())
        if stand.case is ROW_LOCK and step is Commit:
            # its claim commits nothing; the end of its block does
            await asyncio.sleep(0.2)
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert over(stand, connection)

    run(stand, body, autocommit=autocommit)
    assert due_ids(stand) == ids
    assert [row["attempt"] for row in stand.rows()] == [2]


@on_cases(*FORMS)
def test_a_cancellation_stops_a_claim_that_waits(stand: Stand) -> None:
    ids = stand.enqueue([{"account": "a"}])
    other = stand.connect()
    other.execute("LOCK TABLE jobs IN ACCESS EXCLUSIVE MODE")

    async def body(connection: Any) -> None:
        async def work() -> None:
            async with stand.module.claim_async(connection):
                await asyncio.sleep(60)

        task = asyncio.create_task(work())
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        while stand.database.value(waiting) == 0:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert over(stand, connection)

    run(stand, body)
    other.rollback()
    assert due_ids(stand) == ids


@on_cases(LEASE)
def test_a_lost_lease_rolls_the_effect_back(stand: Stand) -> None:
    stand.database.execute("CREATE TABLE effects (id bigint)")
    stand.enqueue([{"account": "a"}])
    later = stand.later(120)

    async def body(connection: Any) -> None:
        async with stand.module.claim_async(connection) as deliveries:
            for delivery in deliveries:
                async with (
                    connected(stand) as second,
                    later.claim_async(second) as others,
                ):
                    assert len(others) == 1
                    with pytest.raises(LeaseLost):
                        async with transaction_async(connection):
                            await connection.execute("INSERT INTO effects VALUES (1)")
                            await delivery.ack_async(connection)
                    assert delivery.lost
                    for other in others:
                        await other.ack_async(second)

    run(stand, body)
    assert stand.database.execute("SELECT id FROM effects") == []
    assert [row["processed_at"] is not None for row in stand.rows()] == [True]


@on_cases(ROW_LOCK, ADVISORY)
def test_a_killed_session_loses_the_claim(stand: Stand) -> None:
    ids = stand.enqueue([{"account": "a"}])

    async def body(connection: Any) -> None:
        with pytest.raises((ClaimLost, StatementFailed)):
            async with stand.module.claim_async(connection) as deliveries:
                for delivery in deliveries:
                    stand.database.kill_session(stand.database.session_id(connection))
                    with pytest.raises(ClaimLost):
                        await delivery.ack_async(connection)
                    raise ClaimLost("seen", table="jobs")

    run(stand, body)
    assert due_ids(stand) == ids


@on_cases(ROW_LOCK, ADVISORY)
def test_only_the_claims_connection_settles(stand: Stand) -> None:
    stand.enqueue([{"account": "a"}])

    async def body(connection: Any) -> None:
        async with (
            connected(stand) as other,
            stand.module.claim_async(connection) as deliveries,
        ):
            for delivery in deliveries:
                with pytest.raises(WrongConnection):
                    await delivery.ack_async(other)

    run(stand, body)


@on_cases(*FORMS)
def test_a_claim_refuses_an_open_transaction(stand: Stand) -> None:
    async def body(connection: Any) -> None:
        await connection.execute("SELECT 1")
        with pytest.raises(TransactionOpen):
            async with stand.module.claim_async(connection):
                pass
        await connection.rollback()
        with pytest.raises(ValueError, match="limit is 0"):
            async with _claim_of(stand, connection, 0):
                pass
        with pytest.raises(Closed, match="async with"):
            list(stand.module.claim_async(connection))

    run(stand, body)


@on_cases(*FORMS)
def test_two_tasks_do_not_claim_over_one_connection_at_once(stand: Stand) -> None:
    stand.enqueue([{"account": "a"}, {"account": "a"}])

    async def body(connection: Any) -> None:
        async def claim() -> int:
            async with stand.module.claim_async(connection) as deliveries:
                return len(deliveries)

        found = await asyncio.gather(claim(), claim(), return_exceptions=True)
        assert [type(one) for one in found] == [int, ConnectionBusy]

    run(stand, body)


def _claim_of(stand: Stand, connection: Any, limit: int) -> Any:
    from sqlclaimgen.runtime import ONLY, claim_async

    return claim_async(stand.module.QUEUE, connection, ONLY, limit)


@on_cases(*FORMS)
def test_enqueue_joins_and_never_commits(stand: Stand) -> None:
    new = stand.module.New

    async def body(connection: Any) -> None:
        await stand.module.enqueue_async(connection, new(account="a"))
        await connection.rollback()
        ids = await stand.module.enqueue_many_async(
            connection, [new(account="b"), new(account="c")]
        )
        await connection.commit()
        assert [row["id"] for row in stand.rows()] == ids
        with pytest.raises(ZeroDivisionError):
            async with transaction_async(connection):
                await stand.module.enqueue_async(connection, new(account="d"))
                raise ZeroDivisionError
        async with transaction_async(connection):
            with contextlib.suppress(ZeroDivisionError):
                async with transaction_async(connection):
                    await stand.module.enqueue_async(connection, new(account="e"))
                    raise ZeroDivisionError
            await stand.module.enqueue_async(connection, new(account="f"), delay=timedelta(hours=1))
        assert idle(connection)

    run(stand, body)
    assert [row["account"] for row in stand.rows()] == ["b", "c", "f"]
    assert len(due_ids(stand)) == 2


@on_cases(LEASE)
def test_the_rest_of_a_module(stand: Stand) -> None:
    [dead, _] = stand.enqueue([{"account": "dead"}, {"account": "held"}])

    async def body(connection: Any) -> None:
        module = stand.module
        async with module.claim_async(connection, limit=2) as deliveries:
            first, second = deliveries
            await first.dead_letter_async(connection)
            before = second.token
            assert await module.extend_async(connection, [second]) == []
            assert second.token > before
            stats = await module.stats_async(connection)
            assert (stats.due.value, stats.in_work.value, stats.dead.value) == (0, 1, 1)
            assert idle(connection)
            await module.release_async(connection, [second])
        assert await module.redrive_async(connection, ids=[dead]) == [dead]
        assert await module.redrive_async(connection, limit=5) == []
        async with module.claim_async(connection, limit=2) as deliveries:
            for delivery in deliveries:
                await delivery.ack_async(connection)
        long_ago = timedelta(days=1)
        assert await module.purge_async(connection, older_than=long_ago) == 0
        assert await module.purge_async(connection, older_than=timedelta(0)) == 2

    run(stand, body)
    assert stand.count == 0


@on_cases(LEASE)
def test_a_connection_of_the_other_kind_is_named(stand: Stand) -> None:
    new = stand.module.New(account="a")

    async def body(connection: Any) -> None:
        with pytest.raises(UnsupportedServer, match=r"name ends in _async, and await it"):
            stand.module.enqueue(connection, new)
        with pytest.raises(UnsupportedServer, match=r"name does not end in _async"):
            await stand.module.enqueue_async(stand.connect(), new)
        async with connection.pipeline():
            with pytest.raises(UnsupportedServer, match="pipeline"):
                await stand.module.enqueue_async(connection, new)

    run(stand, body)
