"""The reference of description files in Markdown, from the same models that check them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlclaimgen.description import column_types, durations
from sqlclaimgen.description.model import Form, Kind, Role
from sqlclaimgen.description.roles import ROLES
from sqlclaimgen.description.rules import fields, service
from sqlclaimgen.description.schema import schema
from sqlclaimgen.dialects import DIALECTS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from sqlclaimgen.description.roles import RoleRule

_SECTIONS = (
    ("File", "The file", ""),
    (
        "Output",
        "`[output]`",
        "The table may be left out. Folders are written with `/` on every system. The last folder "
        "of `python` is a package, so it must be a name Python can import.",
    ),
    (
        "Table",
        "`[table.<key>]`",
        "The key names the Python module and the files: lower-case letters, digits and "
        "underscores, a letter first, and no keyword. A table called otherwise gets a key of its "
        'own and `name = ".."`.',
    ),
    (
        "DeadLetter",
        "`dead_letter`",
        "Either `table`, with the keys that only it takes, or `group`. A dead-letter table has "
        "the columns of the work table, and three of its own unless they are `false`.",
    ),
    ("Retry", "`retry`", "`max` is for delays that grow, which also need an attempt column."),
    (
        "Column",
        "`[table.<key>.columns]`",
        "Everything below this header is a column: keys of the table stand above it.",
    ),
    ("Status", "`status` of the status column", ""),
)

_HEAD = """\
<!-- Generated from sqlclaimgen/description: change that and run
     `python -m sqlclaimgen.description`. -->

# tables.toml

The description of your work tables. `#:schema ./schemas/tables.schema.json` as its first line gives
editors completion and these texts. Every mistake is reported at once, with file, line, column, a
code and the way out; nothing is generated while there is one.

