"""Two workers over two rows, statement by statement in every order, in each form that holds or orders."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from sqlclaimgen.runtime.deliveries import AdvisoryDelivery
from sqlclaimgen.runtime.driving import session_of
from sqlclaimgen.runtime.outcomes import Ack, AnyOutcome, Retry
from sqlclaimgen.runtime.protocols import lease
from sqlclaimgen.runtime.protocols.held import HeldForm, Memory
from sqlclaimgen.runtime.protocols.held_forms import held_form_of
from sqlclaimgen.runtime.protocols.scope import ONLY, TABLE, Scope, group
from sqlclaimgen.runtime.protocols.taken import Taken
from sqlclaimgen.runtime.protocols.transaction import in_transaction
from sqlclaimgen.runtime.queue import Bound
from sqlclaimgen.runtime.steps import Commit, DropKey, Protocol, Rollback, Run, Step
from sqlclaimgen.runtime.worker.held_rows import ping
from tests.conformance.fifo.fifo_cases import careless, unguarded
from tests.conformance.harness import Case, Stand, on_cases, substituting, unlocked
from tests.conformance.stepping import Stepper
from tests.worker.held.cases import (
    ADVISORY,
    FIFO_LEASE,
    FIFO_ROW_LOCK,
    ROW_LOCK,
    SERVERS,
    is_advisory,
)
from tests.worker.support.explorer import Script, explore


class Broken(AssertionError):
    """Something that must hold does not."""


class Worker:
    """One of the two: a connection that claims a row, ends it, and claims again."""

    def __init__(self, pair: Pair, module: Any, scope: Scope) -> None:
        self.connection = pair.stand.connect()
        self._pair = pair
        self._queue = module.QUEUE
        self._scope = scope
        self._memory = Memory()

    def _step(self, protocol: Callable[[Any], Any]) -> Stepper:
        return Stepper(self.connection, self._queue, protocol)

    def working(self, *outcomes: AnyOutcome | None) -> Script:
        """Claim a row and end it, once for each outcome; None gives it back."""
        form = held_form_of(self._queue)
        for outcome in outcomes:
            claim = self._step(functools.partial(self._claim, form))
            ahead = frozenset(self._pair.present)
            yield claim
            if claim.value is None or not claim.value.deliveries:
                continue
            delivery = claim.value.deliveries[0]
            delivery.started = True
            self._pair.began(delivery, ahead)
            yield self._step(functools.partial(self._ending, form, delivery, outcome))
            if outcome is not None and (delivery.lost or not delivery.settled):
                raise Broken(f"{delivery!r} could not be ended")

    def _claim(self, form: HeldForm | None, bound: Bound) -> Protocol[Taken]:
        if form is None:
            return lease.claim(bound, self._scope, 1)
        return form.claim_one(bound, self._scope, self._memory)

    def arriving(self, row: dict[str, Any]) -> Script:
        """At some step a row arrives; then it claims one and acks it."""
        yield self._step(lambda bound: in_transaction(ping()))
        self._pair.arrive(row)
        yield from self.working(Ack())

    def _ending(
        self, form: HeldForm | None, delivery: Any, outcome: AnyOutcome | None, bound: Bound
    ) -> Protocol[None]:
        """The protocol that ends a delivery; the pair hears of the step that makes the row free."""
        protocol: Protocol[Any]
        if form is None:
            protocol = (
                lease.leave(delivery.bound, [delivery])
                if outcome is None
                else lease.settle(delivery, outcome, joined=False)
            )
        else:
            protocol = form.abandon(delivery) if outcome is None else form.finish(delivery, outcome)
        step = next(protocol)
        while True:
            result = yield step
            if _frees(step, delivery):
                self._pair.ended(delivery, outcome)
            try:
                step = protocol.send(result)
            except StopIteration:
                return


def _frees(step: Step, delivery: Any) -> bool:
    if isinstance(delivery, AdvisoryDelivery):
        return isinstance(step, DropKey) or (isinstance(step, Run) and step.statement == "unlock")
    return isinstance(step, Commit | Rollback)


class Pair:
    """Two workers over two rows, and what they did."""

    def __init__(
        self, stand: Stand, rows: Sequence[dict[str, Any]], scope: Scope, *, module: Any = None
    ) -> None:
        self.stand = stand
        self._rows = [{"id": n, **row} for n, row in enumerate(rows, 1)]
        self.present: set[int] = set()
        self._scope = scope
        self._module = module or stand.module
        self.workers = [Worker(self, self._module, scope) for _ in range(2)]
        self.fresh()

    def fresh(self) -> None:
        """Two due rows, and nobody holds any."""
        self.stand.database.execute("DELETE FROM jobs")
        self.stand.fill(self._rows)
        self.present = {row["id"] for row in self._rows}
        self.in_work: dict[int, str] = {}
        self.deliveries: list[tuple[int, int]] = []
        self.done: list[tuple[int, AnyOutcome | None]] = []
        self.together = 0

    def without_first(self) -> None:
        """The second row alone: the first, which sorts before it, arrives later."""
        self.fresh()
        self.stand.database.execute("DELETE FROM jobs WHERE id = 1")
        self.present = {2}

    def arrive(self, row: dict[str, Any]) -> None:
        """A producer commits a row."""
        self.stand.fill([row])
        self.present.add(row["id"])

    def _apart(self, id: int) -> str:
        """What only one row of can be in work: the row, its key, or its group."""
        row = self._rows[id - 1]
        if is_advisory(self.stand.case):
            return str(row["account"])
        return str(row.get("queue", id))

    def began(self, delivery: Any, ahead: frozenset[int]) -> None:
        """A claim handed out a row. `ahead`: the rows that were there before it began."""
        apart = self._apart(delivery.id)
        if apart in self.in_work.values():
            raise Broken(f"{delivery!r} beside {self.in_work}")
        fifo = self.stand.module.QUEUE.fifo is not None
        if fifo and any(
            self._apart(id) == apart and (id, Ack()) not in self.done
            for id in ahead
            if id < delivery.id
        ):
            raise Broken(f"{delivery!r} before the rows ahead of it: {self.done}")
        self.in_work[delivery.id] = apart
        self.together = max(self.together, len(self.in_work))
        self.deliveries.append((delivery.id, delivery.number))

    def ended(self, delivery: Any, outcome: AnyOutcome | None) -> None:
        """The outcome is committed, and the row, or its key, is free."""
        self.in_work.pop(delivery.id, None)
        self.done.append((delivery.id, outcome))

    def check(self, order: object) -> None:
        """No row is lost, none is settled twice; attempts are counted when stated; nothing is left open."""
        acked = [id for id, outcome in self.done if outcome == Ack()]
        left = {row["id"]: row for row in self.stand.rows()}
        where = f"{order}: done {self.done}, left {left}"
        if len(acked) != len(set(acked)) or set(left) != {1, 2} - set(acked):
            raise Broken(f"lost, or settled twice: {where}")
        row_lock = self.stand.module.QUEUE.form == "row_lock"
        for id, row in left.items():
            counted = [o for one, o in self.done if one == id and (o is not None or not row_lock)]
            if row["attempt"] != 1 + len(counted):
                raise Broken(f"attempts: {where}")
        for id in (1, 2):
            numbers = [number for one, number in self.deliveries if one == id]
            if not row_lock and len(numbers) != len(set(numbers)):
                raise Broken(f"an attempt was delivered twice: {where}")
        for worker in self.workers:
            if session_of(worker.connection, table="jobs").in_transaction:
                raise Broken(f"a transaction is open: {where}")

    def explore(
        self, *outcomes: Sequence[AnyOutcome | None], most: int | None = None
    ) -> tuple[int, int]:
        """Every order, or `most` by chance, each checked. Returns how many orders there were, and in
        how many both rows were in work at once."""

        def start() -> list[Script]:
            self.fresh()
            return [w.working(*o) for w, o in zip(self.workers, outcomes, strict=True)]

        number = together = 0
        for run in explore(self.stand.database, start, most=most):
            self.check(run.order)
            number += 1
            together += self.together > 1
        return number, together


def scope_of(case: Case) -> Scope:
    """The scope of the case's claims: one group where it has groups."""
    return group("a") if "queue" in case.body else ONLY


