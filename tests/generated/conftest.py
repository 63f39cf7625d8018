"""Descriptions that try the generator: every form and role, hostile names and texts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.generated import Generated, generate

MODELS = '''"""A team's own types."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NewType

Customer = NewType("Customer", str)


class Urgency(Enum):
    LOW = 1
    HIGH = 2


@dataclass(frozen=True)
class Report:
    id: int
'''

PAGES = '''"""Another type of the same name."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Report:
    page: int
'''

ALL = 'dialects = ["postgres", "mysql", "mariadb", "sqlite"]'
SERVERS = 'dialects = ["postgres", "mysql", "mariadb"]'
TEXT = "'''%s %(x)s \"\"\" \\ :x {}'''"
"""A TOML literal with everything that some layer gives a meaning to; quotes at neither end."""
QUOTED = '"\\"it\'s\\""'
LONG = "a" + "_very_long_name" * 4

EVERYTHING = f"""
queue = {{ role = "group", type = "text" }}
priority = {{ role = "priority" }}
customer = {{ role = "partition_key", type = "text", python = "app.models:Customer" }}
retry_after = {{ role = "retry_after" }}
attempt = {{ role = "attempt" }}
processed_at = {{ role = "processed_at" }}
headers = {{ role = "headers" }}
last_error = {{ role = "last_error" }}
dedupe = {{ role = "dedupe_key" }}
payload = {{ role = "payload", type = "json", python = "app.models:Report" }}
part = {{ type = "json", python = "app.pages:Report", null = true }}
urgency = {{ type = "smallint", python = "app.models:Urgency", default = 1 }}
raw = {{ type = "bytes", null = true }}
key = {{ type = "uuid", default = "6f1ab1c8-6d1a-4f0e-9f6e-111111111111" }}
flag = {{ type = "boolean", default = true }}
at = {{ type = "timestamp(3)", null = true }}
day = {{ type = "date", default = "2026-01-31" }}
price = {{ type = "numeric(10,2)", default = "12.50" }}
share = {{ type = "double", default = 0.5 }}
note = {{ type = "varchar(80)", default = {QUOTED} }}
"""
SMALL = 'payload = { role = "payload", type = "text" }\n'
LEASED = 'locked_until = { role = "locked_until" }\n'
DEAD = 'max_attempts = 5\ndead_letter = { table = "%s_dead" }\n'

TABLES: dict[str, str] = {
    "lease_all": f"{ALL}\n{DEAD}claims = ['group', 'table']\n[columns]\n{EVERYTHING}{LEASED}",
    "lease_small": f"{ALL}\n[columns]\n{SMALL}{LEASED}",
    "lease_one": f"dialects = ['sqlite']\n[columns]\n{LEASED}",
    "lease_now": f"""{ALL}
[columns]
id = {{ role = "id", type = "bigint", generated = true }}
created_at = {{ type = "timestamp", default = "now" }}
seen_at = {{ type = "timestamp(3)", null = true, default = "now" }}
size = {{ type = "int", default = 3 }}
{LEASED}""",
    "lease_group": f"""{ALL}
