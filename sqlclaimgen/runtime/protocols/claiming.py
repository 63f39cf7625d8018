"""The rows of a lease claim: all by one statement, or in pieces where the database refuses one of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlclaimgen.runtime.protocols import fifo, piecewise, windows
from sqlclaimgen.runtime.protocols.claimed import Claimed, claimed, decoded_id
from sqlclaimgen.runtime.protocols.counted import at_most
from sqlclaimgen.runtime.protocols.scope import UNGROUPED, Scope
from sqlclaimgen.runtime.protocols.taken import Refusal
from sqlclaimgen.runtime.queue import Bound
from sqlclaimgen.runtime.steps import CheckConstraints, Protocol


def found(
    bound: Bound,
    scope: Scope,
    limit: int,
    parameters: dict[str, Any],
    guards: fifo.Guards,
    verb: str = "claim",
) -> Protocol[fifo.Found]:
    """Up to `limit` due rows. They are written already, unless the database has a `claim_write`. `verb`
    begins the names of the statements: those of `candidates` write nothing."""
    parameters = _of_scope(bound, scope, parameters)
    if not fifo.keeps_order(bound, scope):
        return fifo.Found((yield from _rows(bound, scope, limit, parameters, verb)), limit)

    def alone(missing: int) -> Protocol[list[Claimed]]:
        return (yield from _rows(bound, UNGROUPED, missing, parameters, verb))

    return (yield from fifo.heads(bound, scope, limit, parameters, guards, alone, verb=verb))


def in_pieces(
    bound: Bound, scope: Scope, limit: int, parameters: dict[str, Any], guards: fifo.Guards
) -> Protocol[tuple[fifo.Found, list[Refusal]]]:
    """Lock up to `limit` due rows, and write those that the database does not refuse. Returns the two."""
    separate = bound.has("claim_write")
    verb, write = ("claim", "claim_write") if separate else ("candidates", "candidates_take")
    locked = yield from found(bound, scope, limit, parameters, guards, verb)
    parameters = _of_scope(bound, scope, parameters)
    ids = [row.id for row in locked.rows]
    rows = {row.id: row for row in locked.rows} if separate else {}

    def change(some: Sequence[Any]) -> Protocol[None]:
        named = bound.codec.ids(bound.queue.id_kind, sorted(some))
        row = decoded_id(bound, some[0]) if len(some) == 1 else None
        written = yield from bound.run(write, {**parameters, **named}, row=row)
        yield from at_most(bound, write, len(written.rows) or written.count, len(some))
        if bound.codec.checks_early:
            yield CheckConstraints()
        rows.update({one.id: one for one in claimed(bound, written.rows)})

    refused = (yield from piecewise.changed(ids, change, _nothing)) if ids else {}
    locked.rows = [rows[id] for id in ids if id in rows and id not in refused]
    return locked, [
        Refusal(decoded_id(bound, id), error, spelled=bound.id(id)) for id, error in refused.items()
    ]


def _nothing() -> Protocol[None]:
    """No probe: a refusal that is not a row's was raised by the claim before."""
    yield from ()


def _of_scope(bound: Bound, scope: Scope, parameters: dict[str, Any]) -> dict[str, Any]:
    if scope.group is None or bound.queue.group is None:
        return parameters
    return {**parameters, "group": bound.codec.encode(bound.queue.group.kind, scope.group)}


def _rows(
    bound: Bound, scope: Scope, limit: int, parameters: dict[str, Any], verb: str
) -> Protocol[list[Claimed]]:
    if verb == "candidates":
        locked = yield from bound.run("candidates" + scope.suffix, {**parameters, "limit": limit})
        return [Claimed(row[0], 1, (), ()) for row in locked.rows]
    if not bound.has("due_priorities" + scope.suffix):
        return (yield from _window(bound, scope, limit, parameters))
    # delayed rows of a better priority are stepped over, not walked
    listed = yield from bound.run("due_priorities" + scope.suffix, parameters)
    found: list[Claimed] = []
    for priority in listed.rows:
        more = {**parameters, "priority": priority[0]}
        found += yield from _window(bound, scope, limit - len(found), more)
        if len(found) >= limit:
            break
    return found


def _window(
    bound: Bound, scope: Scope, limit: int, parameters: dict[str, Any]
) -> Protocol[list[Claimed]]:
    window = windows.of_lease(limit)
    while True:
        result = yield from bound.run(
            "claim" + scope.suffix, {**parameters, "limit": limit, "window": window}
        )
        if result.rows or not bound.has("probe" + scope.suffix) or window >= windows.MOST:
            return claimed(bound, result.rows)
        # nothing came: others hold the whole window, or nothing is due
        beyond = yield from bound.run(
            "probe" + scope.suffix, {**parameters, "window": window + 1, "last": window}
        )
        if not beyond.rows:
            return []
        window = windows.wider(window)
