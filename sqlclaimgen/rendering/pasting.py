"""One statement with literals in place of its parameters, to paste into psql, mysql or sqlite3.

The values go through the codec that the runtime uses, so that a pasted statement compares what a
running one does.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlclaimgen.description.durations import SECONDS
from sqlclaimgen.description.model import INTEGERS, Column, Kind, Role
from sqlclaimgen.runtime.codecs import CODECS, Codec, Held
from sqlclaimgen.runtime.numerals import integer
from sqlclaimgen.runtime.placeholders import replaced
from sqlclaimgen.runtime.steps import Many
from sqlclaimgen.statements import columns
from sqlclaimgen.statements.parameters import Shape, shape

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sqlclaimgen.statements import Parameter, Plan, Statement

_NOW = re.compile(r"now(?:([+-])([0-9]+)([smhd]))?", re.ASCII)


_TIME = "2026-01-31T12:00:00Z, now or now+60s"
_WRITTEN: Mapping[Kind | Shape, str] = {
    **dict.fromkeys(INTEGERS, "a whole number"),
    Kind.BOOLEAN: "true or false",
    Kind.TIMESTAMP: _TIME,
    Kind.DATE: "2026-01-31",
    Kind.NUMERIC: "12.50",
    Kind.DOUBLE: "0.5",
    Kind.BYTES: "hexadecimal digits",
    Kind.UUID: "32 hexadecimal digits, with or without hyphens",
    Kind.JSON: "JSON",
    Shape.NUMBER: "a whole number",
    Shape.NUMBERS: "1,2,3",
    Shape.TIME: _TIME,
    Shape.TIMES: "times with commas between them",
    Shape.HELD: "id/token/attempt, with commas between them",
}
"""How a value is written; text and lists of it are written in every way."""


class Problem(NamedTuple):
    """What keeps a statement from being printed, and the way out."""

    what: str
    hint: str


@dataclass(slots=True)
class Unpasteable(Exception):
    """Values are missing, unknown or unreadable. Problems of one hint stand together."""

    problems: tuple[Problem, ...]


def pasted(plan: Plan, statement: Statement, given: Mapping[str, str], now: datetime) -> str:
    """The statement's text with `given` as literals, closed by a semicolon. Times are ISO 8601, in UTC
    unless they say otherwise, or `now`, `now+60s`, `now-5m`; lists are `1,2,3` or JSON; `null` is
    NULL where it may be. Raises Unpasteable with every problem."""
    literals: dict[str, str] = {}
    known = {parameter.name: parameter for parameter in statement.parameters}
    has = f"It has {', '.join(known)}." if known else "It has none."
    unknown = [
        Problem(f"{name}: {statement.name} has no such parameter", has)
        for name in given
        if name not in known
    ]
    missing = [
        Problem(f"{name} is missing: {parameter.what}", "Add --set NAME=VALUE for each.")
        for name, parameter in known.items()
        if name not in given and name != "set_aside"
    ]
    unreadable: list[Problem] = []
    if "set_aside" in known:
        none = CODECS[plan.dialect.name].set_aside([])
        literals["set_aside"] = plan.dialect.spelled(none["set_aside"])
    for name, parameter in known.items():
        if name in given:
            try:
                _check_characters(given[name])
                literals[name] = _literal(plan, statement, parameter, given[name], now)
            except OverflowError:
                said = f"{name}: {given[name]!a:.80} is out of range"
                unreadable.append(Problem(said, _way_out(plan, statement, parameter)))
            except RecursionError:
                said = f"{name}: the JSON nests too deeply"
                unreadable.append(Problem(said, _way_out(plan, statement, parameter)))
            except ValueError as error:
                unreadable.append(Problem(f"{name}: {error}", _way_out(plan, statement, parameter)))
    if unknown or unreadable or missing:
        raise Unpasteable((*unknown, *unreadable, *missing))
    backslashes = plan.dialect.backslashes
    return replaced(statement.text, literals.__getitem__, backslashes=backslashes) + ";"


def _way_out(plan: Plan, statement: Statement, parameter: Parameter) -> str:
    """What a parameter is, and how that is written."""
    found = shape(plan.table, statement.name, parameter.name)
    written = _WRITTEN.get(found.type.kind if isinstance(found, Column) else found)
    said = f"{parameter.name} takes {parameter.what}"
    return f"{said}: write {written}." if written else f"{said}."


def _literal(
    plan: Plan, statement: Statement, parameter: Parameter, text: str, now: datetime
) -> str:
    dialect = plan.dialect
    codec = CODECS[dialect.name]
    found = shape(plan.table, statement.name, parameter.name)
    spell = dialect.spelled
    if isinstance(found, Column):
        if text == "null":
            return "NULL"
        kind = columns.kind(found)
        return spell(codec.encode(kind, _value(found.type.kind, text, now)))
    match found:
        case Shape.TIME:
            return spell(codec.time(_time(text, now)))
        case Shape.NUMBER:
            return spell(_integer(text))
        case Shape.TEXT:
            return "NULL" if text == "null" else spell(text)
        case Shape.IDS:
            return spell(_column_list(codec, plan.table.id, text, now))
        case Shape.GROUPS:
            group = plan.table.column(Role.GROUP)
            assert group is not None
            return spell(_column_list(codec, group, text, now))
        case Shape.TIMES:
            return spell(_listed(codec, [codec.time(_time(item, now)) for item in _items(text)]))
        case Shape.NUMBERS:
            return spell(_listed(codec, [_integer(item) for item in _items(text)]))
        case Shape.TEXTS:
            return spell(_listed(codec, _items(text)))
        case Shape.HELD:
            read = _held(plan, now)
            leases = [read(item) for item in _items(text)]
            return spell(codec.held(columns.kind(plan.table.id), leases)[parameter.name])


def _column_list(codec: Codec, column: Column, text: str, now: datetime) -> Any:
    """Values of a column, as the codec's driver takes a list of them."""
    values = [_value(column.type.kind, item, now) for item in _items(text)]
    return codec.ids(columns.kind(column), values)["ids"]


