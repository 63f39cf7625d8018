"""Where a retry without a delay puts its row among those that wait."""

from __future__ import annotations

from sqlclaimgen.description.model import Role, Table


def place(table: Table) -> str:
    """Words that go on after "due again": behind which rows, and when it is claimed."""
    if table.fifo == "strict":
        return "in its place: the next claim of its group takes it again"
    if not table.has(Role.RETRY_AFTER):
        return "in its place: it is claimed again at once"
    same = [
        name
        for name, sorts_before in (
            ("group", bool(table.fifo)),
            ("priority", table.has(Role.PRIORITY)),
        )
        if sorts_before
    ]
    of = f" of its {' and '.join(same)}" if same else ""
    return f"behind the rows{of} that are due, or claimed at once if none are"
