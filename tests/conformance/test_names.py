"""Names that bite, ids of every kind, and groups that look alike."""

from __future__ import annotations

import dataclasses
import json
import unicodedata
import uuid
from pathlib import Path
from typing import Any

import pytest

from sqlclaimgen.runtime import LeaseLost
from tests.conformance.cases import URGENT
from tests.conformance.harness import Case, Stand, on_cases
from tests.servers import ALL_DIALECTS, Database, on_dialects

ROLES = {
    "id": 'role = "id", type = "bigint", generated = true',
    "group": 'role = "group", type = "text"',
    "priority": 'role = "priority", type = "int"',
    "retry_after": 'role = "retry_after"',
    "attempt": 'role = "attempt"',
    "locked_until": 'role = "locked_until"',
    "processed_at": 'role = "processed_at"',
    "last_error": 'role = "last_error", type = "text", null = true',
    "dedupe_key": 'role = "dedupe_key", type = "text", null = true',
    "payload": 'role = "payload", type = "json", null = true',
}


def named(name: str, columns: dict[str, str], table: str = "jobs") -> Case:
    """A table with every role, whose columns and name are these."""
    fields = {
        role: f", field = {json.dumps('f_' + role)}"
        for role, column in columns.items()
        if not column.isidentifier()
    }
    body = "\n".join(
        f"{json.dumps(columns.get(role, role))} = {{ {said}{fields.get(role, '')} }}"
        for role, said in ROLES.items()
    )
    return Case(
        name,
        f"""
name = {json.dumps(table)}
max_attempts = 2
dead_letter = {{ table = {json.dumps(table + " dead")}, reason = "why?", error = "what%" }}
claims = ["group", "table"]
[table.jobs.columns]
{body}
""",
    )


WORDS = dict(
    zip(ROLES, ("class", "self", "str", "int", "now", "due", "None", "from", "t", "c"), strict=True)
)
PARAMETERS = dict(
    zip(
        ROLES,
        ("limit", "group", "priority", "token", "sent", "ids", "held", "error", "reason", "rows"),
        strict=True,
    )
)
QUOTED = dict(
    zip(
        ROLES,
        ("my id", 'a"b', "a`b", "100%", ":x", "back\\slash", "a.b", "it's", "%s", "%(x)s"),
        strict=True,
    )
)
CASED = dict(
    zip(
        ROLES,
        ("Id", "GROUP", "Priority", "Due", "aTtempt", "Until", "Done", "Äöü", "日本", "--x"),
        strict=True,
    )
)
TABLES = (
    "taken",
    "t",
    "c",
    "candidate",
    "step",
    "held",
    "a.b",
    'My"Job',
    "select",
    "to `do`",
    "%d :x",
)

ODD = (
    named("words", WORDS),
    named("parameters", PARAMETERS),
    named("quoted", QUOTED),
    named("cased", CASED),
    *(named(f"table-{number}", {}, table) for number, table in enumerate(TABLES)),
)


@on_cases(*ODD)
def test_any_name_works_through_a_row_s_whole_life(stand: Stand) -> None:
    fields = {str(column.role): column.field for column in stand.table.columns}
    connection = stand.connect()
    module = stand.module
    new = {fields["group"]: "a", fields["priority"]: 1, fields["payload"]: {"%s": ":x"}}
    for number in range(3):
        module.enqueue(connection, module.New(**new, **{fields["dedupe_key"]: f"k{number}"}))
    connection.commit()
    first, second, third = module.claim(connection, group="a", limit=3)._deliveries
    assert getattr(first.row, fields["payload"]) == {"%s": ":x"}
    assert module.extend(connection, [first, second, third]) == []
    first.retry(connection, "why")
    second.dead_letter(connection, "poison")
    module.release(connection, [third])
    for delivery in module.claim_table(connection, limit=5)._deliveries:
        delivery.ack(connection)
    done = stand.rows()
    assert [row[fields["processed_at"]] is not None for row in done] == [True, True]
    assert done[0][fields["last_error"]] == "why"
    (dead,) = stand.rows(dead=True)
    assert dead["reason"] == "poison"
    # crashes alone use the attempts up
    module.enqueue(connection, module.New(**new, **{fields["dedupe_key"]: "last"}))
    connection.commit()
    for seconds in (0, 61, 122, 183):
        module.claim(connection, group="a").__len__()
        later = stand.later(seconds)
        later.claim(connection, group="a").__len__()
    assert len(stand.rows(dead=True)) == 2
    assert len(stand.rows()) == 2


