"""Random descriptions: valid ones by a grammar, and valid ones with something broken in them.

Everything comes from one seeded generator, so a case is repeated by its number.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, TypeAlias

Document: TypeAlias = dict[str, Any]

CANARY = "zqx"
"""Part of every text of a description that is data: it is looked for in what is generated."""

MARKS = [
    "'", '"', "`", "\\", ";", "--", "/*", "*/", "#", "%", "%(x)s", ":name", "{", "}", "{{ 7*7 }}",
    "{% raw %}", "$$", "$1", "?", "|", "<b>", "-->", "```", "\n", "\r\n", "\t", "\x00", "\x1b[31m",
    "\u202e", "\u2028", "é", "😀", "हिन्दी", "\u0301", "-- name: claim", '"""', "'''", "\\'", "é\u0301",
    " ", "  ", "\\N", "\\u0041", "&amp;", "::error::", "\x7f", "\ufeff", "ａ", "·", "´",
]  # fmt: skip
"""What a text has to be quoted for, somewhere."""

NAMES = [
    "class", "from", "import", "select", "order", "group", "table", "None", "self", "conn", "row",
    "id", "priority", "candidate_id", "step", "now", "limit", "json", "typing", "runtime", "SQL",
    "QUEUE", "New", "Row", "Delivery", "ctid", "xmin", "rowid", "oid", "key", "value", "t", "c", "h",
    "A", "Aa", "aA", "_x", "x_", "x1", "ack", "claim", "locked_until", "payload", "type", "match",
]  # fmt: skip
"""Names that mean something elsewhere."""

TYPES = [
    "smallint", "int", "bigint", "text", "varchar(40)", "varchar(1)", "varchar(768)", "varchar(16383)",
    "bytes", "json", "uuid", "boolean", "timestamp", "timestamp(0)", "timestamp(3)", "date",
    "numeric(10,2)", "numeric(1,0)", "double",
]  # fmt: skip

KEY_TYPES = ["smallint", "int", "bigint", "text", "varchar(40)", "uuid"]

DIALECTS = ["postgres", "mysql", "mariadb", "sqlite"]


def hostile(random: Random, most: int = 4) -> str:
    """A text with marks in it, and the canary."""
    parts = [CANARY, *random.choices(MARKS, k=random.randint(1, most))]
    random.shuffle(parts)
    return "".join(parts)


def name(random: Random, taken: set[str]) -> str:
    """A name that is not taken."""
    while True:
        made = random.choices(
            [
                lambda: random.choice(NAMES),
                lambda: f"{CANARY}{random.randint(1, 99)}",
                lambda: hostile(random, 2),
            ],
            weights=[4, 8, 1],
        )[0]()
        if made not in taken:
            taken.add(made)
            return made


def chance(random: Random, share: float) -> bool:
    """True in this share of calls."""
    return random.random() < share


def default(random: Random, type: str) -> Any:
    """A default that fits a type, most of the time."""
    by_type: dict[str, Callable[[], Any]] = {
        "smallint": lambda: random.randint(-40000, 40000),
        "int": lambda: random.randint(-(2**31), 2**31 - 1),
        "bigint": lambda: random.randint(-(2**63), 2**63 - 1),
        "boolean": lambda: chance(random, 0.5),
        "double": lambda: random.choice([0, 1, 0.5, -1e308, 1e-300, 3.0]),
        "date": lambda: random.choice(["2024-01-31", "now"]),
        "json": lambda: random.choice(["{}", "[]", '{"a": "b"}']),
        "uuid": lambda: "00000000-0000-0000-0000-000000000007",
    }
    if type.startswith("timestamp"):
        return random.choice(["now", "2024-01-31T00:00:00Z"])
    if type.startswith("numeric"):
        return random.choice(["1.5", "0", "9", "1"])
    return by_type.get(type, lambda: hostile(random, 2))()


def column(random: Random) -> Document:
    """A column without a role."""
    type = random.choice(TYPES)
    made: Document = {"type": type}
    if chance(random, 0.3):
        made["null"] = chance(random, 0.5)
    if chance(random, 0.3):
        made["default"] = default(random, type)
    if chance(random, 0.1):
        made["field"] = random.choice([*NAMES, f"{CANARY}_field"])
    if chance(random, 0.06):
        made["python"] = random.choice(
            [
                "tests.fuzz.types:Thing",
                "tests.fuzz.types:Colour",
                "decimal:Decimal",
                "datetime:datetime",
            ]
        )
    if chance(random, 0.05):
        made["sql"] = {random.choice(DIALECTS): random.choice(["text", "varchar(30)", "citext"])}
    return made


