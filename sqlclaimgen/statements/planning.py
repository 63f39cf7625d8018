"""A table and a database to everything that is generated for the two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlclaimgen.description.model import Form, Role, Table
from sqlclaimgen.runtime.placeholders import names as placeholders
from sqlclaimgen.statements import care_indexes, columns, ddl, indexes, retrying
from sqlclaimgen.statements.blocks import parse
from sqlclaimgen.statements.model import Index, Plan, Statement
from sqlclaimgen.statements.names_in_sql import NamesInSQL
from sqlclaimgen.statements.parameters import what
from sqlclaimgen.templating import environment

if TYPE_CHECKING:
    from collections.abc import Iterator

    import jinja2

    from sqlclaimgen.dialects import Dialect

_FILES: dict[Form, tuple[str, ...]] = {
    Form.LEASE: (
        "lease/claim.sql",
        "lease/claim_write.sql",
        "lease/candidates.sql",
        "lease/extend.sql",
        "lease/release.sql",
        "lease/hold.sql",
    ),
    Form.ROW_LOCK: ("row_lock/claim.sql", "row_lock/holding.sql"),
    Form.ADVISORY_LOCK: (
        "advisory/space.sql",
        "advisory/claim.sql",
        "advisory/take.sql",
        "advisory/take_write.sql",
        "advisory/give_back.sql",
        "advisory/unlock.sql",
    ),
}
"""The templates of each form, in the order in which its statements are run and listed. Which of them
a database needs is said by its folder: one that it does not have is passed over."""

_FIFO = ("fifo/walk.sql", "fifo/guard.sql", "fifo/claim.sql")
"""What groups in order have before the form's own claim, which serves rows without a group there."""

_EVERY_FORM = (
    "clock.sql",
    "settle/ack.sql",
    "settle/retry.sql",
    "settle/dead_letter.sql",
    "settle/present.sql",
    "settle/enqueue.sql",
    "care/redrive_oldest.sql",
    "care/redrive.sql",
    "care/purge.sql",
    "care/stats_priorities.sql",
    "care/stats.sql",
    "care/stats_dead.sql",
    "care/row_security.sql",
)

_CLAIMS = frozenset(
    {"lease/claim.sql", "row_lock/claim.sql", "advisory/claim.sql", "advisory/take.sql"}
)
"""The claims of rows in one claim order."""

_SCOPED = _CLAIMS | frozenset({"fifo/claim.sql", "care/stats_priorities.sql", "care/stats.sql"})
"""Templates that are rendered once for each claim the table has."""

_OF_SCOPE = {"group": " of one group", "ungrouped": " that have no group", "table": ""}


_JOINS = "the caller's when one is open, else its own."
_SETTLEMENT = {
    Form.ROW_LOCK: "the claim's: leaving the claim's block, or the worker, commits it.",
    Form.ADVISORY_LOCK: (
        "the caller's when one is open, else its own; on the claim's connection, before its key is free."
    ),
}
"""Whose transaction a settlement is part of, where it is not the caller's or its own."""

_NO_ROW = {
    Form.LEASE: " No row: the lease is lost.",
    Form.ROW_LOCK: " No row: the claim is lost.",
    Form.ADVISORY_LOCK: " No row: the claim is lost.",
}
"""What it means when a settlement finds no row."""


def plan(table: Table, dialect: Dialect) -> Plan:
    """Everything generated for `table` on `dialect`."""
    names = NamesInSQL(table, dialect)
    env = environment(*(f"sql/{folder}" for folder in dialect.folders))
    context = _context(table, dialect, names)
    pieces: Any = env.get_template("pieces.sql").make_module(context)
    where = str(pieces.unfinished()).strip() or None
    alive = str(pieces.not_dead()).strip() if names.fate == "group" else None
    made = indexes.indexes(table, dialect, where, alive)
    dead_made = care_indexes.of_dead_letters(table, dialect)
    context["dedupe_index"] = next((i.name for i in made if i.unique), "")
    context.update(care_indexes.context(table, made, dead_made))
    statements = tuple(_statements(env, context, names, made))
    return Plan(
        table=table,
        dialect=dialect,
        statements=statements,
        indexes=made,
        dead_indexes=dead_made,
        ddl=ddl.render(env, names, made, dead_made),
        columns=columns.of_row(table),
    )


