"""A TOML document to its shape: pydantic's errors become findings in our own words, and what they
concern is left out, so that the rules see everything else of the file in the same run."""

from __future__ import annotations

import copy
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from sqlclaimgen.description.column_shape import ColumnShape, StatusShape
from sqlclaimgen.description.shape import (
    DeadLetterShape,
    FileShape,
    OutputShape,
    RetryShape,
    TableShape,
)
from sqlclaimgen.description.values import REFUSED, kind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic_core import ErrorDetails

    from sqlclaimgen.description.findings import Findings
    from sqlclaimgen.description.locations import Path

_TYPES = {
    "string_type": ("text", "Write it in quotes."),
    "int_type": ("a whole number", "Write a whole number, plain: 5."),
    "int_from_float": ("a whole number", "Write it without a point."),
    "float_type": ("a number", "Write a number, plain: 0.1."),
    "bool_type": ("true or false", "Write true or false, without quotes."),
    "list_type": ("an array", "Write it in brackets: [ .. ]."),
    "dict_type": ("a table", "Write it in braces, or under a header of its own."),
    "model_type": ("a table", "Write it in braces, or under a header of its own."),
    "model_attributes_type": ("a table", "Write it in braces, or under a header of its own."),
}

_FILLED: Mapping[str, object] = {"format": 1, "table": {}, "columns": {}}
"""What stands in for a missing key, so that the rest is still checked."""

_MISSING = {
    "format": ("FORMAT", "the file does not say its format", "Write format = 1 as its first line."),
    "table": (
        "NO-TABLES",
        "the file describes no table",
        "Write [table.jobs] and [table.jobs.columns], or run `sqlclaimgen init`.",
    ),
}

_PLACES: tuple[tuple[type[BaseModel], str], ...] = (
    (FileShape, "the file, above its first header"),
    (OutputShape, "`[output]`"),
    (TableShape, "the table, under `[table.{table}]`"),
    (ColumnShape, "a column"),
    (DeadLetterShape, "`dead_letter`"),
    (RetryShape, "`retry`"),
    (StatusShape, "the `status` of the status column"),
)


def shape(document: dict[str, Any], findings: Findings) -> FileShape:
    """The shape of `document`, without what was refused."""
    rest = copy.deepcopy(document)
    while True:
        try:
            return FileShape.model_validate(rest)
        except ValidationError as error:
            details = error.errors(include_url=False)
        for detail in details:
            path = _written(detail["loc"])
            if detail["type"] != "missing" or not _is_known_cause(path, document, findings):
                _report(detail, path, findings)
            _leave_out(rest, path, missing=detail["type"] == "missing", findings=findings)


def _written(loc: tuple[int | str, ...]) -> Path:
    # pydantic marks a dict's refused key; only `sql` has keys that may be refused.
    return loc[:-1] if _is_key(loc) else loc


def _is_known_cause(path: Path, document: dict[str, Any], findings: Findings) -> bool:
    """Whether a missing key was left out because it is wrong, or is there under a wrong name."""
    parent: Any = document
    for key in path[:-1]:
        parent = parent[key]
    unknown = [key for key in parent if key not in keys(_model(path[:-1]))]
    return path in findings.broken or bool(get_close_matches(str(path[-1]), unknown, 1, 0.7))


def _is_key(loc: tuple[int | str, ...]) -> bool:
    # behind the key itself: a key may be called so
    return len(loc) == 7 and loc[4] == "sql" and loc[-1] == "[key]"


def _report(detail: ErrorDetails, path: Path, findings: Findings) -> None:
    context = detail.get("ctx", {})
    if _is_key(detail["loc"]):
        findings.error("UNKNOWN-KEY", f"{subject(path)} names no database", context["hint"], path)
    elif detail["type"] == REFUSED:
        findings.error(context["code"], f"{subject(path)} {context['what']}", context["hint"], path)
    elif detail["type"] == "missing":
        code, what, hint = (
            _MISSING.get(str(path[-1]), ("", "", "")) if len(path) == 1 else ("",) * 3
        )
        findings.error(
            code or "MISSING-KEY",
            what or f"{subject(path)} is missing",
            hint or _describe(path),
            path,
        )
    elif detail["type"] == "extra_forbidden":
        _report_unknown(path, findings)
    elif detail["type"] == "string_too_short":
        findings.error(
            "WRONG-VALUE", f"{subject(path)} is empty", "Leave it out, or fill it.", path
        )
    else:
        says, hint = _TYPES[detail["type"]]
        findings.error(
            "WRONG-TYPE",
            f"{subject(path)} must be {says}, not {kind(detail['input'])}",
            _trap(path) or _example(path) or hint,
            path,
        )


