"""Diagnostics as text, JSON and GitHub annotations. Pure: strings in, strings out."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING

from sqlclaimgen.description.characters import shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlclaimgen.description.diagnostics import Diagnostic


def text(diagnostics: Iterable[Diagnostic]) -> str:
    """Two lines for each: `file:line:column: error[CODE]: what`, and the way out."""
    return "".join(
        f"{shown(d.file)}:{d.line}:{d.column}: {d.severity}[{d.code}]: {d.what}\n    hint: {d.hint}\n"
        for d in diagnostics
    )


def as_json(diagnostics: Iterable[Diagnostic]) -> str:
    """An array of objects with the fields of `Diagnostic`."""
    rows = [dataclasses.asdict(diagnostic) for diagnostic in diagnostics]
    return json.dumps(rows, indent=2, ensure_ascii=False) + "\n"


def github(diagnostics: Iterable[Diagnostic]) -> str:
    """Workflow commands, which GitHub Actions shows beside the line they are about."""
    return "".join(
        f"::{d.severity} {_place(d)}title={_property(d.code)}::{_data(d.what)}%0A{_data(d.hint)}\n"
        for d in diagnostics
    )


def _place(d: Diagnostic) -> str:
    """Where a finding is; one about the call has no file."""
    return f"file={_property(d.file)},line={d.line},col={d.column}," if d.file else ""


def _data(value: str) -> str:
    return value.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(value: str) -> str:
    return _data(value).replace(":", "%3A").replace(",", "%2C")