ENDS: dict[str, AnyOutcome | None] = {"ack": Ack(), "retry": Retry("again"), "give back": None}
PAIRS = [
    pytest.param(*pair, id="-".join(pair))
    for pair in itertools.combinations_with_replacement(ENDS, 2)
]
FAST = [pair for pair in PAIRS if pair.values in (("ack", "ack"), ("ack", "retry"))]


@pytest.mark.parametrize(("one", "other"), FAST)
@on_cases(ROW_LOCK)
def test_row_locks_in_every_order(stand: Stand, one: str, other: str) -> None:
    row_locks(stand, one, other, most=None)


@pytest.mark.soak
@pytest.mark.parametrize(("one", "other"), [pair for pair in PAIRS if pair not in FAST])
@on_cases(ROW_LOCK)
def test_row_locks_and_every_end_in_every_order(stand: Stand, one: str, other: str) -> None:
    row_locks(stand, one, other, most=None)


def row_locks(stand: Stand, one: str, other: str, *, most: int | None) -> None:
    pair = Pair(stand, [{"payload": None}] * 2, ONLY)
    orders, together = pair.explore([ENDS[one]], [ENDS[other]], most=most)
    assert orders >= 6 and together > 0


@pytest.mark.parametrize(("one", "other"), FAST)
@on_cases(ADVISORY)
def test_one_key_in_every_order(stand: Stand, one: str, other: str) -> None:
    keyed(stand, one, other, "xx", most=None)


@on_cases(ADVISORY)
def test_two_keys(stand: Stand) -> None:
    keyed(stand, "ack", "retry", "xy", most=40)


