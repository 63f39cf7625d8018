"""Limits of the servers: what a description may say at most loads, and one more is what a server refuses."""

from __future__ import annotations

import re
import secrets
from pathlib import Path

import pytest

from sqlclaimgen.description import DescriptionInvalid, parse
from sqlclaimgen.description.diagnostics import Diagnostic
from sqlclaimgen.description.rules import lengths, reserved
from tests.servers import ALL_DIALECTS, Database, ServerPark, on_dialects
from tests.support.generated import generate

ID = 'id = { role = "id", type = "bigint", generated = true }'
LEASED = 'locked_until = { role = "locked_until" }'
LETTERS = 'max_attempts = 3\ndead_letter = { table = "jobs_dead" }'
COUNTED = 'attempt = { role = "attempt" }'

LONG: dict[str, tuple[str, str]] = {
    "group": ("", f'{ID}\n{LEASED}\nqueue = {{ role = "group", type = "varchar(%d)" }}'),
    "id": ("", f'id = {{ role = "id", type = "varchar(%d)" }}\n{LEASED}'),
    "group-of-bytes": (
        "",
        f'{ID}\n{LEASED}\nqueue = {{ role = "group", type = "text", sql = {{ %s = "varchar(%%d) '
        'CHARACTER SET ascii COLLATE ascii_bin" } }',
    ),
    "texts": (
        "",
        f'id = {{ role = "id", type = "text" }}\n{LEASED}\nqueue = {{ role = "group", type = '
        '"varchar(%d)" }\nstate = { role = "status" }\ndue = { role = "retry_after" }',
    ),
    "row": ("", f'{ID}\n{LEASED}\nnote = {{ type = "varchar(%d)" }}'),
    "row-of-everything": (
        LETTERS,
        f'{ID}\n{LEASED}\n{COUNTED}\nqueue = {{ role = "group", type = "varchar(40)" }}\n'
        'a = { type = "numeric(65,30)", null = true }\nb = { type = "double" }\nc = { type = "json" }\n'
        'd = { type = "uuid" }\ne = { type = "date" }\nf = { type = "boolean" }\ng = { type = "bytes" }\n'
        'h = { type = "smallint", null = true }\ni = { type = "timestamp(3)" }\nj = { type = "text" }\n'
        'k = { type = "varchar(63)", null = true }\nl = { type = "varchar(64)", null = true }\n'
        'm = { type = "int", null = true }\nn = { type = "numeric(13,4)" }\nnote = { type = "varchar(%d)" }',
    ),
}


def description(dialect: str, head: str, columns: str) -> str:
    return f'format = 1\n[table.jobs]\ndialects = ["{dialect}"]\n{head}\n[table.jobs.columns]\n{columns}\n'


def mistakes(invalid: DescriptionInvalid) -> list[Diagnostic]:
    """What refuses the description: its warnings do not."""
    return [one for one in invalid.diagnostics if one.severity == "error"]


def install(text: str, database: Database, folder: Path) -> None:
    generate(text, folder).install(database, "jobs")


@pytest.mark.parametrize("case", LONG)
@on_dialects("mysql", "mariadb")
def test_the_longest_that_fits_is_named(database: Database, tmp_path: Path, case: str) -> None:
    head, columns = LONG[case]
    columns = columns.replace("%s", database.dialect).replace("%%", "%")
    with pytest.raises(DescriptionInvalid) as caught:
        parse(
            description(database.dialect, head, columns % 16383).encode(), tmp_path / "tables.toml"
        )
    found = re.findall(r"varchar\((\d+)\)", mistakes(caught.value)[0].hint)
    longest = int(found[0])
    install(description(database.dialect, head, columns % longest), database, tmp_path / "fits")
    database.execute_script("DROP TABLE jobs; DROP TABLE IF EXISTS jobs_dead;")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lengths, "check", lambda *_: None)
        with pytest.raises(Exception, match=r"1071|1118|too (?:long|large)"):
            install(
                description(database.dialect, head, columns % (longest + 1)),
                database,
                tmp_path / "longer",
            )


@on_dialects("mysql", "mariadb")
def test_a_unique_key_is_as_long_as_each_server_takes_it(
    database: Database, tmp_path: Path
) -> None:
    columns = f'{ID}\n{LEASED}\nonce = {{ role = "dedupe_key", type = "varchar(%d)" }}'
    install(description(database.dialect, "", columns % 768), database, tmp_path / "a")
    database.execute_script("DROP TABLE jobs;")
    longer = description(database.dialect, "", columns % 800)
    if database.dialect == "mariadb":
        install(longer, database, tmp_path / "b")
        return
    with pytest.raises(DescriptionInvalid) as caught:
        parse(longer.encode(), tmp_path / "tables.toml")
    assert [(one.code, one.hint) for one in caught.value.diagnostics] == [
        ("INDEX-TOO-LONG", "Write at most varchar(768) for column `once`.")
    ]


