"""Names that are made here, for indexes and the like: bounded, and never cut to one another."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlclaimgen.dialects import Dialect


def bounded(stem: str, suffix: str, dialect: Dialect) -> str:
    """`stem_suffix`, or a shorter stem with a hash of the whole when that is too long for the database."""
    whole = f"{stem}_{suffix}"
    limit = dialect.name_limit
    if limit.length(whole) <= limit.count:
        return whole
    tail = f"_{hashlib.sha256(whole.encode()).hexdigest()[:10]}_{suffix}"
    cut = stem
    while limit.length(cut + tail) > limit.count:
        cut = cut[:-1]
    return cut + tail
