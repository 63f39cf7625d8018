"""What each database can do: one module each, and no comparison of a dialect's name anywhere else."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from sqlclaimgen.dialects.base import Capability, Dialect, NameLimit
from sqlclaimgen.dialects.mariadb import MariaDB
from sqlclaimgen.dialects.mysql import MySQL
from sqlclaimgen.dialects.postgres import Postgres
from sqlclaimgen.dialects.sqlite import SQLite

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["DIALECTS", "Capability", "Dialect", "NameLimit"]

DIALECTS: Mapping[str, Dialect] = MappingProxyType(
    {dialect.name: dialect for dialect in (Postgres(), MySQL(), MariaDB(), SQLite())}
)
"""Every dialect, by its word in a description, in the order in which output lists them."""
