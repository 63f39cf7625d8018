"""`price`: the connections of a table's workers, against what the server allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlclaimgen.cli import console, described
from sqlclaimgen.cli.console import DIFFERENT, FINE, Format, counted, out
from sqlclaimgen.statements.prices import price

if TYPE_CHECKING:
    from pathlib import Path


def show_price(
    path: Path,
    key: str,
    *,
    workers: int,
    hosts: int,
    concurrency: int,
    transactional: bool,
    limit: int | None,
    form: Format,
) -> int:
    """Print the price. Returns the exit code: 1 where the server's limit is too low."""
    table = described.table(described.read(path), key)
    one = price(table, concurrency=concurrency, transactional=transactional)
    total = one.worker * workers * hosts
    fits = limit is None or total <= limit
    if form is Format.JSON:
        console.out_json(
            {
                "table": table.key,
                "form": table.form.value,
                "concurrency": concurrency,
                "worker": one.worker,
                "workers": workers,
                "hosts": hosts,
                "total": total,
                "server_limit": limit,
                "fits": fits,
            }
        )
        return FINE if fits else DIFFERENT
    out(f"{table.key}: {table.form.words} form")
    out(
        f"  a worker with {concurrency} handlers holds {counted(one.worker, 'connection')}: {one.why}"
    )
    if one.listening:
        out("  one of them waits for notifications")
    hosted = f"{counted(workers, 'worker')} on each of {counted(hosts, 'host')}"
    out(f"  {hosted}: {counted(total, 'connection')}", "bold")
    if limit is not None and fits:
        out(f"  the server's limit of {limit} leaves {limit - total} for everything else")
    if limit is not None and not fits:
        out(f"  the server's limit of {limit} is {total - limit} too low", "red")
    return FINE if fits else DIFFERENT