@pytest.mark.soak
@pytest.mark.parametrize(("one", "other"), [pair for pair in PAIRS if pair not in FAST])
@on_cases(ADVISORY)
def test_one_key_and_every_end_in_every_order(stand: Stand, one: str, other: str) -> None:
    keyed(stand, one, other, "xx", most=None)


@pytest.mark.soak
@on_cases(ADVISORY)
def test_two_keys_in_every_order(stand: Stand) -> None:
    keyed(stand, "ack", "retry", "xy", most=None)


def keyed(stand: Stand, one: str, other: str, keys: str, *, most: int | None) -> None:
    pair = Pair(stand, [{"account": key} for key in keys], ONLY)
    orders, together = pair.explore([ENDS[one]], [ENDS[other]], most=most)
    assert orders >= (2 if stand.dialect == "sqlite" else 6)
    # two of one key never, which `began` sees to
    assert (together > 0) == (keys == "xy")


@on_cases(FIFO_ROW_LOCK, FIFO_LEASE)
def test_one_group_in_every_order(stand: Stand) -> None:
    grouped(stand, "aa", most=None)


@on_cases(FIFO_ROW_LOCK, FIFO_LEASE)
def test_two_groups(stand: Stand) -> None:
    grouped(stand, "ab", most=50)


@pytest.mark.soak
@on_cases(FIFO_ROW_LOCK, FIFO_LEASE)
def test_two_groups_in_every_order(stand: Stand) -> None:
    grouped(stand, "ab", most=None)


def grouped(stand: Stand, groups: str, *, most: int | None) -> None:
    scope = group("a") if groups == "aa" else TABLE
    pair = Pair(stand, [{"queue": name} for name in groups], scope)
    orders, together = pair.explore([Ack()], [Ack()], most=most)
    assert orders >= 2
    assert (together > 0) == (groups == "ab")


@on_cases(ROW_LOCK, ADVISORY, FIFO_ROW_LOCK, FIFO_LEASE)
def test_lives(stand: Stand) -> None:
    lives(stand, most=25)


@pytest.mark.soak
@on_cases(ROW_LOCK, ADVISORY, FIFO_ROW_LOCK, FIFO_LEASE)
def test_lives_in_many_orders(stand: Stand, soak_seconds: float) -> None:
    lives(stand, most=int(soak_seconds * 10))


def lives(stand: Stand, *, most: int) -> None:
    """Each worker ends three rows, one in each way."""
    rows: list[dict[str, Any]] = [{"payload": None}, {"payload": None}]
    if "queue" in stand.case.body:
        rows = [{"queue": "a"}, {"queue": "a"}]
    elif is_advisory(stand.case):
        rows = [{"account": "x"}, {"account": "x"}]
    pair = Pair(stand, rows, scope_of(stand.case))
    orders, _ = pair.explore(
        [None, Retry("again"), Ack()], [Retry("again"), Ack(), None], most=most
    )
    assert orders == most


# -- the explorer finds what is broken -----------------------------------------------------------------


def broken(pair: Pair) -> None:
    with pytest.raises(Broken):
        pair.explore([Ack(), Ack()], [Ack(), Ack()], most=80)


@on_cases(ROW_LOCK)
def test_a_claim_that_locks_nothing_is_found(stand: Stand) -> None:
    broken(Pair(stand, [{"payload": None}] * 2, ONLY, module=stand.twin(claim=unlocked)))


@on_cases(ADVISORY)
def test_a_key_of_the_row_alone_is_found(stand: Stand) -> None:
    quote = stand.plan.dialect.quote
    edit = substituting((f"(t.{quote('account')} ", f"(t.{quote('id')} "))
    rows = [{"account": "x"}, {"account": "x"}]
    broken(Pair(stand, rows, ONLY, module=stand.twin(claim=edit, take=edit)))


def arrivals(stand: Stand, module: Any = None, *, most: int | None) -> int:
    """A row that sorts before the one that is being claimed, or is in work, arrives at every step."""
    pair = Pair(stand, [{"queue": "a"}, {"queue": "a"}], group("a"), module=module)
    first, second = pair.workers

    def start() -> list[Script]:
        pair.without_first()
        return [first.working(Ack()), second.arriving({"id": 1, "queue": "a"})]

    number = 0
    for run in explore(stand.database, start, most=most):
        pair.check(run.order)
        number += 1
    return number


@on_cases(FIFO_ROW_LOCK, FIFO_LEASE)
def test_a_row_that_sorts_before_the_one_in_work_in_every_order(stand: Stand) -> None:
    assert arrivals(stand, most=None) > 1


@on_cases(FIFO_ROW_LOCK, FIFO_LEASE.with_(dialects=SERVERS))
def test_a_guard_that_guards_nothing_is_found(stand: Stand) -> None:
    with pytest.raises(Broken):
        arrivals(stand, unguarded(stand), most=300)


@on_cases(FIFO_LEASE)
def test_a_claim_beside_a_row_in_work_is_found(stand: Stand) -> None:
    with pytest.raises(Broken):
        arrivals(stand, careless(stand), most=100)
