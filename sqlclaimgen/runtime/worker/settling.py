"""The lease worker's settlements: many in one transaction, one by one after an error."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from sqlclaimgen.runtime.errors import (
    ClaimError,
    FaultKind,
    LeaseLost,
    SettlementUnknown,
    StatementFailed,
    WriteIgnored,
)
from sqlclaimgen.runtime.outcomes import AnyOutcome
from sqlclaimgen.runtime.protocols import lease, outcomes
from sqlclaimgen.runtime.protocols.extending import key_of
from sqlclaimgen.runtime.protocols.transaction import again, in_transaction
from sqlclaimgen.runtime.steps import Protocol
from sqlclaimgen.runtime.worker.connecting import CONNECT
from sqlclaimgen.runtime.worker.lines import Line
from sqlclaimgen.runtime.worker.work import InWork

BATCH = 100
"""Settlements in one transaction, at most."""

TRIES = 6
"""How often an outcome that the database refuses is written before it is left to the lease."""


@dataclass(eq=False, slots=True)
class Settlement:
    """An outcome on its way into the database."""

    item: InWork
    outcome: AnyOutcome
    done: asyncio.Future[Exception | None]
    """None once it is committed, or why it never will be."""
    tries: int = 0


def together(settlements: Sequence[Settlement]) -> Protocol[list[ClaimError | None]]:
    """Every settlement in one transaction. A lost lease concerns its delivery alone, and so does a write
    that a trigger cancelled."""
    return (yield from again(lambda: _together(settlements)))


def _together(settlements: Sequence[Settlement]) -> Protocol[list[ClaimError | None]]:
    results: list[ClaimError | None] = []
    deliveries = [settlement.item.delivery for settlement in settlements]

    def body() -> Protocol[None]:
        # rows are locked in the order of their ids, so that two batches cannot deadlock
        for settlement in settlements:
            try:
                yield from lease.settle(settlement.item.delivery, settlement.outcome, joined=True)
                results.append(None)
            except (LeaseLost, WriteIgnored) as error:
                results.append(error)

    for delivery in deliveries:
        delivery.settling = True
    try:
        yield from in_transaction(body())
    except BaseException:
        for delivery in deliveries:
            delivery.settled = False
        raise
    finally:
        for delivery in deliveries:
            delivery.settling = delivery.joined = False
    return results


class Settler:
    """Takes outcomes and writes them over one connection. Handlers hear only after COMMIT."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._queue: asyncio.Queue[Settlement] = asyncio.Queue()

    async def settle(self, item: InWork, outcome: AnyOutcome) -> Exception | None:
        """Write an outcome, however long that takes: over a new connection after a loss, while the
        token still matches, even late. Returns why it never will be written, or None."""
        future: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()
        self._queue.put_nowait(Settlement(item, outcome, future))
        return await future

    async def run(self) -> None:
        """Settle until cancelled."""
        while True:
            batch = [await self._queue.get()]
            while len(batch) < BATCH and not self._queue.empty():
                batch.append(self._queue.get_nowait())
            batch = [one for one in batch if not (one.done.done() or one.item.abandoned)]
            if batch:
                await self._write(sorted(batch, key=lambda one: key_of(one.item.delivery)))

    async def _write(self, batch: list[Settlement]) -> None:
        try:
            results = await self._line.drive(lambda bound: together(batch))
        except Exception as error:
            await self._failed(batch, error)
            return
        for one, lost in zip(batch, results, strict=True):
            _finish(one, lost)

    async def _failed(self, batch: list[Settlement], error: Exception) -> None:
        """The batch was rolled back, or nobody knows. After a loss it waits for a connection; what the
        database refused runs alone from here, so that one row does not keep the others unsettled."""
        kind = error.kind if isinstance(error, StatementFailed) else FaultKind.ROW
        statement = error.statement if isinstance(error, StatementFailed) else ""
        of_a_row = kind.of_a_row
        if kind is FaultKind.LOST and statement == "commit":
            for one in batch:
                one.item.unanswered |= not one.item.delivery.lost
        if not of_a_row:
            await self._line.pause(error)
        if len(batch) > 1 and statement != CONNECT:
            for one in batch:
                await self._write([one])
            return
        for one in batch:
            if kind is FaultKind.LOST or kind.passes:
                self._queue.put_nowait(one)
            else:
                self._refused(one, error, for_good=of_a_row)

    def _refused(self, one: Settlement, error: Exception, *, for_good: bool) -> None:
        """`for_good`: a constraint or a trigger refuses the same again. Then the row is left to its lease,
        and is claimed again when that has run out."""
        one.tries += 1
        # perhaps it is the text that the database refuses: it must not keep the row from its outcome
        plain = outcomes.plainer(one.outcome)
        if one.tries >= TRIES or (for_good and plain == one.outcome):
            if not one.done.done():
                one.done.set_result(error)
            return
        one.outcome = plain
        self._queue.put_nowait(one)


def _finish(one: Settlement, lost: ClaimError | None) -> None:
    result: Exception | None = lost
    if isinstance(lost, LeaseLost) and one.item.unanswered:
        delivery = one.item.delivery
        result = SettlementUnknown(
            f"{delivery.bound.queue.table} {delivery.id!r}: the server did not answer the COMMIT of "
            "this settlement, and afterwards the row no longer held the token: it counted, or "
            "another claim has the row.",
            table=delivery.bound.queue.table,
            id=delivery.id,
            attempt=delivery.number,
            statement="commit",
        )
        result.__cause__ = lost
    if not one.done.done():
        one.done.set_result(result)
