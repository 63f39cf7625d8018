"""Extension against settlement, and extensions whose answer never comes."""

from __future__ import annotations

import random
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from sqlclaimgen.runtime import FaultKind, LeaseLost, StatementFailed, transaction
from sqlclaimgen.runtime.outcomes import Ack
from sqlclaimgen.runtime.protocols import lease
from sqlclaimgen.runtime.protocols import transaction as transactions
from sqlclaimgen.runtime.steps import Commit
from tests.conformance.cases import DELAYED, FULL, PLAIN
from tests.conformance.harness import Stand, on_cases, waiting
from tests.conformance.stepping import Stepper, interleavings, lost_connection
from tests.conformance.test_claiming import rows, scope_of
from tests.support.refusing import WORDS, refuse

SERVERS = ("postgres", "mysql", "mariadb")
LOCKING = tuple(case.with_(dialects=SERVERS) for case in (FULL, PLAIN))


def taken(stand: Stand, connection: Any, limit: int) -> list[Any]:
    """Deliveries in work, as a worker has them: of no block."""
    step = Stepper(
        connection,
        stand.module.QUEUE,
        lambda bound: lease.claim(bound, scope_of(stand.case), limit),
    )
    deliveries: list[Any] = list(step.finish().deliveries)
    assert len(deliveries) == limit
    for delivery in deliveries:
        delivery.started = True
    return deliveries


def extension(stand: Stand, connection: Any, deliveries: Sequence[Any]) -> Stepper:
    return Stepper(connection, stand.module.QUEUE, lambda bound: lease.extend(bound, deliveries))


@on_cases(DELAYED)
def test_extension_and_settlement_never_wait_for_each_other(stand: Stand) -> None:
    rounds, leases, settled = 200, 100, 50
    stand.fill(rows(stand.case, leases))
    extending, settling = stand.connect(), stand.connect()
    chance = random.Random(1)
    deliveries = taken(stand, extending, leases)
    with ThreadPoolExecutor(1) as pool:
        for _ in range(rounds):
            chosen = chance.sample(deliveries, settled)
            barrier = threading.Barrier(2)

            def settle(chosen: Sequence[Any], barrier: threading.Barrier) -> None:
                barrier.wait(20)
                with transaction(settling):
                    for delivery in chosen:
                        delivery.retry(settling)

            other = pool.submit(settle, chosen, barrier)
            barrier.wait(20)
            lost = stand.module.extend(extending, deliveries)
            other.result(30)
            assert lost == []
            assert not any(delivery.lost for delivery in deliveries)
            kept = [delivery for delivery in deliveries if not delivery.settled]
            assert len(kept) == leases - settled
            deliveries = kept + taken(stand, extending, settled)
    for delivery in deliveries:
        delivery.ack(extending)
    assert stand.unfinished == 0


