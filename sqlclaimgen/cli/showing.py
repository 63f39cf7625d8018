"""`show`: what was understood of a description, for a person or a program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlclaimgen.cli import console, described
from sqlclaimgen.cli.console import FINE, ErrorFormat, Format
from sqlclaimgen.description.model import DeadLetterGroup, DeadLetterTable, Form, Role
from sqlclaimgen.rendering import plans, table_files
from sqlclaimgen.statements import columns
from sqlclaimgen.statements.prices import CONCURRENCY, price

if TYPE_CHECKING:
    from pathlib import Path

    from sqlclaimgen.description import Description
    from sqlclaimgen.description.model import Column, Table
    from sqlclaimgen.statements import Plan


def show(path: Path, keys: list[str], form: Format) -> int:
    """Print what a description says. Returns the exit code."""
    description = described.read(path, ErrorFormat.TEXT)
    tables = [described.table(description, key) for key in keys] or description.tables
    understood = [_table(description, table) for table in tables]
    if form is Format.JSON:
        console.out_json({"description": str(description.path), "tables": understood})
        return FINE
    from sqlclaimgen.cli import tabulating

    for one in understood:
        tabulating.table(one)
    return FINE


def why(table: Table) -> str:
    """Which words of the description chose the table's form."""
    match table.form:
        case Form.LEASE:
            column = table.column(Role.LOCKED_UNTIL)
            assert column is not None
            return f"the column `{column.name}` has the role locked_until"
        case Form.ADVISORY_LOCK:
            assert table.advisory_lock is not None
            return f'advisory_lock = "{table.advisory_lock.source}"'
        case Form.ROW_LOCK:
            return "no column has the role locked_until, and advisory_lock is not set"


def _table(description: Description, table: Table) -> dict[str, Any]:
    made = plans(table)
    cost = price(table)
    return {
        "key": table.key,
        "name": table.name,
        "schema": table.schema,
        "form": table.form.value,
        "why": why(table),
        "dialects": list(table.dialects),
        "settings": _settings(table),
        "roles": {
            role.value: column.name for role in Role if (column := table.column(role)) is not None
        },
        "columns": [_column(table, column, made) for column in table.columns],
        "claims": list(table.claims),
        "indexes": {
            plan.dialect.name: [_index(table, plan, n) for n in range(len(plan.indexes) + 1)]
            for plan in made
        },
        "statements": {plan.dialect.name: [one.name for one in plan.statements] for plan in made},
        "connections": {
            "worker": cost.worker,
            "concurrency": CONCURRENCY,
            "why": cost.why,
        },
        "files": [str(path) for path in table_files(description, table)],
    }


def _settings(table: Table) -> dict[str, Any]:
    """The table's keys that are in force, defaults included."""
    dead = table.dead_letter
    said: dict[str, Any] = {
        "lease": f"{table.lease}s" if table.form is Form.LEASE else None,
        "fifo": table.fifo,
        "max_attempts": table.max_attempts,
        "retry": _retry(table),
        "clock": table.clock,
        "isolation": table.isolation,
        "mode": table.mode,
        "where": table.where,
        "notify": table.notify or None,
        "commit_order": table.commit_order or None,
    }
    if isinstance(dead, DeadLetterTable):
        said["dead_letter"] = f"table {dead.schema + '.' if dead.schema else ''}{dead.name}"
    if isinstance(dead, DeadLetterGroup):
        said["dead_letter"] = f"group {dead.group}"
    said["finished rows"] = "stay, marked" if table.keeps_finished else "are deleted"
    return {key: value for key, value in said.items() if value is not None}


def _retry(table: Table) -> str | None:
    if table.retry is None:
        return None
    retry = table.retry
    return f"{retry.backoff}, {retry.base}s to {retry.max}s, jitter {retry.jitter}"


def _column(table: Table, column: Column, made: tuple[Plan, ...]) -> dict[str, Any]:
    default: Any = "now" if column.default_now else column.default
    return {
        "name": column.name,
        "field": column.field,
        "role": column.role.value if column.role else None,
        "type": str(column.type),
        "null": column.null,
        "generated": column.generated,
        "default": default,
        "python": str(column.python) if column.python else None,
        "sql": {plan.dialect.name: columns.spelled(table, column, plan.dialect) for plan in made},
    }


def _index(table: Table, plan: Plan, number: int) -> dict[str, Any]:
    """The primary key, then the others."""
    if number == 0:
        key = {"name": "primary key", "columns": [table.id.name], "unique": True}
        return {**key, "where": None, "serves": "settling"}
    index = plan.indexes[number - 1]
    return {
        "name": index.name,
        "columns": list(index.columns),
        "unique": index.unique,
        "where": index.where,
        "serves": ", ".join(index.serves),
    }
