"""Triggers of a team's own that refuse to change some rows."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

WORDS = "kept by law"
"""What the database says."""


def refuse(stand: Any, event: str, ids: Collection[int], *, when: str = "") -> None:
    """Let a trigger refuse an `UPDATE` or a `DELETE` of these rows, where `when` holds too."""
    database, name = stand.database, f"refused_{event.lower()}"
    condition = f"OLD.id IN ({', '.join(map(str, ids))}){' AND ' if when else ''}{when}"
    match stand.dialect:
        case "postgres":
            database.execute(
                f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS "
                f"$$ BEGIN RAISE EXCEPTION '{WORDS}'; END $$"
            )
            database.execute(
                f"CREATE TRIGGER {name} BEFORE {event} ON jobs FOR EACH ROW WHEN ({condition}) "
                f"EXECUTE FUNCTION {name}()"
            )
        case "sqlite":
            database.execute(
                f"CREATE TRIGGER {name} BEFORE {event} ON jobs WHEN {condition} BEGIN "
                f"SELECT RAISE(ABORT, '{WORDS}'); END"
            )
        case _:
            database.execute(
                f"CREATE TRIGGER {name} BEFORE {event} ON jobs FOR EACH ROW BEGIN IF {condition} THEN "
                f"SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '{WORDS}'; END IF; END"
            )