def table(random: Random) -> Document:
    """A table of one of the forms, with switches on and off."""
    taken: set[str] = set()
    columns: Document = {}
    generated = chance(random, 0.6)
    id_type = random.choice(["smallint", "int", "bigint"] if generated else KEY_TYPES)
    columns[name(random, taken)] = {
        "role": "id",
        "type": id_type,
        **({"generated": True} if generated else {}),
    }
    form = random.choice(["row_lock", "lease", "advisory_lock"])
    made: Document = {}

    def has(role: str, share: float, **more: Any) -> str | None:
        if not chance(random, share):
            return None
        named = name(random, taken)
        columns[named] = {"role": role, **more}
        return named

    if form == "lease":
        has("locked_until", 1)
        if chance(random, 0.4):
            made["lease"] = random.choice(["30s", "60s", "5m", "1h"])
    group = has(
        "group",
        0.5,
        type=random.choice(KEY_TYPES),
        **({"null": True} if chance(random, 0.2) else {}),
    )
    has("priority", 0.4)
    delayed = has("retry_after", 0.6)
    attempt = has("attempt", 0.7)
    kept = has("processed_at", 0.4)
    if chance(random, 0.15):
        words = {"pending": hostile(random, 2), "done": "done", "dead": "dead"}
        kept = has("status", 1, status=words) or kept
    has("partition_key", 0.2, type=random.choice(KEY_TYPES))
    has("last_error", 0.3)
    has("dedupe_key", 0.2)
    has("headers", 0.2)
    has("payload", 0.6, type=random.choice(TYPES))
    if group and form != "advisory_lock" and chance(random, 0.4):
        columns[group]["fifo"] = random.choice([True, "due"])
    if group and chance(random, 0.4):
        made["claims"] = random.choice([["group"], ["table"], ["group", "table"]])
    if attempt and chance(random, 0.6):
        made["max_attempts"] = random.randint(1, 20)
        if group and chance(random, 0.3):
            type = columns[group]["type"]
            number = type in ("smallint", "int", "bigint")
            made["dead_letter"] = {"group": 7 if number else hostile(random, 2)}
            if chance(random, 0.6):
                has("origin", 1)
        else:
            made["dead_letter"] = {"table": f"{CANARY}_dead"}
            for extra in ("reason", "error", "time"):
                if chance(random, 0.1):
                    made["dead_letter"][extra] = False
                elif chance(random, 0.1):
                    made["dead_letter"][extra] = name(random, taken)
    if delayed and attempt and chance(random, 0.4):
        made["retry"] = {
            "backoff": random.choice(["constant", "linear", "exponential"]),
            "base": "10s",
        }
    for _ in range(random.randint(0, 3)):
        columns[name(random, taken)] = column(random)
    if form == "advisory_lock":
        keyed = name(random, taken)
        columns[keyed] = {"type": random.choice(KEY_TYPES)}
        spelled = keyed if keyed.isidentifier() else "id"
        made["advisory_lock"] = (
            f"{hostile(random, 2) if chance(random, 0.3) else CANARY}-{{{spelled}}}"
        )
    if form == "row_lock" or chance(random, 0.3):
        served = [d for d in DIALECTS if form != "row_lock" or d != "sqlite"]
        made["dialects"] = random.sample(served, random.randint(1, len(served)))
    if chance(random, 0.1):
        plain = [c for c in columns if c.isidentifier() and c.isascii()]
        if plain:
            made["where"] = f"{random.choice(plain)} IS NOT NULL"
    if chance(random, 0.1):
        made["name"] = name(random, set())
    if chance(random, 0.1):
        made["schema"] = f"{CANARY}_schema"
    if chance(random, 0.1):
        made["clock"] = "database"
    if chance(random, 0.1):
        made["isolation"] = random.choice(["read committed", "repeatable read", "serializable"])
    if chance(random, 0.1):
        made["notify"] = True
    made["columns"] = columns
    return made