def _context(table: Table, dialect: Dialect, names: NamesInSQL) -> dict[str, Any]:
    enqueued = list(names.new)
    values = [column.inserted for column in names.new]
    for role, value in ((Role.ATTEMPT, "1"), (Role.STATUS, None), (Role.RETRY_AFTER, None)):
        column = table.column(role)
        if column is None:
            continue
        enqueued.append(next(c for c in names.columns if c.column is column))
        if role is Role.STATUS:
            value = names.pending
        values.append(value or f":{column.field}")
    return {
        "t": names,
        "settles": _JOINS,
        "settlement": _SETTLEMENT.get(table.form, _JOINS),
        "no_row": _NO_ROW.get(table.form, ""),
        "retried": retrying.place(table),
        "enqueued": enqueued,
        "enqueued_values": [
            dialect.enqueued(value, c.type) for value, c in zip(values, enqueued, strict=True)
        ],
        "ids": dialect.ids,
    }


def scopes(table: Table) -> tuple[str, ...]:
    """The scopes a table's claims have: `group`, `ungrouped`, `table`."""
    group = table.column(Role.GROUP)
    if group is None:
        return ("table",)
    made: list[str] = []
    if "group" in table.claims:
        made.append("group")
        if group.null:
            made.append("ungrouped")
    if "table" in table.claims:
        made.append("table")
    return tuple(made)


def suffix(table: Table, scope: str) -> str:
    """What ends the names of a scope's statements."""
    if scope == "group" or not table.has(Role.GROUP):
        return ""
    return f"_{scope}"


def _statements(
    env: jinja2.Environment, context: dict[str, Any], names: NamesInSQL, made: tuple[Index, ...]
) -> Iterator[Statement]:
    from jinja2 import TemplateNotFound

    table = names.described
    for file in (*(_FIFO if table.fifo else ()), *_FILES[table.form], *_EVERY_FORM):
        try:
            template = env.get_template(file)
        except TemplateNotFound as missing:
            if missing.name != file:
                raise
            continue
        for variant in _variants(names, file, made):
            text = template.render({**context, **variant})
            yield from parse(
                text,
                lambda sql: placeholders(sql, backslashes=names.dialect.backslashes),
                lambda statement, name: what(table, names.dialect, statement, name),
                backslashes=names.dialect.backslashes,
            )


def _variants(names: NamesInSQL, file: str, made: tuple[Index, ...]) -> list[dict[str, Any]]:
    """What a template is rendered with, once for each claim it serves."""
    table = names.described
    if not table.fifo:
        return [_scoped(names, scope, made) for scope in scopes(table)] if file in _SCOPED else [{}]
    if file == "fifo/claim.sql":
        return [{**_scoped(names, scope, made), **_fifo(table, made)} for scope in table.claims]
    if file in _FIFO:
        return [_fifo(table, made)]
    if file in _CLAIMS:
        # a claim of the whole table takes these rows too
        group = table.column(Role.GROUP)
        return [_scoped(names, "ungrouped", made)] if group is not None and group.null else []
    return [_scoped(names, scope, made) for scope in scopes(table)] if file in _SCOPED else [{}]


def _fifo(table: Table, made: tuple[Index, ...]) -> dict[str, Any]:
    named = {use: index.name for index in made for use in index.uses}
    claims = " and ".join("claim" + suffix(table, scope) for scope in table.claims)
    return {
        "order_index": named["order"],
        "work_index": named.get("work", ""),
        "claims_named": claims,
    }


def _index(table: Table, scope: str, made: tuple[Index, ...]) -> str:
    """The index that a scope's claim relies on."""
    if table.fifo and scope != "ungrouped":
        return next(index.name for index in made if "order" in index.uses)
    own = f"claim_{scope}" if table.has(Role.GROUP) else "claim"
    for wanted in (own, "claim"):
        for index in made:
            if wanted in index.serves:
                return index.name
    return "the primary key"


def _scoped(names: NamesInSQL, scope: str, made: tuple[Index, ...]) -> dict[str, Any]:
    table = names.described
    index = _index(table, scope, made)
    lead = [Role.GROUP] if scope in ("group", "ungrouped") else []
    finished = indexes.finished_by(table)
    if finished is not None:
        lead.append(finished)
    columns_ = (table.column(role) for role in lead)
    return {
        "scope": scope,
        "name": "claim" + suffix(table, scope),
        "of_scope": _OF_SCOPE[scope],
        "claim_index": index,
        "lead": [names.dialect.quote(column.name) for column in columns_ if column is not None],
    }
