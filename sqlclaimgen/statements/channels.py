"""The channel that a committed enqueue notifies."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlclaimgen.description.model import Table

_PREFIX = "sqlclaimgen_"
_MOST = 63
"""Bytes: LISTEN cuts a longer name without a word, and pg_notify fails on it, in the producer's
transaction."""
_PLAIN = re.compile(r"[a-z0-9_]+(\.[a-z0-9_]+)?")
_DIGITS = 10


def channel(table: Table) -> str:
    """The table's channel: lower case, at most 63 bytes, the same quoted or not. A name that is long
    or has anything but lower-case letters, digits and underscores ends in a hash of it."""
    name = _PREFIX + table.title.replace(".", "_")
    if _PLAIN.fullmatch(table.title) and len(name) <= _MOST:
        return name
    digest = hashlib.sha256(table.title.encode()).hexdigest()[:_DIGITS]
    slug = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    return f"{slug[: _MOST - _DIGITS - 1].rstrip('_')}_{digest}"
