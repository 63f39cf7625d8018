"""The statements a worker runs, resolved by the server against the live table."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlclaimgen.runtime.codecs import Held
from sqlclaimgen.runtime.drivers.servers import Server
from sqlclaimgen.runtime.errors import FaultKind, SchemaMismatch, ServerUnfit, StatementFailed
from sqlclaimgen.runtime.placeholders import names
from sqlclaimgen.runtime.queue import Bound
from sqlclaimgen.runtime.steps import Begin, Many, Protocol, Rollback, Run

_MOMENT = datetime(2000, 1, 1, tzinfo=UTC)
_NOBODY = "sqlclaimgen-check"
_SAMPLES: Mapping[str, Any] = {
    "smallint": -1,
    "int": -1,
    "bigint": -1,
    "uuid": UUID(int=1),
    "boolean": True,
    "bytes": b"",
    "json": "{}",
    "date": date(2000, 1, 1),
    "double": 1.0,
    "timestamp": _MOMENT,
    "numeric": Decimal(1),
}
"""A value of each kind of column, text for the others; of ids, one that no row is likely to have."""


def fit(bound: Bound, server: Server) -> Protocol[None]:
    """Raise SchemaMismatch for the first statement that the live table does not bear. None is run."""
    samples = parameters(bound)
    for name, sql in bound.statements.items():
        if name.startswith(server.others):
            continue
        used = {parameter: samples.get(parameter) for parameter in _names(bound, sql)}
        try:
            yield from server.fits(name, sql, used)
        except StatementFailed as error:
            if error.kind not in (FaultKind.REFUSED, FaultKind.ROW):
                raise
            if server.forbids(error.__cause__):
                raise _forbidden(bound, name, error) from error.__cause__
            raise _mismatch(bound, server, name, sql, error) from error.__cause__


def typed(bound: Bound, server: Server) -> Protocol[None]:
    """Raise SchemaMismatch when a column of times or integers is of another type. A claim of no rows
    is run and rolled back: what it would return is described, and no row is locked."""
    name = _returning(bound)
    if name is None or not server.holds:
        return
    sql = bound.statements[name]
    samples = {**parameters(bound), **dict.fromkeys(("limit", "window"), 0)}
    yield Begin()
    try:
        result = yield Run(name, sql, {used: samples.get(used) for used in _names(bound, sql)})
    except StatementFailed:
        yield Rollback()
        raise
    yield Rollback()
    for column, described in zip(bound.queue.columns, result.described, strict=False):
        held = server.holds.get(column.kind.partition("(")[0])
        if held is None or described[1] in held:
            continue
        table, live = bound.queue.table, described[0]
        raise SchemaMismatch(
            f"{table}, column {live}: the statement {name} returns a value that is no {column.kind} (the "
            f"driver's type code {described[1]}). Give the column the type of the generated DDL.",
            table=table,
            statement=name,
            column=live,
        )


def parameters(bound: Bound) -> dict[str, Any]:
    """A value for every parameter that a worker's statements have, of the type that it will send."""
    codec, queue = bound.codec, bound.queue
    id = bound.id(sample(queue.id_kind))
    time = codec.time(_MOMENT)
    made: dict[str, Any] = {
        **dict.fromkeys(
            ("now", "due", "locked_until", "token", "sent", "soon", "before", "since"), time
        ),
        **dict.fromkeys(("limit", "window", "last", "attempt", "priority"), 1),
        **dict.fromkeys(("reason", "error"), ""),
        # what an enqueue fills in
        **dict.fromkeys((column.field for column in queue.enqueued), None),
        **codec.ids(queue.id_kind, [sample(queue.id_kind)]),
        **codec.held(queue.id_kind, [Held(sample(queue.id_kind), _MOMENT, _MOMENT, 1)]),
        **codec.set_aside([id]),
        "id": id,
        "seen_id": id,
        "seen_value": time if queue.retry_after is not None else 1,
    }
    if queue.group is not None:
        kind = queue.group.kind
        group = codec.encode(kind, sample(kind))
        made |= codec.groups([group])
        made |= dict.fromkeys(("group", "after", "until"), group)
    return made


def sample(kind: str) -> Any:
    """A value of a kind of column, as Python has it."""
    return _SAMPLES.get(kind.partition("(")[0], _NOBODY)


def _returning(bound: Bound) -> str | None:
    """A statement that returns the Row's columns and can be told to take nothing: the advisory form's
    take and the claim of FIFO groups, by a key and a group that no row has, any other by its limit."""
    named = [name for name in bound.statements if name.startswith(("take", "claim"))]
    named = [name for name in named if not name.endswith("_write")]
    takes = [name for name in named if name.startswith("take")]
    kept = {"limit", "groups"}
    claims = [name for name in named if kept.intersection(_names(bound, bound.statements[name]))]
    return next(iter(takes or claims), None)


def _names(bound: Bound, sql: str) -> tuple[str, ...]:
    backslashes = isinstance(bound.codec.ids("int", [1])["ids"], Many)
    return names(sql, backslashes=backslashes)


def _forbidden(bound: Bound, name: str, error: StatementFailed) -> ServerUnfit:
    table = bound.queue.table
    return ServerUnfit(
        f"{table}: this login may not run the statement {name}: {str(error.__cause__).strip()}. The page of "
        "the table lists what a worker's login is granted (Grants).",
        table=table,
        setting="GRANT",
    )


def _mismatch(
    bound: Bound, server: Server, name: str, sql: str, error: StatementFailed
) -> SchemaMismatch:
    table = bound.queue.table
    column = server.column(sql, error.__cause__)
    where = f", column {column}" if column is not None else ""
    said = str(error.__cause__).strip() if error.__cause__ is not None else str(error)
    return SchemaMismatch(
        f"{table}{where}: the statement {name} does not fit the live table: {said}. Compare the table with "
        f"its generated {bound.codec.dialect}/*.ddl.sql, or mend the description and build again.",
        table=table,
        statement=name,
        column=column,
    )
