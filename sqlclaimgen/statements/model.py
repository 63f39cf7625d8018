"""Statements as data: what is written into the `.sql` files, into the modules, and run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlclaimgen.description.model import Column, Table
    from sqlclaimgen.dialects import Dialect


@dataclass(frozen=True, slots=True)
class Parameter:
    """A `:name` of a statement and what to pass for it."""

    name: str
    what: str


@dataclass(frozen=True, slots=True)
class Statement:
    """One named statement. Everything but `text` is for the reader of the `.sql` file."""

    name: str
    purpose: tuple[str, ...]
    """What it does, and why it is written this way; one line each."""
    parameters: tuple[Parameter, ...]
    transaction: str
    locks: str
    index: str
    """The index it relies on; `the primary key`; or `none`."""
    runs: str
    """How often."""
    text: str
    """With `:name` placeholders and without a closing semicolon: exactly what reaches the driver."""


@dataclass(frozen=True, slots=True)
class Index:
    """An index that a statement relies on. Names are not quoted yet."""

    name: str
    columns: tuple[str, ...]
    serves: tuple[str, ...]
    """The statements that need it, for the comment above it."""
    where: str | None = None
    """The condition of a partial index, as SQL."""
    unique: bool = False
    uses: tuple[str, ...] = ()
    """What statements of FIFO groups find it by: `order`, `work`."""

    def covers(self, other: Index) -> bool:
        """Whether whatever reads `other` can read this one: its columns begin with the same ones."""
        begins = self.columns[: len(other.columns)] == other.columns
        return begins and self.where == other.where and not other.unique


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything generated for one table on one database."""

    table: Table
    dialect: Dialect
    statements: tuple[Statement, ...]
    indexes: tuple[Index, ...]
    ddl: str
    columns: tuple[Column, ...]
    """What a claim returns as the Row, in this order."""
    dead_indexes: tuple[Index, ...] = ()
    """The indexes of the dead-letter table."""
