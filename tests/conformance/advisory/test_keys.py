"""Keys and the names of their locks: the same text on every database, and told apart where it differs."""

from __future__ import annotations

import contextlib
import hashlib
import re
import uuid
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.advisory.cases import PLAIN, SESSIONS, on
from tests.conformance.harness import Case, Stand, on_cases
from tests.servers import Database, on_dialects

WIDE = Case(
    "wide",
    """
    advisory_lock = "accounts-{account}"
    [table.jobs.columns]
    id = { role = "id", type = "bigint", generated = true }
    account = { type = "varchar(400)" }
    """,
)

ODD = (
    "7",
    "A",
    "a",
    "a ",
    " a",
    "ä",
    "Ä",
    "\u4e2d\u6587",
    "\U0001f600",
    "x" * 55,
    "x" * 56,
    "x" * 64,
    "y" * 300,
    "it's",
    'say "so"',
    "`back`",
    "back\\slash\\n",
    "two\nlines",
    "ends\n",
    "{x}",
    "{{x}}",
    "{",
    "100%",
    "%s",
    ":group",
    "a:b",
    "-- no comment",
    "",
)
"""Values that a key may hold. They are inserted verbatim."""

GOLDEN_NUMBERS = {"accounts-7": -5537401409542665060}
"""hashtextextended of keys, on PostgreSQL 15: rows may be in work while a server is replaced."""

GOLDEN_NAMES = {
    ("app", "accounts-7"): "app.accounts-7",
    ("app", "accounts-A"): "6500e7540a38df44af8744a89e23eaccacaf4555cc27a5f68e8448676202ff96",
    ("App", "accounts-7"): "a2bbe291339bdb657b4e8b88c6e2b49726749938bad0d61bf7bd98c91e0f124b",
    ("app", "accounts-" + "x" * 51): "app.accounts-" + "x" * 51,
    (
        "app",
        "accounts-" + "x" * 52,
    ): "2ff135448b6686fef35f75a472423102e7009758033173a356a837c0fa247bd2",
}


def lock_name(schema: str, key: str) -> str:
    """What MySQL and MariaDB lock for a key, as DESIGN.md has it."""
    name = f"{schema}.{key}"
    if re.fullmatch(r"[a-z0-9_.-]{1,64}", name):
        return name
    return hashlib.sha256(name.encode()).hexdigest()


def expected(stand: Stand, key: str) -> Any:
    """What is locked for a key on the stand's database."""
    if stand.dialect == "postgres":
        return stand.database.value('SELECT hashtextextended(%s COLLATE "C", 0)', [key])
    return key if stand.dialect == "sqlite" else lock_name(stand.database.name, key)


@on_cases(WIDE)
def test_every_key_is_its_template_with_the_values_verbatim(stand: Stand) -> None:
    stand.fill([{"id": n, "account": value} for n, value in enumerate(ODD, 1)])
    connections = [stand.connect() for _ in ODD]
    # all at once: no two of these are one key
    claims = [stand.claim(connection) for connection in connections]
    owner = f"{stand.database.name}." if stand.dialect in ("mysql", "mariadb") else ""
    for value, claim in zip(ODD, claims, strict=True):
        (delivery,) = claim
        assert delivery.row.account == value
        assert delivery.key == f"{owner}accounts-{value}"
        assert delivery.lock.name == expected(stand, f"accounts-{value}")
    for connection, claim in zip(connections, claims, strict=True):
        with claim as deliveries:
            for delivery in deliveries:
                delivery.ack(connection)
    assert stand.count == 0


@on_cases(WIDE)
def test_rows_of_one_odd_key_exclude_each_other(stand: Stand) -> None:
    for value in ODD:
        stand.fill([{"account": value}, {"account": value}])
        one, two = stand.connect(), stand.connect()
        with stand.claim(one) as first, stand.claim(two) as second:
            assert (len(first), len(second)) == (1, 0), value
        stand.database.execute(f"DELETE FROM {stand.plan.dialect.quote('jobs')}")


def test_golden_names() -> None:
    for (schema, key), name in GOLDEN_NAMES.items():
        assert lock_name(schema, key) == name


@on_cases(*[on(WIDE, "postgres")])
def test_golden_numbers(stand: Stand) -> None:
    for key, number in GOLDEN_NUMBERS.items():
        stand.fill([{"account": key.removeprefix("accounts-")}])
        with stand.claim(stand.connect()) as claim:
            assert [delivery.lock.name for delivery in claim] == [number]


@on_cases(on(WIDE, "mysql", "mariadb"))
def test_a_key_is_one_lock_whatever_the_character_set(stand: Stand) -> None:
    for value in ("ä", "A", "7", "it's \\ {x}"):
        stand.fill([{"account": value}, {"account": value}])
        names = set()
        for charset in ("latin1", "utf8mb4"):
            rival = {"latin1": "utf8mb4", "utf8mb4": "latin1"}[charset]
            one, two = stand.connect(charset=charset), stand.connect(charset=rival)
            with stand.claim(one) as first, stand.claim(two) as second:
                assert (len(first), len(second)) == (1, 0), (value, charset)
                names.add(next(iter(first)).lock.name)
        assert names == {lock_name(stand.database.name, f"accounts-{value}")}
        stand.database.execute("DELETE FROM `jobs`")


