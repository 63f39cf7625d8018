"""The server's own limit: pgbench runs a claim and its settlement, with no Python in between."""

from __future__ import annotations

import re
import subprocess
import tempfile
from functools import partial
from pathlib import Path

from benchmarks.case import RATE, Contender, Figures, Kind
from benchmarks.tables import QUEUE, Table
from tests.servers import PostgresServer
from tests.servers.programs import Program

LEASE = f"""
WITH candidate AS (
    SELECT id FROM lease_jobs
    WHERE queue = '{QUEUE}' AND retry_after <= now()
        AND (locked_until IS NULL OR locked_until <= now())
    ORDER BY priority, retry_after, id
    LIMIT {{limit}}
    FOR NO KEY UPDATE SKIP LOCKED
), taken AS (
    UPDATE lease_jobs AS t SET locked_until = now() + interval '60 s', attempt = t.attempt + 1
    WHERE t.id = ANY(ARRAY(SELECT id FROM candidate))
    RETURNING t.id, t.locked_until
)
SELECT COALESCE(array_agg(id), ARRAY[]::bigint[]) AS ids, COALESCE(max(locked_until), now()) AS token
FROM taken \\gset
DELETE FROM lease_jobs
WHERE id = ANY(CAST(:ids AS bigint[])) AND locked_until = CAST(:token AS timestamptz);
"""

ROW_LOCK = f"""
BEGIN;
SELECT COALESCE(array_agg(id), ARRAY[]::bigint[]) AS ids FROM (
    SELECT id FROM row_lock_jobs
    WHERE queue = '{QUEUE}' AND retry_after <= now()
    ORDER BY priority, retry_after, id
    LIMIT {{limit}}
    FOR NO KEY UPDATE SKIP LOCKED
) AS claimed \\gset
DELETE FROM row_lock_jobs WHERE id = ANY(CAST(:ids AS bigint[]));
COMMIT;
"""

_RATE = re.compile(r"^tps = ([\d.]+)", re.MULTILINE)


class PgbenchFailed(Exception):
    """pgbench ended with an error, or said no rate; the text is what it printed."""


def contender(table: Table, script: str, limit: int, clients: int) -> Contender:
    """pgbench with so many clients; missing where the server's installation has none."""
    server = table.database.server
    program = server.program.sibling("pgbench") if isinstance(server, PostgresServer) else None
    return Contender(
        kind=Kind.LIMIT,
        name="pgbench",
        run=partial(_run, program, table, script.format(limit=limit), limit, clients),
        prepare=table.refill,
        left=table.left,
        missing=None if program else "the server's installation has no pgbench",
    )


def _run(
    program: Program | None, table: Table, script: str, limit: int, clients: int, rows: int
) -> Figures:
    if program is None:
        raise PgbenchFailed("there is none")
    transactions, odd = divmod(rows, limit * clients)
    if odd:
        raise PgbenchFailed(f"{rows} rows are not shared evenly by {clients} clients of {limit}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "claim.sql")
        path.write_text(script, encoding="utf-8")
        options = ["--no-vacuum", "--protocol=prepared", f"--client={clients}"]
        options += [f"--jobs={min(clients, 2)}", f"--transactions={transactions}", f"--file={path}"]
        done = subprocess.run(
            program.command(*options, table.dsn),
            env=program.variables(),
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
    rate = _RATE.search(done.stdout)
    if done.returncode or rate is None:
        raise PgbenchFailed((done.stderr or done.stdout).strip())
    return {RATE: float(rate[1]) * limit}