def _listed(codec: Codec, values: list[Any]) -> Any:
    """A list as the codec's driver takes one."""
    as_ids = codec.ids("bigint", [])["ids"]
    if isinstance(as_ids, Many):
        return Many(values)
    return json.dumps(values) if isinstance(as_ids, str) else values


def _held(plan: Plan, now: datetime) -> Callable[[str], Held]:
    """Reads `id/token/attempt`, or `id/token/sent/attempt`."""
    counts = plan.table.has(Role.ATTEMPT)

    def read(item: str) -> Held:
        parts = item.split("/")
        attempt = _integer(parts.pop()) if counts and len(parts) > 2 else 0
        if len(parts) not in (2, 3) or (counts and attempt == 0):
            form = "id/token/attempt" if counts else "id/token"
            raise ValueError(f"{item!r:.80} is not {form}")
        times = [_time(part, now) for part in parts[1:]]
        return Held(_value(plan.table.id.type.kind, parts[0], now), times[0], times[-1], attempt)

    return read


def _check_characters(text: str) -> None:
    """Raise ValueError for an argument that the terminal has not sent in its own encoding."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{text!a:.80} has a byte at {error.start} that is no text") from None


def _items(text: str) -> list[str]:
    if text.startswith("["):
        items = _read(json.loads, text, "JSON list")
        return [item if isinstance(item, str) else json.dumps(item) for item in items]
    return [item.strip() for item in text.split(",")] if text else []


def _value(kind: Kind, text: str, now: datetime) -> Any:
    if kind in INTEGERS:
        return _integer(text)
    match kind:
        case Kind.BOOLEAN:
            if text.lower() not in ("true", "false"):
                raise ValueError(f"{text!r:.80} is neither true nor false")
            return text.lower() == "true"
        case Kind.TIMESTAMP:
            return _time(text, now)
        case Kind.DATE:
            return _read(date.fromisoformat, text, "date")
        case Kind.NUMERIC:
            return _finite(_read(Decimal, text, "number"), text)
        case Kind.DOUBLE:
            return _finite(_read(float, text, "number"), text)
        case Kind.BYTES:
            return _read(bytes.fromhex, text, "sequence of hexadecimal digits")
        case Kind.UUID:
            import uuid

            return _read(uuid.UUID, text, "uuid")
        case Kind.JSON:
            _read(_json, text, "JSON")
            return text
        case _:
            return text


def _read(reader: Callable[[str], Any], text: str, noun: str) -> Any:
    """What `reader` makes of a text. Raises ValueError when it is no `noun`."""
    try:
        return reader(text)
    except (ValueError, ArithmeticError):
        raise ValueError(f"{text!r:.80} is no {noun}") from None


def _json(text: str) -> Any:
    def refuse(word: str) -> None:
        raise ValueError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)


def _finite(number: Any, text: str) -> Any:
    """A number that has a literal on every database. Raises ValueError for NaN and infinity, and for what
    a float rounds to infinity."""
    finite = number.is_finite() if isinstance(number, Decimal) else math.isfinite(number)
    if not finite:
        raise ValueError(f"{text!r:.80} is no finite number")
    return number


def _integer(text: str) -> int:
    return integer(_read(int, text, "integer"))


def _time(text: str, now: datetime) -> datetime:
    match = _NOW.fullmatch(text)
    if match:
        distance = timedelta(seconds=int(match[2] or 0) * SECONDS[match[3] or "s"])
        return now - distance if match[1] == "-" else now + distance
    value: datetime = _read(datetime.fromisoformat, text, "time")
    return value if value.tzinfo else value.replace(tzinfo=UTC)