def identified(name: str, type: str) -> Case:
    return Case(
        name,
        f"""
        [table.jobs.columns]
        id = {{ role = "id", type = "{type}" }}
        attempt = {{ role = "attempt" }}
        locked_until = {{ role = "locked_until" }}
        """,
    )


IDS: dict[str, tuple[Case, list[Any]]] = {
    "text": (
        identified("id-text", "text"),
        [
            "01",
            "1",
            "",
            " ",
            "a",
            "A",
            "a ",
            "é",
            "e",
            "e\u0301",
            "'",
            "%s",
            ":x",
            "\\",
            "🙂",
            '"',
            "1.0",
            "null",
        ],
    ),
    "varchar": (
        identified("id-varchar", "varchar(20)"),
        ["01", "1", "", "A", "a", "a ", "1e3", "1000"],
    ),
    "uuid": (
        identified("id-uuid", "uuid"),
        [uuid.UUID(int=n) for n in (0, 1, 2**128 - 1)]
        + [uuid.UUID("00010203-0405-4607-8809-0a0b0c0d0e0f")],
    ),
    "bigint": (identified("id-bigint", "bigint"), [2**62, 2**63 - 1, -1, -(2**63), 1, 2**53 + 1]),
    "smallint": (identified("id-smallint", "smallint"), [-1, 1, 32767, -32768]),
}


@pytest.mark.parametrize("kind", IDS)
@on_cases(identified("id", "text"))
def test_ids_of_every_kind(stand: Stand, kind: str, tmp_path: Any) -> None:
    case, ids = IDS[kind]
    stand.database.execute(f"DROP TABLE {stand.plan.dialect.quote('jobs')}")
    stand = Stand(case, stand.database, tmp_path / kind)
    connection, other = stand.connect(), stand.connect()
    module = stand.module
    returned = module.enqueue_many(connection, [module.New(id=id) for id in ids])
    connection.commit()
    assert returned == ids
    deliveries = stand.claim(connection, len(ids))._deliveries
    assert sorted(deliveries, key=lambda d: str(d.id)) == sorted(
        deliveries, key=lambda d: str(d.row.id)
    )
    assert sorted(str(d.id) for d in deliveries) == sorted(str(id) for id in ids)
    assert all(type(d.id) is type(ids[0]) for d in deliveries)
    for delivery in deliveries:
        delivery.started = True
    assert module.extend(connection, deliveries) == []
    # each of them settles its own row and no other
    for number, delivery in enumerate(deliveries):
        before = {str(row["id"]): row for row in stand.rows()}
        match number % 3:
            case 0:
                delivery.ack(connection)
            case 1:
                delivery.retry(connection)
            case _:
                module.release(connection, [delivery])
        after = {str(row["id"]): row for row in stand.rows()}
        changed = {id for id in before if after.get(id) != before[id]}
        assert changed == {str(delivery.id)}
        with pytest.raises(LeaseLost):
            delivery.settled = delivery.given_back = False
            delivery.ack(other)


LOOKALIKES = [
    "a",
    "A",
    "a ",
    "é",
    "e",
    "",
    " ",
    "\uff41",
    "ß",
    "ss",
    "%",
    "_",
    "'",
    "\\",
    "🙂",
    "🙃",
]


@on_cases(URGENT)
def test_groups_that_look_alike_are_apart(stand: Stand) -> None:
    # FO-12: the default collations of MySQL and MariaDB take the first five for two
    stand.fill([{"id": n, "queue": group, "priority": 0} for n, group in enumerate(LOOKALIKES, 1)])
    stand.fill([{"id": 100, "queue": None, "priority": 0}])
    connection = stand.connect()
    for number, group in enumerate(LOOKALIKES, 1):
        found = stand.claim(connection, 50, group=group)._deliveries
        assert [(d.id, d.row.queue) for d in found] == [(number, group)]
    (alone,) = stand.module.claim_ungrouped(connection, limit=50)._deliveries
    assert (alone.id, alone.row.queue) == (100, None)


PARTS = ("priority", "candidate_id", "candidate_key", "candidate_1", "looked", "t", "id_", "lock")
"""Columns of a team's that are called like a part of some statement."""


