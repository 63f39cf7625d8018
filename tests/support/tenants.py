"""A work table whose key is a tenant's number and the row's, which the description does not know."""

from __future__ import annotations

from typing import Any


def with_a_key_of_two_columns(stand: Any) -> None:
    """Two tenants number their rows each from 1."""
    run = stand.database.execute
    if stand.dialect == "sqlite":
        columns = ", ".join(name for _, name, *_ in run("PRAGMA table_info(jobs)"))
        indexes = run(
            "SELECT sql FROM sqlite_master WHERE tbl_name = 'jobs' AND type = 'index' AND sql <> ''"
        )
        run(f"CREATE TABLE other AS SELECT {columns}, 1 AS tenant FROM jobs")
        run("DROP TABLE jobs")
        run("ALTER TABLE other RENAME TO jobs")
        run("CREATE UNIQUE INDEX jobs_key ON jobs (tenant, id)")
        for (made,) in indexes:
            run(made)
    elif stand.dialect == "postgres":
        run("ALTER TABLE jobs ADD tenant int NOT NULL DEFAULT 1, DROP CONSTRAINT jobs_pkey")
        run("ALTER TABLE jobs ADD PRIMARY KEY (tenant, id)")
    else:
        run(
            "ALTER TABLE jobs ADD tenant INT NOT NULL DEFAULT 1, DROP PRIMARY KEY,"
            " ADD PRIMARY KEY (tenant, id), ADD KEY (id)"
        )
