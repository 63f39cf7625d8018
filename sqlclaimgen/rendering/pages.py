"""`<table>.md`: a page about the table for whoever has to run it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from sqlclaimgen.dialects import DIALECTS
from sqlclaimgen.rendering import headers, page_words, sequences
from sqlclaimgen.rendering.grants import grants
from sqlclaimgen.rendering.markdown import cell, code, listed, text
from sqlclaimgen.statements.ddl import comment
from sqlclaimgen.statements.prices import price
from sqlclaimgen.templating import environment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlclaimgen.description import Description
    from sqlclaimgen.description.model import Column, Table
    from sqlclaimgen.statements import Index, Plan, Statement


def render(description: Description, table: Table, plans: Sequence[Plan]) -> str:
    """The page's text."""
    env = environment("docs")
    env.filters["text"] = text
    env.filters["cell"] = cell
    env.filters["code"] = code
    return env.get_template("table.md.j2").render(_context(description, table, plans))


def _context(description: Description, table: Table, plans: Sequence[Plan]) -> dict[str, Any]:
    dialects = [plan.dialect for plan in plans]
    titles = listed([dialect.title for dialect in dialects])
    return {
        "header": headers.lines(description, table, [dialect.name for dialect in dialects]),
        "table": table,
        "opening": f"A work table of the **{table.form.words}** form, for {titles}. "
        f"{page_words.finishing(table)}",
        "columns": [_column(table, column) for column in table.columns],
        "types": listed(sorted({code(c.python.module) for c in table.columns if c.python})),
        "held": page_words.held(table),
        "prices": {
            "plain": price(table),
            "transactional": price(table, transactional=True),
        },
        "diagram": sequences.diagram(table, titles if len(dialects) == 1 else "Database"),
        "sequences": sequences.in_words(table, plans),
        "refused": page_words.refused(table),
        "crashes": page_words.crashes(table),
        "settings": page_words.settings(table),
        "creating": page_words.creating(table),
        "commands": [_command(description, table, plan) for plan in plans],
        "indexes": _indexes(plans),
        "grants": grants(table) if any(d.has_logins for d in dialects) else [],
        "statements": _sections(plans),
    }


def _column(table: Table, column: Column) -> dict[str, str]:
    said = comment(table, column) or ""
    extra = [] if column.field == column.name else [f"In Python: {code(column.field)}."]
    if column.python is not None:
        extra.append(f"Holds {code(str(column.python))}.")
    return {
        "name": column.name,
        "type": str(column.type) + (", NULL" if column.null else ""),
        "role": column.role.value if column.role else "",
        "what": " ".join([said, *extra]).strip(),
    }


def _command(description: Description, table: Table, plan: Plan) -> str:
    path = f"{description.output.sql}/{plan.dialect.name}/{table.key}.ddl.sql"
    return plan.dialect.loading.format(path=shlex.quote(path))


def _indexes(plans: Sequence[Plan]) -> list[dict[str, str]]:
    """Every index once, with the databases that have it where not all do."""
    made: dict[tuple[str, ...], list[str]] = {}
    for plan in plans:
        dead = plan.table.dead_letter
        on = getattr(dead, "name", "")
        for index, where in (
            *((i, "") for i in plan.indexes),
            *((i, on) for i in plan.dead_indexes),
        ):
            made.setdefault(_index_key(index, where), []).append(plan.dialect.title)
    return [
        {
            "name": name,
            "on": on,
            "columns": listed,
            "where": where,
            "serves": serves if len(titles) == len(plans) else f"{serves} ({', '.join(titles)})",
        }
        for (name, on, listed, where, serves), titles in made.items()
    ]


def _index_key(index: Index, on: str) -> tuple[str, ...]:
    rows = f"those with {index.where}" if index.where else "all"
    unique = ", each once" if index.unique else ""
    return (index.name, on, ", ".join(index.columns), rows + unique, ", ".join(index.serves))


def _sections(plans: Sequence[Plan]) -> list[dict[str, Any]]:
    """The statements by database; databases of which the same is said share a section."""
    made: dict[tuple[Any, ...], list[str]] = {}
    for plan in plans:
        key = tuple(_said(statement) for statement in plan.statements)
        made.setdefault(key, []).append(plan.dialect.name)
    names = ("name", "parameters", "purpose", "transaction", "locks", "index", "runs")
    return [
        {
            "title": listed([DIALECTS[name].title for name in dialects]),
            "statements": [dict(zip(names, said, strict=True)) for said in statements],
        }
        for statements, dialects in made.items()
    ]


def _said(statement: Statement) -> tuple[str, ...]:
    return (
        statement.name,
        ", ".join(code(f":{parameter.name}") for parameter in statement.parameters),
        " ".join(statement.purpose),
        statement.transaction,
        statement.locks,
        statement.index,
        statement.runs,
    )
