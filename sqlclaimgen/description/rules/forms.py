"""The form of a table, as its keys and columns select it, and the databases that serve it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlclaimgen.description.model import Form, Role
from sqlclaimgen.dialects import DIALECTS

if TYPE_CHECKING:
    from sqlclaimgen.description.scope import Scope
    from sqlclaimgen.dialects import Dialect

LEASE = 30
"""Seconds, unless `lease` is set."""


def resolve(scope: Scope) -> Form:
    """The form that the table's keys and columns select."""
    shape = scope.shape
    column = scope.column(Role.LOCKED_UNTIL)
    advisory = shape.advisory_lock is not None
    if column and advisory:
        scope.error(
            "FORM-TWICE",
            f"column `{column.name}` selects the lease form, and `advisory_lock` another",
            "A row is held in one way: leave one of the two out.",
            "advisory_lock",
        )
    form = Form.LEASE if column else Form.ADVISORY_LOCK if advisory else Form.ROW_LOCK
    unsure = scope.findings.is_broken(scope.path("advisory_lock")) or (
        form is not Form.LEASE and not scope.lacks(Role.LOCKED_UNTIL)
    )
    if shape.form and shape.form != form and not (column and advisory) and not unsure:
        _report_assertion(scope, Form(shape.form), form)
    elif shape.lease is not None and form is not Form.LEASE and not unsure:
        scope.error(
            "LEASE-UNUSED",
            f"`lease` is set, and table `{scope.key}` takes the {form.words} form",
            'Add the column that holds the lease: locked_until = { role = "locked_until" }; '
            "or leave `lease` out.",
            "lease",
        )
    return form


def _report_assertion(scope: Scope, said: Form, form: Form) -> None:
    why = {
        Form.LEASE: "a column plays role `locked_until`",
        Form.ADVISORY_LOCK: "`advisory_lock` is set",
        Form.ROW_LOCK: "it has no `locked_until` column and no `advisory_lock`",
    }
    way_out = {
        Form.LEASE: 'Add the column that selects it: locked_until = { role = "locked_until" }.',
        Form.ADVISORY_LOCK: 'Set the key: advisory_lock = "accounts-{account}".',
        Form.ROW_LOCK: "Leave out the `locked_until` column and `advisory_lock`.",
    }
    scope.error(
        "FORM",
        f'`form` says "{said}", and table `{scope.key}` takes the {form.words} form: {why[form]}',
        way_out[said],
        "form",
    )


def dialects(scope: Scope, form: Form) -> tuple[Dialect, ...]:
    """The table's databases, in their usual order: those it names, else all that serve its form."""
    named = scope.shape.dialects
    serving = tuple(d for d in DIALECTS.values() if form is not Form.ROW_LOCK or d.row_lock)
    if named is None:
        return serving
    if not named:
        scope.error(
            "DIALECTS",
            f"table `{scope.key}` names no database",
            "Name one, or leave `dialects` out for every one that serves the form.",
            "dialects",
        )
    for n, name in enumerate(named):
        if name in named[:n]:
            scope.error("DIALECTS", f"`{name}` is there twice", "Name each once.", "dialects", n)
        dialect = DIALECTS[name]
        if dialect not in serving and scope.lacks(Role.LOCKED_UNTIL):
            scope.error(
                "FORM-UNSERVED",
                f"table `{scope.key}` takes the row lock form, and "
                + dialect.row_lock.reason.rstrip("."),
                dialect.row_lock.way_out,
                "dialects",
                n,
            )
    return tuple(d for d in DIALECTS.values() if d.name in named) or serving
