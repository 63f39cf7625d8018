"""A connection as the runtime uses it: steps in, results out."""

from __future__ import annotations

import contextlib
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Protocol

from sqlclaimgen.runtime.errors import FaultKind
from sqlclaimgen.runtime.steps import (
    Begin,
    CheckConstraints,
    Close,
    Commit,
    DropKey,
    HoldKey,
    KeysInUse,
    Pause,
    ReleaseSavepoint,
    Result,
    Rollback,
    RollbackToSavepoint,
    Run,
    Savepoint,
    Step,
    Text,
)


def carried(parameters: Mapping[str, Any], *encodings: str) -> Mapping[str, Any]:
    """The parameters, their texts for people as these encodings can carry them."""
    if not any(isinstance(value, Text) for value in parameters.values()):
        return parameters
    return {
        name: _carried(value, encodings) if isinstance(value, Text) else value
        for name, value in parameters.items()
    }


def _carried(text: str, encodings: tuple[str, ...]) -> str:
    for encoding in encodings:
        # one that Python does not know is the server's to judge
        with contextlib.suppress(LookupError):
            text = text.encode(encoding, "replace").decode(encoding)
    return str(text)


class State(Protocol):
    """What is known of a caller's connection between two steps, blocking or asyncio."""

    dialect: str
    connection: Any
    knows_transactions: bool
    """Whether every answer tells if a transaction is open, an error's included."""

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        ...

    @property
    def always_in_transaction(self) -> str | None:
        """The setting by which the driver begins the next transaction as soon as one ends, and the way
        out; None without such a setting."""
        ...

    def asked_in_transaction(self) -> bool:
        """The same, asked of the server where its answers do not tell."""
        ...

    @property
    def broken(self) -> bool:
        """Whether the open transaction can only be rolled back, or the connection is closed."""
        ...

    def fault(self, error: BaseException) -> FaultKind | None:
        """What a driver's error means; None for an error that is not the driver's."""
        ...


class Session(ABC):
    """One blocking connection. It never alters what the caller set on it."""

    dialect: str
    knows_transactions = True
    """Whether every answer tells if a transaction is open, an error's included."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    @property
    @abstractmethod
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""

    @property
    def always_in_transaction(self) -> str | None:
        """The setting by which the driver begins the next transaction as soon as one ends, and the way
        out; None without such a setting."""
        return None

    def asked_in_transaction(self) -> bool:
        """The same, asked of the server where its answers do not tell."""
        return self.in_transaction

    @property
    def broken(self) -> bool:
        """Whether the open transaction can only be rolled back, or the connection is closed."""
        return False

    def execute(self, step: Step) -> Result:
        """Carry out one step. Raises the driver's own errors."""
        match step:
            case Run():
                return self.run(step.sql, step.parameters)
            case Begin():
                self.begin(step.isolation or "read committed")
            case Commit():
                self.commit()
            case Rollback():
                self.rollback()
            case Savepoint(name):
                self.run(f"SAVEPOINT {name}", {})
            case ReleaseSavepoint(name):
                self.run(f"RELEASE SAVEPOINT {name}", {})
            case RollbackToSavepoint(name):
                self.run(f"ROLLBACK TO SAVEPOINT {name}", {})
            case CheckConstraints():
                pass  # they hold after each statement
            case Pause(seconds, _):
                time.sleep(seconds)
            case Close():
                self.close()
            case KeysInUse() | HoldKey() | DropKey():
                raise TypeError(f"{self.dialect} keeps its keys itself, not in this process")
        return Result()

    @abstractmethod
    def begin(self, isolation: str) -> None:
        """Open a transaction at `isolation`, whatever the session's default is."""

    @abstractmethod
    def run(self, sql: str, parameters: Mapping[str, Any]) -> Result:
        """Run a statement with `:name` placeholders and read all it returns."""

    def commit(self) -> None:
        """Commit."""
        self.connection.commit()

    def rollback(self) -> None:
        """Roll back; close the connection when that fails, so that nothing of it stays behind."""
        try:
            self.connection.rollback()
        except Exception:
            self.close()

    @abstractmethod
    def close(self) -> None:
        """Close the connection. Never fails."""

    @abstractmethod
    def prepare(self, limit: float) -> None:
        """Set what the runtime relies on, on a connection of its own whose statements are given
        `limit` seconds."""

    @abstractmethod
    def abort(self) -> None:
        """Break the connection at once, also under a statement that waits. From any thread."""

    @property
    def gone(self) -> bool:
        """Whether the server has closed the connection, found out without a word to it: for one that
        somebody else is using. From any thread. False where that cannot be seen."""
        return False

    @abstractmethod
    def fault(self, error: BaseException) -> FaultKind | None:
        """What a driver's error means; None for an error that is not the driver's."""
