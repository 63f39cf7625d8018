"""Tables whose groups are kept in order, in both forms that can."""

from __future__ import annotations

import weakref
from typing import Any

from sqlclaimgen.runtime.protocols.forms import form_of
from sqlclaimgen.runtime.protocols.scope import Scope
from tests.conformance.harness import Case, Stand
from tests.conformance.stepping import Stepper

SERVERS = ("postgres", "mysql", "mariadb")

LEASE = Case(
    "lease",
    """
    lease = "60s"
    max_attempts = 3
    dead_letter = { table = "jobs_dead" }
    claims = ["group", "table"]
    [table.jobs.columns]
    id = { role = "id", type = "bigint", generated = true }
    queue = { role = "group", type = "text", fifo = true }
    priority = { role = "priority", type = "int" }
    run_after = { role = "retry_after" }
    attempt = { role = "attempt" }
    locked_until = { role = "locked_until" }
    processed_at = { role = "processed_at" }
    """,
    claims={"group": "a"},
)
ROW_LOCK = Case(
    "row-lock",
    """
    claims = ["group", "table"]
    [table.jobs.columns]
    id = { role = "id", type = "bigint", generated = true }
    queue = { role = "group", type = "text", fifo = true }
    priority = { role = "priority", type = "int" }
    run_after = { role = "retry_after" }
    attempt = { role = "attempt" }
    processed_at = { role = "processed_at" }
    """,
    dialects=SERVERS,
    claims={"group": "a"},
)


def edited(case: Case, name: str, *pairs: tuple[str, str]) -> Case:
    """A case with texts of its description replaced; each must be there."""
    body = case.body
    for old, new in pairs:
        assert old in body, f"{old!r} is not in the description"
        body = body.replace(old, new)
    return case.with_(name=name, body=body)


def due(case: Case) -> Case:
    """The case with groups whose delayed rows let the others pass."""
    return edited(case, f"{case.name}-due", ("fifo = true", 'fifo = "due"'))


def nullable(case: Case) -> Case:
    """The case with rows that may have no group."""
    return edited(case, f"{case.name}-null", ("fifo = true", "null = true, fifo = true"))


def typed(case: Case, kind: str) -> Case:
    """The case with groups of another type."""
    column = '"queue" is text'
    old = 'role = "group", type = "text"'
    assert old in case.body, column
    return edited(case, f"{case.name}-{kind}", (old, f'role = "group", type = "{kind}"'))


def claiming(stand: Stand, scope: Scope, limit: int = 1, *, module: Any = None) -> Stepper:
    """A claim of the stand's form, one step at a time, on a connection of its own."""
    queue = (module or stand.module).QUEUE
    form = form_of(queue)
    claim = Stepper(stand.connect(), queue, lambda bound: form.claim(bound, scope, limit))
    # a connection that nobody refers to is closed, and what it holds is free
    _KEPT.setdefault(stand, []).append(claim)
    return claim


_KEPT: weakref.WeakKeyDictionary[Stand, list[Stepper]] = weakref.WeakKeyDictionary()


def ids(stepper: Stepper) -> list[Any]:
    """What a claim took, once it has been run to its end."""
    return [delivery.id for delivery in stepper.finish().deliveries]


# -- twins -------------------------------------------------------------------------------------------


def unguarded(stand: Stand) -> Any:
    """The module with a guard that grants everything and locks nothing."""
    if "guard" not in stand.sql:
        return stand.module
    edits = {"guard": _granting}
    if "guard_release" in stand.sql:
        edits["guard_release"] = lambda sql: sql.replace("RELEASE_LOCK(g.name)", "1")
    return stand.twin(**edits)


def _granting(sql: str) -> str:
    head, _, _ = sql.partition("WHERE pg_try_advisory_xact_lock")
    if head != sql:
        return head + "LIMIT :limit"
    return sql.replace("IS_USED_LOCK(g.name) = CONNECTION_ID()", "1").replace(
        "GET_LOCK(g.name, 0)", "1"
    )


def careless(stand: Stand) -> Any:
    """The module with claims that do not ask whether a row of the group is in work."""

    def edit(sql: str) -> str:
        for quoted in ('b."locked_until" > :now', "b.`locked_until` > :now"):
            sql = sql.replace(quoted, "1 = 0")
        return sql

    return stand.twin(claim=edit, claim_table=edit, walk=edit, walk_first=edit)
