"""Mistakes in a description: where, what, a stable code, and the way out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding. `line` and `column` count from 1, columns in characters."""

    file: str
    line: int
    column: int
    code: str
    """Stable, upper case with dashes: `UNKNOWN-KEY`."""
    what: str
    hint: str
    severity: str = "error"
    """`error` or `warning`."""


class DescriptionInvalid(Exception):
    """A description has mistakes. Nothing was written."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        super().__init__(f"{len(diagnostics)} mistakes in the description")
        self.diagnostics = diagnostics