TEMPLATES = {
    "a{{{account}}}": "a{7}",
    "{account}": "7",
    "{id}-{account}": "1-7",
    "everything": "everything",
    "it's {account} %s 100% :group \\\\ \\u00e4 \\u4e2d": "it's 7 %s 100% :group \\ ä \u4e2d",
    '\\"{account}\\"`x`': '"7"`x`',
}


@pytest.mark.parametrize("template", TEMPLATES)
@on_dialects("postgres", "mysql", "mariadb", "sqlite")
def test_a_template_holds_any_text(database: Database, template: str, tmp_path: Path) -> None:
    case = PLAIN.with_(body=PLAIN.body.replace("accounts-{account}", template))
    stand = Stand(case, database, tmp_path)
    stand.fill([{"id": 1, "account": "7"}])
    owner = f"{database.name}." if stand.dialect in ("mysql", "mariadb") else ""
    settings: list[dict[str, Any]] = [{}]
    if owner:
        settings += [{"charset": "latin1"}, {"sql_mode": "NO_BACKSLASH_ESCAPES,ANSI_QUOTES"}]
    for options in settings:
        with stand.claim(stand.connect(**options)) as claim:
            (delivery,) = claim
            assert delivery.lock.name == expected(stand, TEMPLATES[template]), options
            if options.get("charset") != "latin1":
                assert delivery.key == owner + TEMPLATES[template]


TYPED = Case(
    "typed",
    """
    advisory_lock = "{tenant}:{number}:{small}"
    [table.jobs.columns]
    id = { role = "id", type = "bigint", generated = true }
    tenant = { type = "uuid" }
    number = { type = "bigint" }
    small = { type = "smallint" }
    """,
)


@on_cases(TYPED)
def test_numbers_and_uuids_read_alike_everywhere(stand: Stand) -> None:
    tenant = uuid.UUID("0A3F17D5-8A54-4C8C-9C62-0123456789AB")
    stand.fill([{"tenant": tenant, "number": -(2**63), "small": -7}])
    with stand.claim(stand.connect()) as claim:
        (delivery,) = claim
        assert delivery.key.endswith(f"{tenant}:-9223372036854775808:-7")
        assert delivery.lock.name == expected(
            stand, "0a3f17d5-8a54-4c8c-9c62-0123456789ab:-9223372036854775808:-7"
        )


# -- whose keys they are -------------------------------------------------------------------------------


def second_table(stand: Stand, folder: Path, template: str) -> Stand:
    """Another table on the stand's database, with a template of its own."""
    body = PLAIN.body.replace("accounts-{account}", template).replace("table.jobs", "table.others")
    return Stand(PLAIN.with_(key="others", body=body), stand.database, folder)


@on_cases(PLAIN)
def test_two_tables_with_one_key_wait_for_each_other(stand: Stand, tmp_path: Path) -> None:
    others = second_table(stand, tmp_path / "same", "accounts-{account}")
    stand.fill([{"account": "7"}])
    others.fill([{"account": "7"}, {"account": "8"}])
    with stand.claim(stand.connect()) as first:
        assert len(first) == 1
        with others.claim(stand.connect()) as second:
            assert [delivery.row.account for delivery in second] == ["8"]
    with others.claim(stand.connect()) as second:
        assert [delivery.row.account for delivery in second] == ["7"]


@on_cases(PLAIN)
def test_two_tables_with_keys_of_their_own_do_not(stand: Stand, tmp_path: Path) -> None:
    others = second_table(stand, tmp_path / "own", "others-{account}")
    stand.fill([{"account": "7"}])
    others.fill([{"account": "7"}])
    with stand.claim(stand.connect()) as first, others.claim(stand.connect()) as second:
        assert (len(first), len(second)) == (1, 1)


@on_cases(PLAIN)
def test_two_databases_have_their_own_keys(stand: Stand, tmp_path: Path) -> None:
    stand.fill([{"account": "7"}])
    with stand.database.server.database() as elsewhere:
        other = Stand(stand.case, elsewhere, tmp_path / "elsewhere")
        other.fill([{"account": "7"}])
        with stand.claim(stand.connect()) as first, other.claim(other.connect()) as second:
            assert (len(first), len(second)) == (1, 1)


@on_dialects(*SESSIONS)
def test_a_key_of_a_named_schema_is_the_schemas(database: Database, tmp_path: Path) -> None:
    schema = database.name
    if database.dialect == "postgres":
        database.execute("CREATE SCHEMA app")
        schema = "app"
    body = f'schema = "{schema}"\n{PLAIN.body}'
    stand = Stand(PLAIN.with_(body=body), database, tmp_path)
    stand.fill([{"account": "7"}])
    connection = stand.connect()
    with contextlib.ExitStack() as stack:
        if database.dialect != "postgres":
            # the connection may be in another database
            connection.select_db(stack.enter_context(database.server.database()).name)
        with stand.claim(connection) as claim:
            (delivery,) = claim
            assert delivery.lock.name == expected(stand, "accounts-7")
            delivery.ack(connection)
        connection.close()
    assert stand.count == 0