def conditioned(form: str, selects: str, role: str) -> Case:
    """A table whose condition names columns that statements have names like."""
    said = dict.fromkeys(PARTS, 'type = "int", default = 1')
    said["priority" if role == "priority" else "rank"] = 'role = "priority"'
    said |= {"due": 'role = "retry_after"', "attempt": 'role = "attempt"'}
    said["id"] = 'role = "id", type = "bigint", generated = true'
    if selects == "token":
        said["locked_until"] = 'role = "locked_until"'
    head = f'where = "{" AND ".join(f"{name} < 100" for name in PARTS)}"\n'
    if selects == "key":
        head += 'advisory_lock = "jobs-{id}"\n'
    columns = "".join(f"{name} = {{ {words} }}\n" for name, words in said.items())
    dialects = ALL_DIALECTS if selects else ("postgres", "mysql", "mariadb")
    return Case(f"{form}-{role}", f"{head}[table.jobs.columns]\n{columns}", dialects=dialects)


CONDITIONED = tuple(
    conditioned(form, selects, role)
    for form, selects in (("lease", "token"), ("advisory", "key"), ("row-lock", ""))
    for role in ("priority", "none")
)


@on_cases(*CONDITIONED)
def test_a_condition_on_columns_called_like_parts_of_statements(stand: Stand) -> None:
    connection, module = stand.connect(), stand.module
    given = {field.name for field in dataclasses.fields(module.New)}
    module.enqueue(connection, module.New(**dict.fromkeys(given, 1)))
    module.enqueue(connection, module.New(**{**dict.fromkeys(given, 1), "candidate_id": 100}))
    connection.commit()
    assert module.stats(connection).due.value == 1
    connection.commit()
    with stand.case.claim(module, connection) as deliveries:
        [delivery] = deliveries
        delivery.ack(connection)
    with stand.case.claim(module, connection) as deliveries:
        assert not list(deliveries)


MARKS = ("हिन्दी", "ชื่อ", "a·b", "x\u212e", "\u212e", "é́")
"""Names that Python takes, of characters that no regular expression calls part of a word."""


@pytest.mark.parametrize("given", ["name", "field"])
@on_dialects(*ALL_DIALECTS)
def test_names_with_marks_reach_the_database(
    database: Database, tmp_path: Path, given: str
) -> None:
    columns = [name if given == "name" else f"c{n}" for n, name in enumerate(MARKS)]
    fields = [unicodedata.normalize("NFKC", name) for name in MARKS]
    lines = "".join(
        f'"{column}" = {{ type = "int", field = "{field}" }}\n'
        for column, field in zip(columns, fields, strict=True)
    )
    case = Case(
        "marks",
        "[table.jobs.columns]\nid = { role = 'id', type = 'bigint', generated = true }\n"
        f"locked_until = {{}}\nx_ = {{ type = 'int', default = 0 }}\n{lines}",
    )
    stand = Stand(case, database, tmp_path)
    connection, module = stand.connect(), stand.module
    values = {field: n for n, field in enumerate(fields)}
    module.enqueue(connection, module.New(**values))
    connection.commit()
    with stand.case.claim(module, connection) as deliveries:
        [delivery] = deliveries
        assert {name: getattr(delivery.row, name) for name in values} == values
        delivery.ack(connection)


def liking(form: str, head: str, token: str = "") -> Case:
    """A table whose condition has a pattern, in which `!` escapes."""
    return Case(
        form,
        f"""
        where = "kind NOT LIKE 'a!_%' ESCAPE '!'"
        {head}
        [table.jobs.columns]
        id = {{ role = "id", type = "bigint", generated = true }}
        kind = {{ type = "text" }}
        {token}
        """,
        dialects=ALL_DIALECTS if head or token else ("postgres", "mysql", "mariadb"),
    )


@on_cases(
    liking("lease-like", "", 'locked_until = { role = "locked_until" }'),
    liking("advisory-like", 'advisory_lock = "jobs-{id}"'),
    liking("row-lock-like", ""),
)
def test_a_condition_with_a_pattern_and_an_escape(stand: Stand) -> None:
    kinds = ("a_b", "ab", "a!_b", "a_", "b%")
    connection = stand.connect()
    stand.module.enqueue_many(connection, [stand.module.New(kind=kind) for kind in kinds])
    connection.commit()
    claimed = []
    for _ in kinds:
        with stand.claim(connection) as deliveries:
            for delivery in deliveries:
                claimed.append(delivery.row.kind)
                delivery.ack(connection)
    assert claimed == ["ab", "a!_b", "b%"]
    assert sorted(row["kind"] for row in stand.rows()) == ["a_", "a_b"]
