"""Nobody but the holder settles: stale tokens, replayed settlements, tokens that repeat."""

from __future__ import annotations

import copy
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from sqlclaimgen.runtime import LeaseLost, utcnow
from sqlclaimgen.runtime.protocols import lease
from tests.conformance.cases import BURIED, COARSE, DELAYED, FULL, MARKED, PLAIN
from tests.conformance.harness import Stand, on_cases, substituting
from tests.conformance.test_claiming import rows

Write = Callable[[Any, Any, Any], None]

WRITES: dict[str, Write] = {
    "ack": lambda module, connection, delivery: delivery.ack(connection),
    "discard": lambda module, connection, delivery: delivery.discard(connection),
    "retry": lambda module, connection, delivery: delivery.retry(connection),
    "retry_after": lambda module, connection, delivery: delivery.retry_after(
        connection, timedelta(seconds=5)
    ),
    "dead_letter": lambda module, connection, delivery: delivery.dead_letter(connection),
    "extend": lambda module, connection, delivery: _lost(module.extend(connection, [delivery])),
    "release": lambda module, connection, delivery: module.release(connection, [delivery]),
}
"""Every later write of a delivery."""


def _lost(lost: list[Any]) -> None:
    if lost:
        raise LeaseLost("reported", table="jobs")


def writes(stand: Stand) -> dict[str, Write]:
    """Those that the table has."""
    return {
        name: write
        for name, write in WRITES.items()
        if hasattr(stand.module.Delivery, name) or name in ("extend", "release")
    }


@on_cases(FULL, PLAIN, DELAYED, MARKED, BURIED, COARSE)
def test_a_stale_delivery_changes_nothing(stand: Stand) -> None:
    later = stand.later(61)
    for name, write in writes(stand).items():
        stand.fill([rows(stand.case, 1)[0] | {"id": stand.count + 1}])
        connection, other = stand.connect(), stand.connect()
        with stand.claim(connection) as stale:
            (delivery,) = stale
            # the lease runs out, and another connection really claims the row
            with stand.claim(other, module=later) as current:
                (rival,) = current
                before = stand.rows()
                if name == "release":
                    write(stand.module, connection, delivery)
                else:
                    with pytest.raises(LeaseLost):
                        write(stand.module, connection, delivery)
                    assert delivery.lost, name
                assert stand.rows() == before, name
                assert delivery.id == rival.id
                rival.ack(other)
                assert stand.unfinished == 0, name
        assert stand.unfinished == 0, name


@on_cases(FULL, PLAIN)
def test_an_ack_without_its_fence_is_found_out(stand: Stand) -> None:
    quote = stand.plan.dialect.quote
    condition = f" AND {quote('locked_until')} IN (:token, :sent)"

    def by_id_alone(sql: str) -> str:
        sql = substituting((condition, ""))(sql)
        return sql.replace(f" AND {quote('attempt')} = :attempt", "")

    twin = stand.twin(ack=by_id_alone)
    stand.fill(rows(stand.case, 1))
    connection, other = stand.connect(), stand.connect()
    with stand.claim(connection, module=twin) as stale:
        (delivery,) = stale
        with stand.claim(other, module=stand.later(61)) as current:
            (rival,) = current
            delivery.ack(connection)
            assert stand.unfinished == 0  # the rival's row was finished under its hands
            with pytest.raises(LeaseLost):
                rival.ack(other)


@on_cases(FULL, PLAIN, MARKED, BURIED, COARSE)
def test_a_settled_row_takes_no_second_settlement(stand: Stand) -> None:
    for first in ("ack", "retry"):
        for name, write in writes(stand).items():
            if name == "release":
                continue
            stand.fill([rows(stand.case, 1)[0] | {"id": stand.count + 1}])
            connection = stand.connect()
            with stand.claim(connection) as deliveries:
                (delivery,) = deliveries
                replayed = copy.copy(delivery)
                WRITES[first](stand.module, connection, delivery)
                before = stand.rows()
                with pytest.raises(LeaseLost):
                    write(stand.module, connection, replayed)
                assert stand.rows() == before, (first, name)
            stand.database.execute(f"DELETE FROM {stand.plan.dialect.quote('jobs')}")


@on_cases(COARSE)
def test_tokens_of_one_second_are_told_apart_by_the_attempt(stand: Stand) -> None:
    # claim, release, claim again: the clock stands still, so both tokens are one
    now = stand.module.QUEUE.clock().replace(microsecond=250_000)
    module = stand.at(now)
    stand.fill([{"id": 1, "run_after": now}])
    one, two = stand.connect(), stand.connect()
    for started in (False, True):
        with stand.claim(one, module=module) as claim:
            first = claim._deliveries[0]
            first.started = started
            replays = [copy.copy(first) for _ in WRITES]
        with stand.claim(two, module=module) as claim:
            second = claim._deliveries[0]
            second.started = True
            assert second.token == first.token
            assert second.attempt == first.attempt + 1, "a repeated token keeps its attempt"
            before = stand.rows()
            for replay, (name, write) in zip(replays, writes(stand).items(), strict=False):
                if name == "release":
                    write(module, one, replay)
                else:
                    with pytest.raises(LeaseLost):
                        write(module, one, replay)
                assert stand.rows() == before, name
            second.retry(two)