def _report_unknown(path: Path, findings: Findings) -> None:
    key, model = str(path[-1]), _model(path[:-1])
    place = dict(_PLACES)[model].format(table=path[1] if len(path) > 1 else "")
    known = keys(model)
    close = get_close_matches(key.lower(), known, 1, 0.7)
    elsewhere = [
        text.format(table=path[1] if len(path) > 1 and path[0] == "table" else "name")
        for other, text in _PLACES
        if key in keys(other)
    ]
    if trap := _trap(path[:-1]):
        hint = trap
    elif close:
        findings.broken.add((*path[:-1], close[0]))
        hint = f"Did you mean `{close[0]}`?"
    elif elsewhere:
        hint = f"`{key}` is a key of {elsewhere[0]}."
    else:
        hint = f"The keys of {place.partition(',')[0]} are {', '.join(known)}."
    findings.error("UNKNOWN-KEY", f"`{key}` is no key of {place.partition(',')[0]}", hint, path)


def _trap(path: Path) -> str | None:
    """The way out where a table's key stands below the header of its columns, and so became one."""
    if len(path) != 4 or path[2] != "columns" or path[3] not in keys(TableShape):
        return None
    return (
        f"`{path[3]}` is a key of the table: write it above `[table.{path[1]}.columns]`, "
        "because everything below that header is a column."
    )


def _example(path: Path) -> str | None:
    match path:
        case ("table", key):
            return f"Write [table.{key}] and [table.{key}.columns]."
        case ("table", _, "columns", column):
            return f'Write what the column is in braces: {column} = {{ type = "text" }}.'
        case _:
            return None


def _leave_out(rest: dict[str, Any], path: Path, *, missing: bool, findings: Findings) -> None:
    parent: Any = rest
    try:
        for key in path[:-1]:
            parent = parent[key]
    except KeyError:
        return
    findings.broken.add(path)
    if missing and path[-1] in _FILLED:
        parent[path[-1]] = _FILLED[str(path[-1])]
    elif missing:
        _leave_out(rest, path[:-1], missing=False, findings=findings)
    elif isinstance(path[-1], int):
        # The other items keep their places: the whole array goes.
        _leave_out(rest, path[:-1], missing=False, findings=findings)
    else:
        parent.pop(path[-1], None)


def keys(model: type[BaseModel]) -> list[str]:
    """The keys that a table of the file may have, as they are written."""
    return [field.alias or name for name, field in model.model_fields.items()]


def subject(path: Path) -> str:
    """What is at `path`, in words: ``the `type` of column `queue` ``."""
    match path:
        case (key,):
            return f"`{key}`"
        case ("table", key):
            return f"table `{key}`"
        case ("table", _, "columns", column):
            return f"column `{column}`"
        case ("table", _, "columns", column, key, *deeper):
            return f"`{_dotted([key, *deeper])}` of column `{column}`"
        case (_, key, *deeper) if path[0] == "table":
            return f"`{_dotted(deeper)}` of table `{key}`"
        case _:
            return f"`{_dotted(path)}`"


def _dotted(keys: Sequence[str | int]) -> str:
    """The keys with dots between; an item of an array goes by the array's name."""
    return ".".join(key for key in keys if isinstance(key, str))


def _model(path: Path) -> type[BaseModel]:
    match path:
        case ():
            return FileShape
        case ("output",):
            return OutputShape
        case ("table", _):
            return TableShape
        case ("table", _, "columns", _):
            return ColumnShape
        case ("table", _, "columns", _, "status"):
            return StatusShape
        case ("table", _, "dead_letter"):
            return DeadLetterShape
        case _:
            return RetryShape


def _describe(path: Path) -> str:
    model = _model(path[:-1])
    for name, field in model.model_fields.items():
        if (field.alias or name) == path[-1] and field.description:
            return field.description
    raise AssertionError(path)
