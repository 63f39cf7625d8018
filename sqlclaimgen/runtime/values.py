"""A team's own types: what a column holds, made from a plain value and back again."""

from __future__ import annotations

import dataclasses
import enum
import functools
import json
import re
import types
import typing
import uuid
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any, TypeVar, cast

from sqlclaimgen.runtime.codecs import Codec
from sqlclaimgen.runtime.queue import Column

T = TypeVar("T")


def encode_json(value: object) -> str:
    """JSON text of a value: plain data, dataclasses (also inside one another), pydantic models, enums,
    uuids, decimals, dates. Raises TypeError or ValueError for anything else, NaN included."""
    return json.dumps(_plain(value), separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def decode_json(text: str, into: Callable[..., T]) -> T:
    """`into` made from JSON text: a pydantic model by its own rules, a dataclass field by field with
    nested dataclasses, enums, dates and so on made from their hints, any other type by calling it.
    Raises ValueError, TypeError or KeyError when the text does not fit."""
    validate = getattr(into, "model_validate_json", None)
    if callable(validate):
        return cast("T", validate(text))
    return cast("T", _build(json.loads(text), into))


def check_text(text: str, *, nul: bool, json: bool) -> None:
    """Raise ValueError for text that a database does not take: half of a surrogate pair, and unless `nul`
    a NUL character, which JSON spells `\\u0000`."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{text[error.start]!r} at {error.start} is half of a surrogate pair, and no text"
        ) from None
    if not nul and (_NUL_IN_JSON.search(text) if json else "\0" in text):
        raise ValueError("it holds a NUL character, which PostgreSQL does not take")


_NUL_IN_JSON = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")


def encoded(codec: Codec, column: Column, value: object) -> Any:
    """A field of a New as the driver takes it. Raises TypeError for a value of which the column's own
    type could not be made again: its row would be claimed, fail, and be claimed again."""
    if value is None:
        return None
    plain: Any = encode_json(value) if column.kind == "json" else encode_as(value)
    into = column.python
    # a TypedDict cannot be asked, and NewType is no class: neither is checked when it is read
    if isinstance(into, type) and not typing.is_typeddict(into):
        _check_fits(plain, column, into, value)
    return codec.encode(column.kind, plain)


def _check_fits(plain: Any, column: Column, into: type[Any], value: object) -> None:
    try:
        decode_json(plain, into) if column.kind == "json" else decode_as(plain, into)
    except Exception as error:
        why = str(error).partition("\n")[0]
        kind = type(value).__name__
        said = f"its JSON cannot be read as a {into.__qualname__} again"
        if not isinstance(value, into):
            said = f"a {kind} is no {into.__qualname__}, and none can be made of it"
        raise TypeError(f"{said}: {why}") from error


def decoded(codec: Codec, column: Column, value: Any) -> Any:
    """A claimed value as a field of a Row. Raises whatever the column's own type raises."""
    plain = codec.decode(column.kind, value)
    if plain is None:
        return None
    if column.kind == "json":
        return decode_json(plain, column.python) if column.python else json.loads(plain)
    return decode_as(plain, column.python) if column.python else plain


_HELD: Mapping[str, tuple[tuple[type[Any], ...], str]] = {
    "smallint": ((int,), "an int"),
    "int": ((int,), "an int"),
    "bigint": ((int,), "an int"),
    "text": ((str,), "a str"),
    "varchar": ((str,), "a str"),
    "bytes": ((bytes,), "bytes"),
    "uuid": ((uuid.UUID,), "a UUID"),
    "boolean": ((bool,), "a bool"),
    "date": ((date,), "a date"),
    "timestamp": ((datetime,), "a datetime with a time zone"),
    "numeric": ((Decimal, int), "a Decimal"),
    "double": ((float, int), "a float"),
}
_BITS = {"smallint": 16, "int": 32, "bigint": 64}


def wanted(kind: str, value: object) -> str | None:
    """What a column of `kind` holds in Python, in words, where `value` is none of it; else None."""
    word = kind.partition("(")[0]
    types, words = _HELD.get(word, ((object,), ""))
    fits = isinstance(value, types)
    if isinstance(value, bool):  # no int here
        fits = types in ((bool,), (object,))
    elif isinstance(value, datetime):  # no date here
        fits = word == "timestamp" and value.tzinfo is not None
    if fits and word in _BITS and isinstance(value, int):
        bits = _BITS[word]
        return None if -(2 ** (bits - 1)) <= value < 2 ** (bits - 1) else f"an int of {bits} bits"
    return None if fits else words


def encode_as(value: object) -> Any:
    """The plain value of a team's own scalar type: an enum's value, anything else as it is."""
    return value.value if isinstance(value, enum.Enum) else value


def decode_as(value: Any, into: Callable[..., T]) -> T:
    """`into`, a class or a NewType, made from a plain value. Raises ValueError or TypeError when it
    does not fit."""
    fits = isinstance(into, type) and isinstance(value, into)
    return cast("T", value) if fits else into(value)


def _plain(given: object) -> Any:
    value: Any = given
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        return _model(value, dump)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return _plain(value.value)
    if isinstance(value, Mapping):
        pairs = cast("dict[Any, Any]", given)
        found = {_key(key): _plain(item) for key, item in pairs.items()}
        if len(found) < len(pairs):
            raise ValueError("two keys of an object are one as text, and a value would be lost")
        return found
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(member) for member in cast("list[Any]", given)]
    if isinstance(value, datetime | date):
        return value.isoformat()
    return str(value) if isinstance(value, uuid.UUID | Decimal) else given