def document(random: Random) -> Document:
    """A whole description."""
    made: Document = {"format": 1}
    if chance(random, 0.1):
        made["output"] = {"python": "queues", "sql": "sql"}
    keys = ["jobs", "mails", "payouts"][: random.choice([1, 1, 1, 2])]
    made["table"] = {key: table(random) for key in keys}
    return made


# -- breaking ---------------------------------------------------------------------------------------

VALUES: Sequence[Callable[[Random], Any]] = (
    lambda random: hostile(random, 6),
    lambda random: random.choice([-1, 0, 2**31, 2**63, 10**400]),
    lambda random: random.choice([0.5, -0.0, 1e308, float("inf"), float("nan")]),
    lambda random: chance(random, 0.5),
    lambda random: [],
    lambda random: {},
    lambda random: [hostile(random)],
    lambda random: {hostile(random): hostile(random)},
    lambda random: "",
    lambda random: CANARY * 500,
    lambda random: random.choice(
        ["9" * 4400 + "s", "varchar(" + "9" * 4400 + ")", "(" * 200 + "1" + ")" * 200]
    ),
    lambda random: random.choice(MARKS),
    lambda random: random.choice(NAMES),
)
"""What is put in the place of a value."""


def places(value: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The path of every key below `value`."""
    if not isinstance(value, dict):
        return []
    found = []
    for key, below in value.items():
        found.append((*path, key))
        found += places(below, (*path, key))
    return found


def break_document(random: Random, made: Document) -> None:
    """Change, remove, rename or add one value."""
    path = random.choice(places(made))
    parent: Any = made
    for key in path[:-1]:
        parent = parent[key]
    match random.randint(0, 4):
        case 0:
            del parent[path[-1]]
        case 1:
            parent[hostile(random)] = parent.pop(path[-1])
        case 2:
            parent[random.choice([*NAMES, hostile(random)])] = random.choice(VALUES)(random)
        case _:
            parent[path[-1]] = random.choice(VALUES)(random)


def break_text(random: Random, text: bytes) -> bytes:
    """Remove, repeat or insert some bytes."""
    at = random.randrange(len(text) + 1)
    length = random.choice([1, 1, 2, 8, 60])
    match random.randint(0, 3):
        case 0:
            return text[:at] + text[at + length :]
        case 1:
            return text[:at] + text[at : at + length] * random.choice([2, 2, 600]) + text[at:]
        case 2:
            return text[:at] + random.choice(MARKS).encode() + text[at:]
        case _:
            return text[:at] + random.randbytes(length) + text[at:]


# -- writing ----------------------------------------------------------------------------------------


def toml(value: Document) -> str:
    """The document as TOML: sections for tables of tables, the rest inline."""
    lines: list[str] = []

    def section(path: tuple[str, ...], content: Document, deep: int) -> None:
        below = {k: v for k, v in content.items() if isinstance(v, dict) and deep > 0}
        if path:
            lines.append(f"[{'.'.join(map(_key, path))}]")
        lines.extend(f"{_key(k)} = {_value(v)}" for k, v in content.items() if k not in below)
        for key, inner in below.items():
            section((*path, key), inner, deep - 1 if key != "table" else deep)

    section((), value, 2)
    return "\n".join(lines) + "\n"


def _key(key: str) -> str:
    plain = key.isascii() and key.replace("_", "a").replace("-", "a").isalnum()
    return key if plain else _string(key)


def _string(text: str) -> str:
    # JSON's escapes are TOML's, but for DEL, which TOML wants escaped
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return _string(value)
        case dict():
            return "{ " + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items()) + " }"
        case list():
            return "[" + ", ".join(map(_value, value)) + "]"
        case _:
            return str(value)


def case(number: int, valid: float) -> bytes:
    """The description of a case; `valid`: the share of those that nothing was broken in."""
    random = Random(number)
    made = document(random)
    if chance(random, valid):
        return toml(made).encode("utf-8", "surrogatepass")
    for _ in range(random.choice([0, 1, 1, 2])):
        break_document(random, made)
    text = toml(made).encode("utf-8", "surrogatepass")
    for _ in range(random.choice([0, 0, 1, 2])):
        text = break_text(random, text)
    return text