```toml
format = 1

[table.report_jobs]
dialects = ["postgres", "sqlite"]
lease = "60s"
max_attempts = 5
dead_letter = { table = "report_jobs_dead" }

[table.report_jobs.columns]
job_id       = { role = "id", type = "bigint", generated = true }
queue        = { role = "group", type = "text" }
retry_after  = { role = "retry_after" }
attempt      = { role = "attempt" }
locked_until = { role = "locked_until" }
payload      = { role = "payload", type = "json", python = "app.models:Report" }
```
"""


def reference_text() -> str:
    """The page as docs/tables-toml.md has it."""
    shapes = {"File": schema()} | schema()["$defs"]
    parts = [_HEAD]
    for name, title, text in _SECTIONS:
        parts.append(f"## {title}\n")
        if text:
            parts.append(text + "\n")
        parts.append(_keys(shapes[name]))
        if name == "Table":
            parts += [_forms(), _unserved()]
    parts += [_roles(), _types(), _python(), _times(), _names()]
    return "\n".join(parts)


def _keys(shape: dict[str, Any]) -> str:
    rows = [
        (
            f"`{key}`",
            _value(value),
            "required" if key in shape.get("required", ()) else _default(value),
            value["description"],
        )
        for key, value in shape["properties"].items()
    ]
    return _table(("key", "value", "unless set", "what it says"), rows)


def _default(value: dict[str, Any]) -> str:
    default = value.get("default")
    if default is None:
        return ""
    return f"`{_toml(default)}`"


def _value(value: dict[str, Any]) -> str:
    if "const" in value:
        return f"`{_toml(value['const'])}`"
    if "enum" in value:
        return ", ".join(f"`{_toml(each)}`" for each in value["enum"])
    if value.get("pattern") == durations.PATTERN:
        return "a time"
    if value.get("pattern") == column_types.PATTERN:
        return "a type"
    if "anyOf" in value:
        return " or ".join(_value(each) for each in value["anyOf"])
    if value.get("type") == "array":
        return f"array of {_value(value['items'])}"
    words = {"string": "text", "integer": "whole number", "boolean": "`true`, `false`"}
    kinds = value.get("type", "object")
    if isinstance(kinds, list):
        return "text, number or boolean" if "number" in kinds else "text or whole number"
    return {**words, "object": "table"}.get(kinds, str(kinds))


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _forms() -> str:
    unserved = [d for d in DIALECTS.values() if not d.row_lock]
    titles = ", ".join(d.title for d in unserved)
    rows = [
        ("row lock", f"`{Form.ROW_LOCK}`", "neither of the two below", f"all but {titles}"),
        ("lease", f"`{Form.LEASE}`", "a column of role `locked_until`", "all"),
        ("advisory lock", f"`{Form.ADVISORY_LOCK}`", "the key `advisory_lock`", "all"),
    ]
    return "### Forms\n\n" + _table(("form", "`form`", "selected by", "databases"), rows)


def _unserved() -> str:
    keys = [f"`{'.'.join(entry.keys)}`" for entry in service.NOT_SERVED]
    if not keys:
        return ""
    return (
        "### Not served yet\n\n"
        f"These keys are read and checked, and refused as `NOT-SERVED-YET`: {', '.join(keys)} "
        "(values that mean the default are accepted).\n"
    )


def _roles() -> str:
    rows = [
        (
            f"`{role}`",
            _kinds(rule),
            f"`{rule.type}`" if rule.type else _typeless(role),
            ("NULL" if rule.null else "not NULL") + ("" if rule.fixed else " unless set"),
            _role_default(role, rule),
            rule.does,
            rule.without,
        )
        for role, rule in ROLES.items()
    ]
    return (
        '## Roles\n\nA role is written out, `role = ".."`, with one exception: a column called '
        "`locked_until` plays that role unasked. A role belongs to one column.\n\n"
    ) + _table(
        ("role", "types", "type unless set", "NULL", "default", "the column", "without it"), rows
    )


def _kinds(rule: RoleRule) -> str:
    if rule.kinds is None:
        return "any"
    return ", ".join(f"`{kind}`" for kind in Kind if kind in rule.kinds)


def _typeless(role: Role) -> str:
    return "the group's" if role is Role.ORIGIN else ""


def _role_default(role: Role, rule: RoleRule) -> str:
    if role is Role.STATUS:
        return "the value of `pending`"
    if rule.default == "now":
        return "the time of insertion"
    return "" if rule.default is None else f"`{rule.default}`"


def _types() -> str:
    spelled = ", ".join(f"`{each}`" for each in column_types.SPELLINGS)
    return (
        f"## Types\n\n{spelled}. `timestamp` alone is `timestamp(6)`. "
        'An exact type of one database is written beside it, `sql = { postgres = "citext" }`, and '
        "stands in the DDL as it is: a type's name, with a schema before it and sizes, array bounds, a "
        "character set and a collation behind it where it has them, and nothing else. PostgreSQL 11 "
        "returns a `double` rounded to 15 digits unless the session sets `extra_float_digits`; newer "
        "versions return it whole.\n\n"
        "MySQL and MariaDB take 3,072 bytes of an index's columns and 65,535 of a row, 4 for each "
        "character of a `varchar`; a `text` that is compared has 255 characters there. What would be "
        "longer is refused here, with the longest that fits. PostgreSQL measures values: it refuses a "
        "row whose entry in an index is longer than 2,704 bytes, compressed. Keep groups, keys and "
        "text ids short.\n"
    )


def _python() -> str:
    return (
        '## Types in Python\n\n`python = "app.models:Report"` names a type of yours that a column holds. '
        "The generated module imports it, so `New` and `Row` are typed with it. The module named, and what "
        "it imports, may therefore not import the generated one at its top: import it inside the functions "
        "that use it, or keep the types in a module of their own.\n\n"
    ) + (
        _table(
            ("the type", "in a `json` column", "in any other column"),
            (
                (
                    "pydantic model",
                    'by its own rules: `model_dump(mode="json")`, `model_validate_json`',
                    "no",
                ),
                (
                    "dataclass",
                    "an object of its fields, each made again from its hint: nested dataclasses, "
                    "lists, tuples, sets, dicts, unions, `Literal`, enums, dates and times, uuids, "
                    "decimals",
                    "no",
                ),
                ("`TypedDict`", "as it is; nothing is checked when it is read", "no"),
                ("enum", "its value", "its value"),
                ("`NewType`", "as it is", "as it is"),
                (
                    "another class",
                    "no",
                    "a subclass of what the column holds: it is called with the plain value",
                ),
            ),
        )
        + "\nWithout `python` a `json` column holds plain data: what `json.loads` gives. Dates, times, uuids "
        "and decimals may be put in, are written as text (times as ISO 8601), and come back as text; "
        "tuples and sets come back as lists. NaN and infinity are refused. The other columns hold "
        "`int`, `str`, `bytes`, `bool`, `float`, `UUID`, `Decimal`, `date`, and `datetime` in UTC; a "
        "`datetime` without a time zone is refused. A claimed row that its type does not take is a row "
        "that does not decode: `on_invalid` of a worker says what becomes of it.\n"
    )


def _times() -> str:
    return (
        "## Times\n\nA whole number and one unit, in quotes: "
        '`"30s"`, `"5m"`, `"1h"`, `"2d"`. At least a second, at most a year.\n'
    )


def _names() -> str:
    builtin = ", ".join(f"`{name}`" for name in sorted(fields.ANNOTATIONS))
    soft = ", ".join(f"`{name}`" for name in sorted(fields.SOFT_KEYWORDS | fields.AMBIGUOUS))
    return (
        "## Names in Python\n\nA column's field is its name in Unicode's form NFKC, where "
        "characters that no name may contain become `_`, underscores in front go, and a digit in "
        "front gets `column_` before it. A `_` goes behind keywords, "
        f"{soft} and {builtin}. What cannot be mapped, and two columns that become one field, are "
        'mistakes; `field = ".."` gives a name of its own.\n'
    )


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines
    )
