"""What the rules found in one file, collected: every mistake in one run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlclaimgen.description.diagnostics import Diagnostic

if TYPE_CHECKING:
    from sqlclaimgen.description.locations import Locations, Path, Position


class Findings:
    """Errors and warnings, each at the key it is about."""

    def __init__(self, file: str, locations: Locations) -> None:
        self.file = file
        self.locations = locations
        self.broken: set[Path] = set()
        """Keys whose value was refused and left out: no rule calls them missing as well."""
        self._found: list[Diagnostic] = []

    def error(
        self, code: str, what: str, hint: str, path: Path, *, inside: int | None = None
    ) -> None:
        """A mistake at the key `path`, or at the character `inside` of its text."""
        self._add(code, what, hint, self._position(path, inside), "error")

    def warning(self, code: str, what: str, hint: str, path: Path) -> None:
        """Something legal that its author should know."""
        self._add(code, what, hint, self._position(path, None), "warning")

    def is_broken(self, path: Path) -> bool:
        """Whether something at `path` or below it was refused."""
        return any(broken[: len(path)] == path for broken in self.broken)

    @property
    def errors(self) -> bool:
        """Whether there is a mistake among the findings."""
        return any(found.severity == "error" for found in self._found)

    def sorted(self) -> tuple[Diagnostic, ...]:
        """Everything found, in the order of the file, each once."""
        return tuple(
            sorted(dict.fromkeys(self._found), key=lambda d: (d.line, d.column, d.code, d.what))
        )

    def line(self, path: Path) -> int:
        """The line of the key at `path`, for a message that names a second place."""
        return self.locations.nearest(path).line

    def _position(self, path: Path, inside: int | None) -> Position:
        if inside is None:
            return self.locations.nearest(path)
        return self.locations.within(path, inside)

    def _add(self, code: str, what: str, hint: str, at: Position, severity: str) -> None:
        self._found.append(Diagnostic(self.file, at.line, at.column, code, what, hint, severity))