@on_cases(COARSE)
def test_a_fence_without_the_attempt_is_found_out(stand: Stand) -> None:
    now = stand.module.QUEUE.clock().replace(microsecond=250_000)
    condition = f" AND {stand.plan.dialect.quote('attempt')} = :attempt"
    module = stand.at(now, module=stand.twin(ack=substituting((condition, ""))))
    stand.fill([{"id": 1, "run_after": now}])
    one, two = stand.connect(), stand.connect()
    with stand.claim(one, module=module) as claim:
        (first,) = claim
        replay = copy.copy(first)
    with stand.claim(two, module=module) as claim:
        (second,) = claim
        replay.ack(one)
        assert stand.unfinished == 0
        with pytest.raises(LeaseLost):
            second.ack(two)


@on_cases(PLAIN)
def test_tokens_of_microseconds_never_repeat(stand: Stand) -> None:
    stand.fill(rows(stand.case, 1))
    connection = stand.connect()
    tokens: set[Any] = set()
    for _ in range(50):
        with stand.claim(connection) as claim:
            tokens.add(claim._deliveries[0].token)
    assert len(tokens) == 50


@on_cases(FULL, PLAIN, COARSE)
def test_an_extension_moves_the_token(stand: Stand) -> None:
    stand.fill(rows(stand.case, 3))
    connection = stand.connect()
    with stand.claim(connection, 3) as claim:
        deliveries = list(claim)
        stale = [copy.copy(delivery) for delivery in deliveries]
        assert stand.module.extend(connection, deliveries) == []
        held = {row["id"]: row["locked_until"] for row in stand.rows()}
        for delivery, old in zip(deliveries, stale, strict=True):
            assert held[delivery.id] == delivery.token > old.token
            with pytest.raises(LeaseLost):
                old.ack(connection)
        # the extended lease outlives the first one
        with stand.claim(stand.connect(), 3, module=stand.later(59)) as rival:
            assert len(rival) == 0
        for delivery in deliveries:
            delivery.ack(connection)
    assert stand.unfinished == 0


@on_cases(FULL, PLAIN)
def test_an_overdue_lease_that_nobody_took_still_settles(stand: Stand) -> None:
    # DD-04, LR-03: late is not lost
    stand.fill(rows(stand.case, 2))
    connection = stand.connect()
    with stand.claim(connection, 2) as claim:
        first, second = claim
        connection.close()
        fresh = stand.connect()
        late = stand.later(3600).QUEUE
        for delivery in (first, second):
            delivery._bound = late.bind(stand.dialect)
            assert delivery.overdue
        first.ack(fresh)
        assert stand.module.extend(fresh, [second]) == []
        second.ack(fresh)
    assert stand.unfinished == 0


@on_cases(FULL, PLAIN)
def test_claims_of_an_ended_lease_pass_over_the_row(stand: Stand) -> None:
    # DD-06: a row whose lease ended before its handler started is given back, not run
    stand.fill(rows(stand.case, 3))
    module = stand.at(utcnow())
    connection = stand.connect()
    ran = []
    with stand.claim(connection, 3, module=module) as claim:
        for delivery in claim:
            ran.append(delivery.id)
            module.QUEUE.clock.now += timedelta(seconds=61)
    assert len(ran) == 1
    assert all(row["locked_until"] is None for row in stand.rows())
    if stand.module.QUEUE.counts_attempts:
        counted = {row["id"]: row["attempt"] for row in stand.rows()}
        assert sorted(counted.values()) == [1, 1, 2]
        assert counted[ran[0]] == 2


@on_cases(FULL, MARKED)
def test_a_finished_row_takes_no_write_even_with_the_token_in_it(stand: Stand) -> None:
    # another client finishes the row and leaves the expiry where it was
    stand.fill(rows(stand.case, 1))
    connection = stand.connect()
    quote = stand.plan.dialect.quote
    with stand.claim(connection) as claim:
        (delivery,) = claim
        if stand.case is FULL:
            column, value = "processed_at", f"{quote('run_after')}"
        else:
            column, value = "state", "'done'"
        stand.database.execute(f"UPDATE {quote('jobs')} SET {quote(column)} = {value}")
        before = stand.rows()
        for name, write in writes(stand).items():
            again = copy.copy(delivery)
            if name == "release":
                write(stand.module, connection, again)
            else:
                with pytest.raises(LeaseLost):
                    write(stand.module, connection, again)
            assert stand.rows() == before, name
        with pytest.raises(LeaseLost):
            delivery.ack(connection)


@on_cases(FULL)
def test_a_lost_delivery_is_not_released_with_the_block(stand: Stand) -> None:
    stand.fill(rows(stand.case, 1))
    connection, other = stand.connect(), stand.connect()
    rival_claim = stand.later(61)
    with stand.claim(connection) as claim:
        list(claim)
        with stand.claim(other, module=rival_claim) as current:
            (rival,) = current
            held = stand.rows()
            claim.__exit__(None, None, None)
            assert stand.rows() == held
            rival.ack(other)


def test_every_later_write_of_the_protocol_is_tried_here() -> None:
    public = {
        name for name in vars(lease) if not name.startswith("_") and callable(vars(lease)[name])
    }
    protocols = {"claim", "settle", "extend", "leave", "check", "fence"}
    assert protocols <= public