@on_dialects("postgres")
def test_postgresql_refuses_the_row_and_not_the_index(database: Database, tmp_path: Path) -> None:
    columns = f'{ID}\n{LEASED}\nqueue = {{ role = "group", type = "varchar(%d)" }}'
    warned = parse(
        description("postgres", "", columns % 2900).encode(), tmp_path / "tables.toml"
    ).warnings
    assert [one.code for one in warned] == ["INDEX-LONG"]
    made = generate(description("postgres", "", columns % 2900), tmp_path)
    made.install(database, "jobs")
    module = made.module("jobs")
    incompressible = secrets.token_hex(1450)
    conn = database.connect()
    module.enqueue(conn, module.New(queue=incompressible[:2600]))
    with pytest.raises(Exception, match="exceeds btree version 4 maximum 2704"):
        module.enqueue(conn, module.New(queue=incompressible))


REFUSED: dict[str, tuple[tuple[str, ...], str, str, str]] = {
    "a prefix": (("sqlite",), 'name = "SQLite_jobs"', f"{ID}\n{LEASED}", "NAME-RESERVED"),
    "a dead prefix": (
        ("sqlite",),
        'max_attempts = 3\ndead_letter = { table = "sqlite_dead" }',
        f"{ID}\n{LEASED}\n{COUNTED}",
        "NAME-RESERVED",
    ),
    "a system column": (
        ("postgres",),
        "",
        f'{ID}\n{LEASED}\nctid = {{ type = "text" }}',
        "NAME-RESERVED",
    ),
    "a hidden column": (
        ("mysql", "mariadb"),
        "",
        f'{ID}\n{LEASED}\nDb_Row_Id = {{ type = "text" }}',
        "NAME-RESERVED",
    ),
    "a dead column": (
        ("postgres", "mysql", "mariadb"),
        'max_attempts = 3\ndead_letter = { table = "d", reason = "xmin", error = "DB_TRX_ID" }',
        f"{ID}\n{LEASED}\n{COUNTED}",
        "NAME-RESERVED",
    ),
    "an emoji": (
        ("mariadb",),
        "",
        f'{ID}\n{LEASED}\n"😀" = {{ type = "int", field = "s" }}',
        "NAME",
    ),
    "two emoji": (
        ("mysql",),
        "",
        f'{ID}\n{LEASED}\n"😀" = {{ type = "int", field = "s" }}\n"😁" = {{ type = "int", field = "g" }}',
        "NAME",
    ),
    "an index": (
        ("postgres", "sqlite"),
        'max_attempts = 3\ndead_letter = { table = "jobs_claim" }',
        f'{ID}\n{LEASED}\n{COUNTED}\ndue = {{ role = "retry_after" }}',
        "NAME-TAKEN",
    ),
    "a primary key": (
        ("postgres",),
        'max_attempts = 3\ndead_letter = { table = "jobs_pkey" }',
        f"{ID}\n{LEASED}\n{COUNTED}",
        "NAME-TAKEN",
    ),
    "a sequence": (
        ("postgres",),
        'max_attempts = 3\ndead_letter = { table = "jobs_id_seq" }',
        f"{ID}\n{LEASED}\n{COUNTED}",
        "NAME-TAKEN",
    ),
    "a type that is not numbered": (
        ALL_DIALECTS,
        "",
        'id = { role = "id", type = "bigint", generated = true, sql = { postgres = "numeric", '
        'mysql = "decimal(20)", mariadb = "decimal(20)", sqlite = "BIGINT" } }\n' + LEASED,
        "GENERATED",
    ),
    "a long default": (
        ("mysql", "mariadb"),
        "",
        f'{ID}\n{LEASED}\nqueue = {{ role = "group", type = "text", default = "{"x" * 300}" }}',
        "TEXT-TOO-LONG",
    ),
    "a long status": (
        ("mysql", "mariadb"),
        "",
        f'{ID}\n{LEASED}\nstate = {{ role = "status", status = {{ pending = "{"x" * 300}", done = "d", '
        'dead = "x" } }',
        "TEXT-TOO-LONG",
    ),
    "a key without a length": (
        ("mysql",),
        "",
        f'{ID}\n{LEASED}\nqueue = {{ role = "group", type = "text", sql = {{ mysql = "longtext" }} }}',
        "INDEX-TOO-LONG",
    ),
    "columns": (
        ("mysql", "mariadb", "postgres", "sqlite"),
        "",
        f"{ID}\n{LEASED}\n" + "".join(f'c{n} = {{ type = "smallint" }}\n' for n in range(2000)),
        "COLUMNS",
    ),
}


@pytest.mark.parametrize(
    ("case", "dialect"), [(case, dialect) for case, said in REFUSED.items() for dialect in said[0]]
)
def test_what_a_server_refuses_is_refused_at_generation(
    servers: ServerPark, tmp_path: Path, case: str, dialect: str
) -> None:
    _, head, columns, code = REFUSED[case]
    text = description(dialect, head, columns)
    with pytest.raises(DescriptionInvalid) as caught:
        parse(text.encode(), tmp_path / "tables.toml")
    assert {one.code for one in mistakes(caught.value)} == {code}
    with pytest.MonkeyPatch.context() as patch, servers[dialect].database() as database:
        patch.setattr(lengths, "check", lambda *_: None)
        patch.setattr(reserved, "check", lambda *_: None)
        with pytest.raises(Exception) as refused:
            install(text, database, tmp_path)
    assert refused.type.__module__.partition(".")[0] in ("psycopg", "pymysql", "sqlite3", "tests")
