"""`<table>.ddl.sql` and `<table>.sql`: what a DBA reads, and what reaches the driver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlclaimgen.rendering import headers

if TYPE_CHECKING:
    from sqlclaimgen.description import Description
    from sqlclaimgen.statements import Plan, Statement


def _header(description: Description, plan: Plan) -> str:
    return "".join(
        f"-- {line}\n" for line in headers.lines(description, plan.table, [plan.dialect.name])
    )


def ddl(description: Description, plan: Plan) -> str:
    """The table and its indexes."""
    return f"{_header(description, plan)}\n{plan.ddl.rstrip()}\n"


def statements(description: Description, plan: Plan) -> str:
    """Every statement, a named block each."""
    blocks = "\n".join(block(statement) for statement in plan.statements)
    return f"{_header(description, plan)}\n{blocks}"


def block(statement: Statement) -> str:
    """One statement with what its reader needs to know."""
    lines = [f"-- name: {statement.name}", *(f"-- {line}" for line in statement.purpose)]
    lines += [f"--   :{one.name}  {one.what}" for one in statement.parameters]
    lines += [
        f"-- Transaction: {statement.transaction}",
        f"-- Locks: {statement.locks}",
        f"-- Index: {statement.index}",
        f"-- Runs: {statement.runs}",
    ]
    return "\n".join(lines) + f"\n{statement.text};\n"
