"""The due rows of a row lock claim, in claim order, by whatever statements the database needs."""

from __future__ import annotations

from typing import Any

from sqlclaimgen.runtime.protocols.claimed import Claimed, claimed
from sqlclaimgen.runtime.protocols.scope import Scope
from sqlclaimgen.runtime.protocols.windows import Window
from sqlclaimgen.runtime.queue import Bound
from sqlclaimgen.runtime.steps import Protocol


def parameters(bound: Bound, scope: Scope, given: dict[str, Any]) -> dict[str, Any]:
    """What every statement of a claim is given, with the group of its scope."""
    if scope.group is not None and bound.queue.group is not None:
        group = bound.codec.encode(bound.queue.group.kind, scope.group)
        return {**given, "group": group}
    return given


def due(
    bound: Bound, scope: Scope, limit: int, given: dict[str, Any], window: Window
) -> Protocol[list[Claimed]]:
    """Lock up to `limit` due rows of a scope. `given`: the time, and the rows that are left out."""
    given = parameters(bound, scope, given)
    if not bound.has("due_priorities" + scope.suffix):
        found, _ = yield from _some(bound, scope, limit, given, window)
        return found
    # delayed rows of a better priority are stepped over, not walked
    listed = yield from bound.run("due_priorities" + scope.suffix, given)
    taken: list[Claimed] = []
    for row in listed.rows:
        here = {**given, "priority": row[0]}
        found, more = yield from _some(bound, scope, limit - len(taken), here, window)
        taken += found
        # what is left of this priority goes before the next one, so the claim ends here
        if more or len(taken) >= limit:
            break
    return taken


def _some(
    bound: Bound, scope: Scope, limit: int, parameters: dict[str, Any], window: Window
) -> Protocol[tuple[list[Claimed], bool]]:
    """Up to `limit` rows, and whether more may be due than the statement looked at."""
    name, probe = "claim" + scope.suffix, "probe" + scope.suffix
    if not bound.has(probe):
        result = yield from bound.run(name, {**parameters, "limit": limit})
        return claimed(bound, result.rows), False
    width = window.begin(limit)
    while True:
        result = yield from bound.run(name, {**parameters, "limit": limit, "window": width})
        if len(result.rows) >= limit:
            window.full(width, limit)
            return claimed(bound, result.rows), True
        # others hold the rest of the window, or nothing more is due
        beyond = yield from bound.run(probe, {**parameters, "last": width})
        if not beyond.rows:
            return claimed(bound, result.rows), False
        width = window.short(width)
        if result.rows:
            return claimed(bound, result.rows), True
