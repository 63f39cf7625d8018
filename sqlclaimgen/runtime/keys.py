"""Keys of advisory locks: what a delivery holds, and SQLite's, which this process keeps.

SQLite has no session locks, so the keys of a database file live in the process that uses it: its
threads and connections exclude each other, and two processes on one file do not. An in-memory
database has its keys to itself, one set for each connection, shared cache or not.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol


@dataclass(slots=True, eq=False, weakref_slot=True)
class KeyLock:
    """The lock on a key that a session holds."""

    key: str
    """As the template spells it; on MySQL and MariaDB with the database's name in front."""
    name: Any
    """What the database locks for it: a number, a name, or the key."""
    session: int | None = None
    """The database's number for the session that holds it."""
    holder: Holder | None = None
    """Where the process keeps the key: the session that holds it."""


class Holder(Protocol):
    """A session that holds keys in this process. They are free again once it is broken."""

    @property
    def broken(self) -> bool:
        """Whether the connection is closed."""
        ...


class ProcessKeys:
    """The keys in use in this process, by database. They are held weakly: a delivery that nobody has
    any more gives its key back, as a session that ends does."""

    def __init__(self) -> None:
        self._held: dict[Hashable, dict[str, weakref.ref[KeyLock]]] = {}
        self._guard = threading.Lock()

    def in_use(self, space: Hashable) -> list[str]:
        """The keys of a database that are held."""
        with self._guard:
            return [key for key in list(self._held.get(space, ())) if self._holding(space, key)]

    def hold(self, space: Hashable, lock: KeyLock, holder: Holder) -> bool:
        """Hold a key. False when it is in use: it is never waited for."""
        with self._guard:
            if self._holding(space, lock.key):
                return False
            lock.holder = holder
            self._held.setdefault(space, {})[lock.key] = weakref.ref(lock)
            return True

    def drop(self, lock: KeyLock) -> None:
        """Give a key back. One that is not held any more is passed over."""
        with self._guard:
            lock.holder = None
            for space in list(self._held):
                self._holding(space, lock.key)

    def forget(self) -> None:
        """Hold nothing: what a process forked from this one starts with."""
        self._held, self._guard = {}, threading.Lock()

    def _holding(self, space: Hashable, key: str) -> bool:
        """Whether a key is held. One that is not is removed."""
        keys = self._held.get(space, {})
        held = keys[key]() if key in keys else None
        if held is not None and held.holder is not None and not held.holder.broken:
            return True
        keys.pop(key, None)
        if not keys:
            self._held.pop(space, None)
        return False


PROCESS = ProcessKeys()
"""The keys of every database that this process opened."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=PROCESS.forget)


def space_of(file: str, connection: object) -> Hashable:
    """What two connections to one database have in common: the file itself, whatever its name. An
    in-memory database, which has no file, is its connection's."""
    if not file:
        return id(connection)
    try:
        found = Path(file).stat()
    except OSError:
        return file
    return found.st_dev, found.st_ino
