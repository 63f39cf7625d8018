"""From a file's shape to resolved tables: every rule runs, whatever the others found."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlclaimgen.description.model import FORMAT, Description, Table
from sqlclaimgen.description.rules import (
    attempts,
    columns,
    conditions,
    dead_letters,
    fields,
    forms,
    groups,
    identities,
    key_templates,
    keys,
    leases,
    lengths,
    names,
    outputs,
    reserved,
    service,
    transactions,
)
from sqlclaimgen.description.scope import Scope

if TYPE_CHECKING:
    from pathlib import Path

    from sqlclaimgen.description.findings import Findings
    from sqlclaimgen.description.shape import FileShape, TableShape


def resolve(shape: FileShape, path: Path, findings: Findings) -> Description:
    """The description that `shape` means. It is to be used only when nothing was found wrong."""
    if shape.format != FORMAT:
        findings.error(
            "FORMAT",
            f"the file has format {shape.format}, and this version reads format {FORMAT}",
            f"Write format = {FORMAT}, or use a version of sqlclaimgen that reads the other.",
            ("format",),
        )
    if not shape.table and not findings.is_broken(("table",)):
        findings.error(
            "NO-TABLES",
            "the file describes no table",
            "Write [table.jobs] and [table.jobs.columns], or run `sqlclaimgen init`.",
            ("table",),
        )
    output = outputs.resolve(shape.output, findings)
    outputs.check_modules(shape.output, shape.table, findings)
    one_file = keys.check_together(list(shape.table), findings)
    tables = tuple(_table(key, table, findings) for key, table in shape.table.items())
    keys.check_tables([table for table in tables if table.key not in one_file], findings)
    service.check(shape, findings)
    if not findings.errors:
        lengths.check(tables, findings)
        reserved.check(tables, findings)
        attempts.check_delays(tables, findings)
    warnings = tuple(found for found in findings.sorted() if found.severity == "warning")
    return Description(path, output, tables, warnings)


def _table(key: str, shape: TableShape, findings: Findings) -> Table:
    scope = Scope(key, shape, findings)
    keys.check(scope)
    scope.columns = columns.resolve(scope)
    named = fields.resolve(scope)
    scope.columns = tuple(replace(c, field=named[c.name]) for c in scope.columns)
    identities.check(scope)
    form = forms.resolve(scope)
    scope.dialects = forms.dialects(scope, form)
    names.check(scope)
    leases.check(scope, form)
    dead_letters.check_origin(scope)
    fifo = groups.fifo(scope, form)
    condition = conditions.resolve(scope)
    return Table(
        key=key,
        name=key if shape.name is None else shape.name,
        schema=shape.schema_,
        dialects=tuple(dialect.name for dialect in scope.dialects),
        form=form,
        columns=scope.columns,
        lease=forms.LEASE if shape.lease is None else shape.lease,
        advisory_lock=key_templates.resolve(scope),
        fifo=fifo,
        claims=groups.claims(scope),
        max_attempts=attempts.max_attempts(scope, form),
        dead_letter=dead_letters.resolve(scope),
        retry=attempts.retry(scope),
        clock=shape.clock,
        isolation=transactions.isolation(scope, form, ordered=fifo is not None),
        mode=transactions.mode(scope),
        where=condition.text if condition else None,
        conditions=condition.pieces if condition else {},
        notify=transactions.notify(scope),
        commit_order=shape.commit_order,
    )
