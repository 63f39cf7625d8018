"""The lease worker's settlements: many in one transaction, one by one after an error."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlclaimgen.runtime.backoff import Backoff
from sqlclaimgen.runtime.errors import (
    ClaimError,
    FaultKind,
    LeaseLost,
    SettlementUnknown,
    StatementFailed,
)
from sqlclaimgen.runtime.outcomes import AnyOutcome, DeadLetter, Retry, RetryAfter
from sqlclaimgen.runtime.protocols import lease
from sqlclaimgen.runtime.protocols.transaction import in_transaction
from sqlclaimgen.runtime.steps import Protocol
from sqlclaimgen.runtime.worker.events import EventKind, Reporter
from sqlclaimgen.runtime.worker.lines import Line
from sqlclaimgen.runtime.worker.work import InWork

BATCH = 100
"""Settlements in one transaction, at most."""


@dataclass(eq=False, slots=True)
class Settlement:
    """An outcome on its way into the database."""

    item: InWork
    outcome: AnyOutcome
    done: asyncio.Future[ClaimError | None]
    """None once it is committed, or why it never will be."""
    tries: int = 0


def together(settlements: Sequence[Settlement]) -> Protocol[list[LeaseLost | None]]:
    """Every settlement in one transaction. A lost lease concerns its delivery alone."""
    results: list[LeaseLost | None] = []

    def body() -> Protocol[None]:
        # rows are locked in the order of their ids, so that two batches cannot deadlock
        for settlement in settlements:
            try:
                yield from lease.settle(settlement.item.delivery, settlement.outcome, joined=True)
                results.append(None)
            except LeaseLost as lost:
                results.append(lost)

    try:
        yield from in_transaction(body())
    except BaseException:
        for settlement in settlements:
            settlement.item.delivery.settled = False
            settlement.item.delivery.joined = False
        raise
    for settlement in settlements:
        settlement.item.delivery.joined = False
    return results


class Settler:
    """Takes outcomes and writes them over one connection. Handlers hear only after COMMIT."""

    def __init__(self, line: Line, report: Reporter, stop: asyncio.Event, most: float) -> None:
        self._line = line
        self._report = report
        self._stop = stop
        self._most = most
        self._queue: asyncio.Queue[Settlement] = asyncio.Queue()
        self._later: set[asyncio.Task[None]] = set()

    async def settle(self, item: InWork, outcome: AnyOutcome) -> ClaimError | None:
        """Write an outcome, however long that takes: over a new connection after a loss, while the
        token still matches, even late. Returns why it never will be written, or None."""
        future: asyncio.Future[ClaimError | None] = asyncio.get_running_loop().create_future()
        self._queue.put_nowait(Settlement(item, outcome, future))
        return await future

    async def run(self) -> None:
        """Settle until cancelled."""
        while True:
            batch = [await self._queue.get()]
            while len(batch) < BATCH and not self._queue.empty():
                batch.append(self._queue.get_nowait())
            batch = [one for one in batch if not one.done.done()]
            if batch:
                await self._batch(sorted(batch, key=lambda one: _id(one.item)))

    async def _batch(self, batch: list[Settlement]) -> None:
        for one in batch:
            one.item.delivery.settling = True
        try:
            results = await self._line.drive(lambda bound: together(batch))
        except asyncio.CancelledError:
            raise
        except Exception as error:
            await self._after(batch, error)
            return
        finally:
            for one in batch:
                one.item.delivery.settling = False
        for one, lost in zip(batch, results, strict=True):
            self._finish(one, lost)

    async def _after(self, batch: list[Settlement], error: Exception) -> None:
        """The batch was rolled back, or nobody knows. Each runs alone from here."""
        unanswered = isinstance(error, StatementFailed) and error.statement == "commit"
        gone = not isinstance(error, ClaimError) or (
            isinstance(error, StatementFailed) and error.kind is FaultKind.LOST
        )
        for one in batch:
            one.item.unanswered |= unanswered and gone
        if gone:
            await self._line.pause(error, self._stop)
        if len(batch) > 1:
            for one in batch:
                await self._batch([one])
            return
        one = batch[0]
        one.tries += 1
        if not gone and one.tries > 1:
            # a text that the database refuses must not keep the row from being settled
            one.outcome = _without_text(one.outcome)
        if not gone:
            self._report(
                EventKind.DISCONNECTED,
                id=one.item.delivery.id,
                attempt=one.item.delivery.number,
                error=error,
            )
        wait = (
            0.0
            if gone
            else min(self._most, Backoff(0.05 * 2 ** min(one.tries, 10), self._most).next())
        )
        task = asyncio.ensure_future(self._again(one, wait))
        self._later.add(task)
        task.add_done_callback(self._later.discard)

    async def _again(self, one: Settlement, wait: float) -> None:
        await asyncio.sleep(wait)
        self._queue.put_nowait(one)

    def _finish(self, one: Settlement, lost: ClaimError | None) -> None:
        if lost is not None and one.item.unanswered:
            delivery = one.item.delivery
            unknown = SettlementUnknown(
                f"{delivery.bound.queue.table} {delivery.id!r}: the server did not answer the COMMIT of "
                "this settlement, and afterwards the row no longer held the token: it counted, or "
                "another claim has the row.",
                table=delivery.bound.queue.table,
                id=delivery.id,
                attempt=delivery.number,
                statement="commit",
            )
            unknown.__cause__ = lost
            lost = unknown
        if not one.done.done():
            one.done.set_result(lost)


def _id(item: InWork) -> Any:
    delivery = item.delivery
    return delivery.bound.id(delivery.id)


def _without_text(outcome: AnyOutcome) -> AnyOutcome:
    match outcome:
        case Retry() | RetryAfter() | DeadLetter():
            return dataclasses.replace(outcome, error=None)
        case _:
            return outcome
