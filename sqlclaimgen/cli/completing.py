"""What shells offer after Tab: the tables and statements of the description at hand."""

from __future__ import annotations

import typer


def dialects(incomplete: str) -> list[str]:
    """The databases."""
    from sqlclaimgen.dialects import DIALECTS

    return [name for name in DIALECTS if name.startswith(incomplete)]


def tables(context: typer.Context, incomplete: str) -> list[str]:
    """The keys of the description's tables."""
    return [key for key in _statements(context) if key.startswith(incomplete)]


def statements(context: typer.Context, incomplete: str) -> list[str]:
    """The statements of the table that was named."""
    names = _statements(context).get(str(context.params.get("table")), [])
    return [name for name in names if name.startswith(incomplete)]


def _statements(context: typer.Context) -> dict[str, list[str]]:
    from pathlib import Path

    from sqlclaimgen.description import DescriptionInvalid, load
    from sqlclaimgen.rendering import plans

    path = Path(str(context.params.get("file") or "tables.toml"))
    try:
        description = load(path / "tables.toml" if path.is_dir() else path)
    except DescriptionInvalid:
        return {}
    return {
        table.key: list(dict.fromkeys(one.name for plan in plans(table) for one in plan.statements))
        for table in description.tables
    }
