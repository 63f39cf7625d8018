"""`stats` and `redrive` on a server of each dialect."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sqlclaimgen.cli.app import app
from sqlclaimgen.runtime.protocols import stats as counting
from tests.care.cases import DEAD_TABLE, FIFO, MARKED_ALONE, OWN_IDS
from tests.conformance.harness import Case, Stand, on_cases
from tests.servers import Database


@pytest.fixture
def stand(database: Database, case: Case, tmp_path: Path) -> Stand:
    return Stand(case, database, tmp_path)


def run(stand: Stand, *arguments: str, dsn: str | None = None) -> Any:
    file = str(stand.generated.folder)
    command, *rest = arguments
    return CliRunner().invoke(
        app,
        [command, *rest, "--file", file],
        env={"SQLCLAIMGEN_DSN": stand.database.dsn if dsn is None else dsn},
    )


def _bury(stand: Stand, count: int) -> None:
    connection = stand.connect()
    for n in range(count):
        stand.enqueue([{"queue": "a", "payload": n}])
        with stand.claim(connection) as deliveries:
            for delivery in deliveries:
                delivery.dead_letter(connection)
    connection.close()


@on_cases(DEAD_TABLE)
def test_counts_and_brings_back(stand: Stand) -> None:
    _bury(stand, 3)
    stand.enqueue([{"queue": "b", "payload": 1}])
    done = run(stand, "stats")
    assert done.exit_code == 0, done.output
    head, line = done.output.splitlines()
    assert head.split("  ")[0] == "table"
    assert line.split()[:7] == ["jobs", "whole", "table", "1", "0", "0", "3"]

    found = json.loads(run(stand, "stats", "jobs", "-g", "a", "--format", "json").output)
    assert found[0]["rows"] == "a"
    assert found[0]["due"] == {"value": 0, "more": False}
    assert found[0]["oldest_due_seconds"] is None

    ids = [row["id"] for row in stand.rows(dead=True)]
    done = run(stand, "redrive", "jobs", "--id", str(ids[0]), "--id", "999")
    assert (done.exit_code, "1 dead letter brought back" in done.output) == (0, True)
    assert "1 of the ids is no dead letter\n" in done.output
    done = run(stand, "redrive", "jobs", "--id", "998", "--id", "999")
    assert (done.exit_code, "2 of the ids are no dead letters\n" in done.output) == (1, True)
    assert run(stand, "redrive", "jobs", "--limit", "1").exit_code == 0
    assert [row["id"] for row in stand.rows(dead=True)] == ids[2:]
    assert run(stand, "redrive", "jobs", "--all").exit_code == 0
    assert stand.rows(dead=True) == []


@on_cases(DEAD_TABLE.with_(dialects=("sqlite",)))
def test_says_what_is_wrong(stand: Stand) -> None:
    for arguments, word in (
        (["redrive", "jobs"], "--limit"),
        (["redrive", "jobs", "--all", "--limit", "1"], "--limit"),
        (["redrive", "jobs", "--id", "1", "--id", "seven"], "`seven` is no id of jobs"),
        (["redrive", "nothing", "--all"], "nothing"),
    ):
        done = run(stand, *arguments)
        assert done.exit_code == 2, arguments
        assert word in done.output
    for dsn, word in (
        ("oracle://x", "oracle"),
        ("sqlite:///nowhere.db", "nowhere.db"),
        ("postgresql://nobody:secret@127.0.0.1:1/none", "no connection"),
        ("mysql://nobody:secret@127.0.0.1:1/none", "no connection"),
    ):
        done = run(stand, "stats", dsn=dsn)
        assert done.exit_code == 2
        assert word in done.output
        assert "secret" not in done.output


@on_cases(OWN_IDS.with_(dialects=("sqlite",)), MARKED_ALONE.with_(dialects=("sqlite",)))
def test_tables_that_tell_less(stand: Stand) -> None:
    done = run(stand, "stats")
    assert done.exit_code == 0
    assert done.output.splitlines()[1].split()[-1] == "-"


@on_cases(
    DEAD_TABLE.with_(
        dialects=("sqlite",), body=DEAD_TABLE.body.replace('"group", "table"', '"group"')
    )
)
def test_a_table_that_is_read_group_by_group(stand: Stand) -> None:
    done = run(stand, "stats")
    assert done.exit_code == 2
    assert "--group" in done.output
    assert run(stand, "stats", "--group", "a").exit_code == 0


@on_cases(DEAD_TABLE.with_(dialects=("postgres",)))
def test_warns_where_row_level_security_hides_rows(stand: Stand) -> None:
    _bury(stand, 1)
    role = f"reader_{stand.database.value('SELECT current_database()')}"
    stand.database.execute(f"CREATE ROLE {role} LOGIN")
    try:
        stand.database.execute(f"GRANT ALL ON jobs, jobs_dead TO {role}")
        for table in ("jobs", "jobs_dead"):
            stand.database.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        assert "?" not in stand.database.dsn
        dsn = f"{stand.database.dsn}?options=-c%20role%3D{role}"
        done = run(stand, "stats", dsn=dsn)
        assert done.exit_code == 0, done.output
        assert "row level security decides which rows of jobs this login sees" in done.output
        done = run(stand, "redrive", "jobs", "--all", dsn=dsn)
        assert (done.exit_code, "0 dead letters brought back" in done.output) == (0, True)
        assert "row level security decides which rows of jobs this login sees" in done.output
        assert "row level security" not in run(stand, "stats").output
    finally:
        stand.database.execute(f"DROP OWNED BY {role}")
        stand.database.execute(f"DROP ROLE {role}")


@on_cases(FIFO.with_(dialects=("sqlite",)))
def test_an_age_that_is_not_known_is_no_age(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "CAP", 1)
    stand.enqueue([{"queue": "a"}, {"queue": "b"}])
    assert run(stand, "stats").output.splitlines()[1].split()[-1] == "unknown"


@on_cases(DEAD_TABLE.with_(dialects=("sqlite",)))
def test_goes_on_past_dead_letters_that_are_refused(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sqlclaimgen.live.redrive.PAGE", 2)
    _bury(stand, 7)
    ids = [row["id"] for row in stand.rows(dead=True)]
    stand.database.execute(
        f"CREATE TRIGGER refuse BEFORE INSERT ON jobs WHEN NEW.id <= {ids[2]} "
        "BEGIN SELECT RAISE(ABORT, 'kept for the audit'); END"
    )
    done = run(stand, "redrive", "jobs", "--all")
    assert done.exit_code == 1, done.output
    assert "jobs: 4 dead letters brought back" in done.output
    for id in ids[:3]:
        assert done.output.count(f"jobs {id} stays a dead letter: kept for the audit") == 1
    assert [row["id"] for row in stand.rows(dead=True)] == ids[:3]
