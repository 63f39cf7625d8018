"""A server as the start-up checks see it: questions as protocols, so that both faces ask the same."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, TypeVar

from sqlclaimgen.runtime.drivers.servers.live import LiveTable
from sqlclaimgen.runtime.queue import Relation
from sqlclaimgen.runtime.steps import Protocol, Run

T = TypeVar("T")


class Ends(StrEnum):
    """When a server's timeout ends a session."""

    IDLE = "idle"
    """Nothing was asked for so long, in a transaction or not."""
    IDLE_OUTSIDE = "idle outside"
    """Nothing was asked for so long, with no transaction open."""
    IDLE_INSIDE = "idle inside"
    """Nothing was asked for so long, with a transaction open."""
    TRANSACTION = "transaction"
    """A transaction has been open for so long, whatever was asked in it."""


@dataclass(frozen=True, slots=True)
class Timeout:
    """A setting of the server that ends sessions, as it holds for this one."""

    name: str
    seconds: float
    ends: Ends


class Server(ABC):
    """One kind of server."""

    dialect: ClassVar[str]
    title: ClassVar[str]
    floor: ClassVar[tuple[int, ...]]
    """The oldest version that the statements were written for."""
    needs: ClassVar[str]
    """What it has that the one before lacks."""
    fifo: ClassVar[tuple[tuple[int, ...], str] | None] = None
    """The oldest version for FIFO groups, where they need a newer one, and what they need of it."""
    session: ClassVar[str | None] = None
    """The query for the number of the server's session that answers it."""
    clock: ClassVar[str | None] = None
    """The query for the server's time; None: it shares the host's clock."""
    version_query: ClassVar[str]
    blocked: ClassVar[str | None] = None
    """The query for the numbers of sessions that wait for the end of this one's transaction; None: a limit
    of the server's ends such a wait."""
    notifies: ClassVar[bool] = False
    """Whether a commit can wake sessions that listen."""

    def version(self) -> Protocol[str]:
        """The server's version, in its own words."""
        result = yield Run("version", self.version_query, {})
        return str(result.rows[0][0])

    def numbers(self, version: str) -> tuple[int, ...]:
        """A version's numbers: `15.18 (Debian ..)` is (15, 18)."""
        found = re.match(r"\d+(\.\d+)*", version)
        return tuple(int(part) for part in found[0].split(".")) if found else ()

    def unencoded(self) -> Protocol[tuple[str, str] | None]:
        """The setting under which the driver gives text as bytes, and how to set it otherwise; None:
        text is text."""
        none: tuple[str, str] | None = None
        return (yield from nothing(none))

    def timeouts(self) -> Protocol[list[Timeout]]:
        """The timeouts that are on."""
        none: list[Timeout] = []
        return (yield from nothing(none))

    def unlogged(self) -> Protocol[str | None]:
        """The setting under which the server writes no log of READ COMMITTED transactions, and so
        refuses them; None: there is none."""
        none: str | None = None
        return (yield from nothing(none))

    def multi_master(self) -> Protocol[str | None]:
        """The setting that says that other nodes take writes too; None: none does."""
        none: str | None = None
        return (yield from nothing(none))

    @abstractmethod
    def live(self, relation: Relation) -> Protocol[LiveTable | None]:
        """A table as it is in the database; None when there is none that this session sees."""

    def told(self, connection: Any) -> int | None:
        """The number of the session that the driver was told when it connected; None: it was not."""
        return None

    def other_zone(self) -> Protocol[str | None]:
        """The session's time zone, where the server writes some times in it and it is not UTC."""
        none: str | None = None
        return (yield from nothing(none))

    quotes_strings: ClassVar[bool] = False
    """Whether a quoted name that is no column is taken for a string, and no error."""

    @abstractmethod
    def fits(self, statement: str, sql: str, parameters: Mapping[str, Any]) -> Protocol[None]:
        """Let the server resolve a statement against the live table without running it. Raises
        StatementFailed when it does not fit."""

    others: ClassVar[tuple[str, ...]] = ("enqueue", "redrive", "purge", "stats")
    """What the names of statements begin with that a worker does not run."""
    holds: ClassVar[Mapping[str, frozenset[int]]] = {}
    """The driver's type codes that hold a kind of column: of times and integers, which claims compute
    with. Other kinds, and servers without types, are not compared."""

    def forbids(self, error: BaseException | None) -> bool:
        """Whether the driver's error of `fits` is about rights that the login lacks."""
        return False

    @abstractmethod
    def column(self, sql: str, error: BaseException | None) -> str | None:
        """The column that the driver's error of `fits` is about, where it tells."""


def nothing(value: T) -> Protocol[T]:
    """A protocol that asks nothing."""
    if False:
        yield Run("", "", {})
    return value