max_attempts = 5
dead_letter = {{ group = "\\"it's" }}
[columns]
queue = {{ role = "group", type = "text", null = true }}
origin = {{ role = "origin" }}
attempt = {{ role = "attempt" }}
{LEASED}""",
    "lease_status": f"""{ALL}
where = "note <> '100% \\"x\\" ''y'' '"
[columns]
state = {{ role = "status", status = {{ pending = "don't", done = "100%", dead = "\\"x\\"" }} }}
note = {{ type = "text" }}
{LEASED}""",
    "row_lock_all": f"{SERVERS}\n{DEAD}claims = ['group', 'table']\n[columns]\n{EVERYTHING}",
    "row_lock_small": f"{SERVERS}\n[columns]\n{SMALL}",
    "numbers": f"""{ALL}
[columns]
whole = {{ type = "numeric(10,0)", default = "2" }}
less = {{ type = "numeric(10,0)", default = "-2" }}
none = {{ type = "numeric(10,0)", default = "0" }}
cents = {{ type = "numeric(10,2)", default = "2.00" }}
much = {{ type = "double", default = 1e308 }}
little = {{ type = "double", default = 1e-7 }}
rate = {{ type = "double", default = 2 }}
{LEASED}""",
    "generated_only": f"""dialects = ['sqlite']
[columns]
i{LONG[:-4]} = {{ role = "id", type = "bigint", generated = true }}
u{LONG[:-4]} = {{ role = "locked_until" }}
""",
    "row_lock_one": "dialects = ['mysql']\n[columns]\n",
    "advisory_all": f"{ALL}\n{DEAD}advisory_lock = 'all-{{customer}}'\n[columns]\n{EVERYTHING}",
    "advisory_small": f'{ALL}\nadvisory_lock = "it\'s %s-{{id}}"\n[columns]\n{SMALL}',
    "fifo_strict": f"""{ALL}
[columns]
queue = {{ role = "group", type = "text", fifo = true }}
retry_after = {{ role = "retry_after" }}
{LEASED}""",
    "fifo_due": f"""{SERVERS}
[columns]
queue = {{ role = "group", type = "int", fifo = "due", null = true }}
retry_after = {{ role = "retry_after" }}
""",
    "names": f"""{ALL}
name = "my \\"table\\" `x` %s :y"
{DEAD}[columns]
class = {{ type = "text", null = true }}
None = {{ type = "text", null = true }}
self = {{ type = "text", null = true }}
str = {{ type = "text", null = true }}
int = {{ type = "int", null = true }}
now = {{ type = "text", null = true }}
due = {{ type = "int", null = true }}
conn = {{ type = "text", null = true }}
group = {{ type = "text", null = true }}
limit = {{ type = "int", null = true }}
token = {{ type = "text", null = true }}
attempt = {{ role = "attempt" }}
row = {{ type = "text", null = true }}
"my col" = {{ type = "text", null = true }}
"1st" = {{ type = "text", null = true }}
"ünïcode" = {{ type = "text", null = true }}
"%s :x" = {{ type = "text", null = true }}
{LONG} = {{ type = "text", null = true, default = "{"x" * 200}" }}
{LEASED}""",
    "texts": f"""{ALL}
where = "note <> '%s'"
[columns]
note = {{ type = "varchar(255)", default = {TEXT} }}
quoted = {{ type = "varchar(255)", default = {QUOTED} }}
single = {{ type = "varchar(255)", default = "'" }}
double = {{ type = "varchar(255)", default = '"' }}
slash = {{ type = "varchar(255)", default = 'ends with \\' }}
lines = {{ type = "varchar(255)", default = "a\\nb\\tc" }}
emoji = {{ type = "varchar(255)", default = "🙂 ä \\u00a0" }}
{LEASED}""",
    f"t{'_long' * 6}": f"{ALL}\nname = '{LONG[:40]}'\n{DEAD}[columns]\n{EVERYTHING}{LEASED}",
}


def toml(tables: dict[str, str]) -> str:
    text = "format = 1\n"
    for key, body in tables.items():
        keys, _, columns = body.partition("[columns]\n")
        id = "" if 'role = "id"' in columns else 'id = { role = "id", type = "bigint" }\n'
        keys = keys.replace("%s_dead", f"{key}_dead")
        text += f"\n[table.{key}]\n{keys}\n[table.{key}.columns]\n{id}{columns}"
    return text


@pytest.fixture(scope="session")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Generated:
    """All of these tables, generated into one folder, with the types that they name."""
    folder = tmp_path_factory.mktemp("generated")
    made = generate(toml(TABLES), folder)
    (folder / "app").mkdir()
    (folder / "app/__init__.py").touch()
    (folder / "app/models.py").write_text(MODELS, encoding="utf-8")
    (folder / "app/pages.py").write_text(PAGES, encoding="utf-8")
    return made


def root() -> Path:
    """The checkout."""
    return Path(__file__).parents[2]