def _model(value: Any, dump: Callable[..., Any]) -> Any:
    """A pydantic model as plain data, of which the same can be made: by its aliases, without what is
    computed. Raises ValueError where that gives another one: a secret, a `validation_alias` alone."""
    plain = dump(mode="json", by_alias=True, round_trip=True)
    validate: Callable[[str], Any] = value.model_validate_json
    again = validate(json.dumps(plain))
    if again.model_dump() != dump():
        raise ValueError(f"a {type(value).__name__} made again of its own JSON is another one")
    return plain


def _key(key: object) -> str:
    """A key of an object, spelled as the standard library does; those it refuses by their text."""
    plain = _plain(key)
    if plain is None or isinstance(plain, bool | float):
        return json.dumps(plain, allow_nan=False)
    if isinstance(plain, str | int):
        return str(plain)
    raise TypeError(f"{key!r} is no key of a JSON object")


@functools.cache
def _hints(into: type[Any]) -> dict[str, Any]:
    return typing.get_type_hints(into)


def _build(value: Any, into: Any) -> Any:
    if into is Any or into is object:
        return value
    origin = typing.get_origin(into)
    if origin is not None:
        return _build_generic(value, into, origin)
    if not isinstance(into, type) or value is None:
        return value
    kind: type[Any] = cast("type[Any]", into)
    validate = getattr(kind, "model_validate_json", None)
    if callable(validate):
        return validate(json.dumps(value))
    if dataclasses.is_dataclass(kind):
        if not isinstance(value, dict):
            raise TypeError(f"{kind.__name__} needs an object, not {value!r}")
        hints = _hints(kind)
        data = cast("dict[str, Any]", value)
        return kind(**{name: _build(item, hints.get(name, Any)) for name, item in data.items()})
    if kind is int and isinstance(value, bool):
        raise TypeError(f"{value!r} is no int")
    if typing.is_typeddict(kind) or isinstance(value, kind):
        return value
    if issubclass(kind, datetime | date):
        return kind.fromisoformat(value)
    if issubclass(kind, bool | int | str) and not issubclass(kind, enum.Enum):
        raise TypeError(f"{value!r} is no {kind.__name__}")
    return kind(**cast("dict[str, Any]", value)) if isinstance(value, dict) else kind(value)


def _build_key(text: str, into: Any) -> Any:
    # a number, True or None is text as a key
    plain = into in (int, float, bool, type(None))
    return _build(json.loads(text) if plain else text, into)


def _build_generic(value: Any, into: Any, origin: Any) -> Any:
    arguments = typing.get_args(into)
    if origin in (typing.Union, types.UnionType):
        if value is None and type(None) in arguments:
            return None
        failure: Exception | None = None
        for candidate in arguments:
            if candidate is type(None):
                continue
            try:
                return _build(value, candidate)
            except (TypeError, ValueError, KeyError) as error:
                failure = error
        raise TypeError(f"{value!r} fits none of {into}") from failure
    if origin is typing.Literal:
        if value not in arguments:
            raise ValueError(f"{value!r} is none of {arguments}")
        return value
    items: Any = value
    if origin in (list, set, frozenset) and isinstance(value, list):
        return cast("Any", origin)(_build(item, arguments[0]) for item in items)
    if origin is tuple and isinstance(value, list):
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return tuple(_build(item, arguments[0]) for item in items)
        return tuple(_build(item, kind) for item, kind in zip(items, arguments, strict=True))
    if origin is dict and isinstance(value, dict):
        return {_build_key(k, arguments[0]): _build(v, arguments[1]) for k, v in items.items()}
    return value
