"""Two workers, statement by statement in every order: what section 3 of the design says holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest

from sqlclaimgen.runtime.outcomes import Ack, Retry
from sqlclaimgen.runtime.protocols import lease
from sqlclaimgen.runtime.protocols.scope import ONLY
from tests.conformance.harness import Stand, on_cases, substituting, unlocked
from tests.conformance.stepping import Stepper
from tests.worker.support.cases import JOBS
from tests.worker.support.explorer import Run, Script, explore

SERVERS = ("postgres", "mysql", "mariadb")


class Broken(AssertionError):
    """Something that must hold does not."""


def settling(delivery: Any, outcome: Any, bound: Any) -> Any:
    return lease.settle(delivery, outcome, joined=False)


class Worker:
    """One of the two: what it holds, what it settled, what it lost."""

    def __init__(self, stand: Stand, module: Any) -> None:
        self.connection = stand.connect()
        self.queue = module.QUEUE
        self.begin()

    def begin(self) -> None:
        self.held: list[Any] = []
        self.settled: list[Any] = []
        self.lost: list[Any] = []

    def step(self, protocol: Callable[[Any], Any]) -> Stepper:
        return Stepper(self.connection, self.queue, protocol)

    def claiming(self, limit: int) -> Script:
        claim = self.step(lambda bound: lease.claim(bound, ONLY, limit))
        yield claim
        self.took(claim)

    def took(self, claim: Stepper) -> None:
        for delivery in claim.value.deliveries if claim.value else ():
            delivery.started = True
            self.held.append(delivery)

    def extending(self) -> Script:
        extension = self.step(lambda bound: lease.extend(bound, self.held))
        yield extension
        self.lost += extension.value or ()

    def settling(self, outcome: Any) -> Script:
        for delivery in list(self.held):
            step = self.step(partial(settling, delivery, outcome))
            yield step
            if delivery.settled:
                self.settled.append(delivery)
            else:
                self.lost.append(delivery)

    def releasing(self) -> Script:
        yield self.step(lambda bound: lease.leave(bound, self.held))

    def working(self) -> Script:
        """A worker's life: claim, extend, settle one row, give the other back."""
        yield from self.claiming(2)
        yield from self.extending()
        one, rest = self.held[:1], self.held[1:]
        self.held = one
        yield from self.settling(Ack())
        self.held = rest
        yield from self.releasing()


class Pair:
    """Two workers over two rows."""

    def __init__(self, stand: Stand, first: Any, second: Any) -> None:
        self.stand = stand
        self.workers = [Worker(stand, first), Worker(stand, second)]
        self.hand = stand.connect()

    def fresh(self) -> None:
        """Two due rows, and nobody holds any."""
        self.stand.database.execute("DELETE FROM jobs")
        self.stand.fill([{"id": 1, "payload": None}, {"id": 2, "payload": None}])
        for worker in self.workers:
            worker.begin()

    def held_by_first(self) -> None:
        """The first worker holds both rows; to the second its lease has run out."""
        self.fresh()
        claim = self.workers[0].step(lambda bound: lease.claim(bound, ONLY, 2))
        claim.finish()
        self.workers[0].took(claim)

    def check(self, run: Run, *, gone: bool, clocks: int = 2) -> None:
        """No row is lost, none is settled twice or by anyone but its holder; attempts are counted. With
        one clock for both no lease has run out, and no row is handed out twice."""
        rows = {row["id"]: row for row in self.stand.rows()}
        where = f"{run.order}: rows {rows}, " + ", ".join(
            f"held {w.held}, settled {w.settled}, lost {w.lost}" for w in self.workers
        )
        settled = [d.id for w in self.workers for d in w.settled]
        if len(settled) != len(set(settled)):
            raise Broken(f"settled twice: {where}")
        if gone and set(rows) != {1, 2} - set(settled):
            raise Broken(f"lost, or not finished: {where}")
        holders: dict[Any, list[Any]] = {1: [], 2: []}
        for worker in self.workers:
            for delivery in worker.held:
                row = rows.get(delivery.id)
                if delivery.lost and delivery.settled:
                    raise Broken(f"lost and settled: {where}")
                if row is None or delivery.settled or delivery.lost:
                    continue
                token = row["locked_until"] in (delivery.token, delivery.sent)
                if token and row["attempt"] == delivery.number + 1:
                    holders[delivery.id].append(delivery)
        if any(len(found) > 1 for found in holders.values()):
            raise Broken(f"held twice: {where}")
        for worker in self.workers:
            taken = [(d.id, d.number) for d in worker.held]
            if len(taken) != len(set(taken)):
                raise Broken(f"delivered twice: {where}")
        both = [(d.id, d.number if clocks > 1 else 0) for w in self.workers for d in w.held]
        if len(both) != len(set(both)):
            raise Broken(f"one row handed out to both: {where}")


def orders(
    pair: Pair,
    start: Callable[[], Sequence[Script]],
    *,
    gone: bool,
    clocks: int = 2,
    most: int | None = None,
) -> int:
    """Explore, check each order, and say how many there were."""
    number = 0
    for run in explore(pair.stand.database, start, most=most):
        number += 1
        for worker in pair.workers:
            if worker.connection is not None:
                assert not worker_open(worker), run.order
        pair.check(run, gone=gone, clocks=clocks)
    return number


