"""Mistakes in a description: where, what, a stable code, and the way out."""

from __future__ import annotations

from dataclasses import dataclass

from sqlclaimgen.description.characters import shown

LONGEST = 500
"""Characters of a text in a finding: what is longer is cut in the middle."""


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

    def __post_init__(self) -> None:
        # both quote the description, whose text must end no line and send no control character
        object.__setattr__(self, "what", shown(self.what, LONGEST))
        object.__setattr__(self, "hint", shown(self.hint, LONGEST))


class DescriptionInvalid(Exception):
    """A description has mistakes. Nothing was written."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        super().__init__(f"{len(diagnostics)} mistakes in the description")
        self.diagnostics = diagnostics