@on_cases(*LOCKING)
def test_an_extension_that_waits_is_found_out(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand.fill(rows(stand.case, 10))
    twin = stand.twin(extend=waiting)
    holder, settling = stand.connect(), stand.connect()
    first, *others = sorted(taken(stand, holder, 10), key=lambda delivery: delivery.id)
    last = others[-1]
    # a settlement of the last row is under way; what does the extension do that comes to it?
    begin(stand, settling)
    last.ack(settling)
    last.settled = False  # the extension is to meet the row, as it does when they start together
    assert stand.module.extend(holder, [last]) == []
    assert not last.lost
    waits = stand.connect()
    pool = ThreadPoolExecutor(1)
    monkeypatch.setattr(transactions, "TRIES", 1)  # the conflict is to be seen
    blocked: Future[Any] = pool.submit(twin.extend, waits, [first, *others])
    stand.database.wait_until_blocked(stand.database.session_id(waits))
    errors: list[StatementFailed] = []
    try:
        first.ack(settling)
        settling.commit()
    except StatementFailed as error:
        errors.append(error)
        settling.rollback()
    try:
        blocked.result(30)
    except StatementFailed as error:
        errors.append(error)
    assert [error.kind for error in errors] == [FaultKind.CONFLICT]
    pool.shutdown()


def begin(stand: Stand, connection: Any) -> None:
    """Open a transaction for real, whatever the driver."""
    from sqlclaimgen.runtime.driving import session_of

    session_of(connection, table="jobs").begin("read committed")
    del stand


def settlement(delivery: Any, outcome: Any) -> Any:
    return lambda bound: lease.settle(delivery, outcome, joined=False)


class Turns:
    """Steppers that run in threads of their own, so that one may wait for another's locks."""

    def __init__(self, stand: Stand, *steppers: Stepper) -> None:
        self.database = stand.database
        self.steppers = steppers
        self.pools = [ThreadPoolExecutor(1) for _ in steppers]
        self.running: list[Future[Any] | None] = [None for _ in steppers]

    def step(self, which: int) -> None:
        """One step of one of them; returns when it is done, or waits for a lock."""
        stepper, running = self.steppers[which], self.running[which]
        if running is None or running.done():
            if stepper.done:
                return
            running = self.running[which] = self.pools[which].submit(stepper.step)
        session = self.database.session_id(stepper.connection)
        while not running.done():
            try:
                running.result(0.02)
            except TimeoutError:
                if self.database.is_blocked(session):
                    return

    def finish(self) -> list[Any]:
        """The values of all, run to their ends."""
        for which, stepper in enumerate(self.steppers):
            running = self.running[which]
            if running is not None:
                running.result(20)
            stepper.finish()
        for pool in self.pools:
            pool.shutdown()
        return [stepper.value for stepper in self.steppers]


@on_cases(PLAIN.with_(dialects=SERVERS))
def test_every_order_of_an_extension_and_a_settlement(stand: Stand) -> None:
    extending, settling, claiming = stand.connect(), stand.connect(), stand.connect()
    steps = 3 if stand.dialect == "postgres" else 4
    for number, order in enumerate(interleavings(steps, 3)):
        stand.fill([{"id": 2 * number + 1}, {"id": 2 * number + 2}])
        settled, kept = taken(stand, claiming, 2)
        turns = Turns(
            stand,
            extension(stand, extending, [settled, kept]),
            Stepper(
                settling,
                stand.module.QUEUE,
                settlement(settled, Ack()),
            ),
        )
        for which in order:
            turns.step(which)
        lost, _ = turns.finish()
        assert lost == [], order
        assert settled.settled and not settled.lost and not kept.lost, order
        assert stand.row(settled.id) is None
        kept.ack(claiming)
        assert stand.count == 0


@on_cases(FULL, PLAIN)
@pytest.mark.parametrize("at", ["extend", "commit"])
def test_an_answer_that_is_lost_loses_no_lease(stand: Stand, at: str) -> None:
    stand.fill(rows(stand.case, 4))
    fresh = stand.connect()
    deliveries = taken(stand, fresh, 4)
    tokens = {delivery.id: delivery.token for delivery in deliveries}
    # the statement, or the COMMIT, reaches the server; its answer does not come back
    step = extension(stand, stand.connect(), deliveries)
    if at == "commit":
        step.stop_before(Commit)
    else:
        step.stop_before("extend")
    with pytest.raises(StatementFailed):
        step.swallow()
        step.finish()
    settled, retried, released, kept = deliveries
    written = {row["id"]: row["locked_until"] for row in stand.rows()}
    moved = at == "commit"
    assert all((written[id] > token) is moved for id, token in tokens.items())
    settled.ack(fresh)
    retried.retry(fresh)
    stand.module.release(fresh, [released])
    assert stand.module.extend(fresh, [kept]) == []
    assert kept.sent is None
    row = stand.row(kept.id)
    assert row is not None and row["locked_until"] == kept.token > tokens[kept.id]
    kept.ack(fresh)
    states = {row["id"]: row for row in stand.rows()}
    assert states[retried.id]["locked_until"] is None
    assert states[released.id]["locked_until"] is None
    assert stand.unfinished == 2


@on_cases(*LOCKING)
def test_an_extension_that_commits_long_after_its_answer_was_given_up(stand: Stand) -> None:
    # the client takes the connection for lost while the server is still at work on it
    stand.fill(rows(stand.case, 3))
    fresh = stand.connect()
    deliveries = taken(stand, fresh, 3)
    zombie = extension(stand, stand.connect(), deliveries)
    commit = zombie.stop_before(Commit)
    with pytest.raises(StatementFailed):
        zombie.fail(commit, lost_connection(zombie.connection))
        zombie.skip()  # the rollback
    sent = deliveries[0].sent
    assert sent is not None
    # the rows are locked by it: skipped, not lost, and either expiry counts from now on
    assert stand.module.extend(fresh, deliveries) == []
    assert all(delivery.sent == sent for delivery in deliveries)
    zombie.connection.commit()
    first, second, third = deliveries
    first.ack(fresh)
    assert stand.module.extend(fresh, [second]) == []
    assert second.sent is None and second.token > sent
    second.ack(fresh)
    third.ack(fresh)
    assert stand.unfinished == 0


@on_cases(FULL, PLAIN)
def test_two_answers_in_a_row_are_lost(stand: Stand) -> None:
    stand.fill(rows(stand.case, 2))
    fresh = stand.connect()
    deliveries = taken(stand, fresh, 2)
    for _ in range(3):
        step = extension(stand, stand.connect(), deliveries)
        step.stop_before(Commit)
        with pytest.raises(StatementFailed):
            step.swallow()
            step.finish()
    # the same expiry was sent each time: a row never holds a third one
    held = {row["id"]: row["locked_until"] for row in stand.rows()}
    assert all(held[delivery.id] == delivery.sent for delivery in deliveries)
    for delivery in deliveries:
        delivery.ack(fresh)
    assert stand.unfinished == 0


@on_cases(FULL, PLAIN)
def test_a_session_killed_at_every_step_of_an_extension(stand: Stand) -> None:
    fresh = stand.connect()
    for number in range(8):
        stand.fill([rows(stand.case, 1)[0] | {"id": stand.count + 1}])
        deliveries = taken(stand, fresh, 1)
        step = extension(stand, stand.connect(), deliveries)
        for _ in range(number):
            if not step.done:
                step.step()
        if not step.done:
            stand.database.kill_session(stand.database.session_id(step.connection))
            with pytest.raises(StatementFailed) as failed:
                step.finish()
            assert failed.value.kind is FaultKind.LOST
        assert stand.module.extend(fresh, deliveries) == []
        row = stand.row(deliveries[0].id)
        assert row is not None and row["locked_until"] == deliveries[0].token
        deliveries[0].ack(fresh)
        if step.done and number > len(step.steps):
            break
    assert stand.unfinished == 0


@on_cases(FULL, PLAIN)
def test_an_extension_tells_which_leases_are_lost(stand: Stand) -> None:
    stand.fill(rows(stand.case, 3))
    connection, other = stand.connect(), stand.connect()
    deliveries = taken(stand, connection, 3)
    module = stand.later(61)
    with stand.claim(other, 2, module=module) as rivals:
        ids = {rival.id for rival in rivals}
        before = {row["id"]: row for row in stand.rows()}
        lost = stand.module.extend(connection, deliveries)
        assert {delivery.id for delivery in lost} == ids
        after = {row["id"]: row for row in stand.rows()}
        assert all(after[id] == before[id] for id in ids)
        (kept,) = [delivery for delivery in deliveries if not delivery.lost]
        assert after[kept.id]["locked_until"] == kept.token
        assert stand.module.extend(connection, deliveries) == []
        with pytest.raises(LeaseLost):
            lost[0].ack(connection)


@on_cases(FULL, PLAIN)
def test_a_worker_that_claimed_its_own_overdue_row_again_extends_the_last(stand: Stand) -> None:
    # without an attempt only the token tells the two apart
    stand.fill(rows(stand.case, 1))
    connection = stand.connect()
    (stale,) = taken(stand, connection, 1)
    later = stand.later(61)
    (current,) = (
        Stepper(connection, later.QUEUE, lambda bound: lease.claim(bound, scope_of(stand.case), 1))
        .finish()
        .deliveries
    )
    for order in ([stale, current], [current, stale]):
        stale.lost = False
        assert later.extend(connection, order) == [stale]
        with pytest.raises(LeaseLost):
            stale.ack(connection)
    current.ack(connection)
    assert stand.unfinished == 0


@on_cases(FULL.with_(dialects=SERVERS))
def test_a_refused_extension_is_forgotten(stand: Stand) -> None:
    stand.fill(rows(stand.case, 2))
    connection = stand.connect()
    deliveries = taken(stand, connection, 2)
    broken = stand.twin(extend=lambda sql: sql.replace("locked_until", "no_such_column"))
    tokens = [delivery.token for delivery in deliveries]
    with pytest.raises(StatementFailed) as failed:
        broken.extend(connection, deliveries)
    assert failed.value.kind is FaultKind.REFUSED
    assert [(delivery.token, delivery.sent) for delivery in deliveries] == [
        (token, None) for token in tokens
    ]
    assert stand.module.extend(connection, deliveries) == []


@pytest.mark.parametrize("bad", [1, 3, 5])
@on_cases(DELAYED, PLAIN)
def test_a_row_that_may_not_be_extended_keeps_no_other_from_it(stand: Stand, bad: int) -> None:
    stand.fill(rows(stand.case, 5))
    connection = stand.connect()
    deliveries = taken(stand, connection, 5)
    refuse(stand, "UPDATE", {bad})
    before = {delivery.id: delivery.token for delivery in deliveries}
    with pytest.raises(StatementFailed, match=WORDS) as failed:
        stand.module.extend(connection, deliveries)
    assert (failed.value.kind, failed.value.id) == (FaultKind.ROW, bad)
    assert failed.value.statement in ("extend", "extend_write")
    tokens = {row["id"]: row["locked_until"] for row in stand.rows()}
    for delivery in deliveries:
        assert delivery.sent is None and not delivery.lost
        assert delivery.token == tokens[delivery.id]
        assert (delivery.token > before[delivery.id]) is (delivery.id != bad)
    for delivery in deliveries:
        if delivery.id != bad:
            delivery.retry(connection)


@on_cases(DELAYED)
def test_the_last_row_alone_is_refused_its_extension(stand: Stand) -> None:
    stand.fill(rows(stand.case, 1))
    connection = stand.connect()
    deliveries = taken(stand, connection, 1)
    refuse(stand, "UPDATE", {1})
    with pytest.raises(StatementFailed, match=WORDS) as failed:
        stand.module.extend(connection, deliveries)
    assert failed.value.id == 1