def worker_open(worker: Worker) -> bool:
    from sqlclaimgen.runtime.driving import session_of

    return session_of(worker.connection, table="jobs").in_transaction


@on_cases(JOBS)
@pytest.mark.parametrize("limit", [1, 2])
def test_two_claims(stand: Stand, limit: int) -> None:
    pair = Pair(stand, stand.module, stand.module)
    first, second = pair.workers

    def start() -> list[Script]:
        pair.fresh()
        return [first.claiming(limit), second.claiming(limit)]

    found = orders(pair, start, gone=True, clocks=1)
    assert found >= (2 if stand.dialect == "sqlite" else 6)


OWN: dict[str, Callable[[Worker], Script]] = {
    "extend": lambda worker: worker.extending(),
    "ack": lambda worker: worker.settling(Ack()),
    "retry": lambda worker: worker.settling(Retry("again")),
    "release": lambda worker: worker.releasing(),
}


@on_cases(JOBS)
@pytest.mark.parametrize("own", OWN)
def test_a_claim_of_rows_whose_lease_ran_out_against_their_holder(stand: Stand, own: str) -> None:
    run_out(stand, own, rows=1)


@on_cases(JOBS)
@pytest.mark.parametrize("own", OWN)
def test_a_claim_of_two_rows_against_their_holder(stand: Stand, own: str) -> None:
    run_out(stand, own, rows=2)


def run_out(stand: Stand, own: str, *, rows: int) -> None:
    pair = Pair(stand, stand.module, stand.later(61))
    first, second = pair.workers

    def start() -> list[Script]:
        pair.held_by_first()
        del first.held[rows:]
        return [OWN[own](first), second.claiming(2)]

    assert orders(pair, start, gone=own == "ack") > 1


@on_cases(JOBS)
@pytest.mark.parametrize("own", OWN)
def test_a_late_holder_against_the_new_one(stand: Stand, own: str) -> None:
    late_holder(stand, own, rows=1)


@on_cases(JOBS)
@pytest.mark.parametrize("own", OWN)
def test_a_late_holder_of_two_rows_against_the_new_one(stand: Stand, own: str) -> None:
    late_holder(stand, own, rows=2)


def late_holder(stand: Stand, own: str, *, rows: int) -> None:
    pair = Pair(stand, stand.module, stand.later(61))
    first, second = pair.workers

    def start() -> list[Script]:
        pair.held_by_first()
        claim = second.step(lambda bound: lease.claim(bound, ONLY, 2))
        claim.finish()
        second.took(claim)
        del first.held[rows:], second.held[rows:]
        return [OWN[own](first), second.settling(Ack())]

    for run in explore(stand.database, start):
        pair.check(run, gone=True)
        assert [d.id for d in second.settled] == [1, 2][:rows], run.order
        if own in ("ack", "retry"):
            assert len(first.lost) == rows and not first.settled, run.order


@on_cases(JOBS)
def test_two_lives(stand: Stand) -> None:
    lives(stand, most=25)


@pytest.mark.soak
@on_cases(JOBS)
def test_two_lives_in_many_orders(stand: Stand, soak_seconds: float) -> None:
    lives(stand, most=int(soak_seconds * 10))


def lives(stand: Stand, *, most: int) -> None:
    # the second worker's clock is ahead: it takes what the first one holds still
    pair = Pair(stand, stand.module, stand.later(61))

    def start() -> list[Script]:
        pair.fresh()
        return [worker.working() for worker in pair.workers]

    assert orders(pair, start, gone=True, most=most) == most


# -- the explorer finds what is broken ---------------------------------------------------------------


def by_id_alone(stand: Stand) -> Any:
    quote = stand.plan.dialect.quote
    fences = (
        (f" AND {quote('locked_until')} IN (:token, :sent)", ""),
        (f" AND {quote('attempt')} = :attempt", ""),
    )
    return stand.twin(ack=substituting(*fences))


@on_cases(JOBS)
def test_a_settlement_without_its_fence_is_found(stand: Stand) -> None:
    pair = Pair(stand, by_id_alone(stand), stand.later(61))
    first, second = pair.workers

    def start() -> list[Script]:
        pair.held_by_first()
        return [first.settling(Ack()), chained(second)]

    def chained(worker: Worker) -> Script:
        yield from worker.claiming(2)
        yield from worker.settling(Ack())

    with pytest.raises(Broken):
        for run in explore(stand.database, start, most=60):
            pair.check(run, gone=True)
            if second.lost:  # what it held was finished under its hands
                raise Broken(str(run.order))


@on_cases(JOBS.with_(dialects=SERVERS))
def test_a_claim_without_its_lock_is_found(stand: Stand) -> None:
    twin = stand.twin(claim=unlocked)
    pair = Pair(stand, twin, twin)
    first, second = pair.workers

    def start() -> list[Script]:
        pair.fresh()
        return [first.claiming(2), second.claiming(2)]

    with pytest.raises(Broken):
        orders(pair, start, gone=True, clocks=1)
