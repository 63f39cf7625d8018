"""How many candidates a claim reads before it locks, on databases that read first and lock by id.

MariaDB keeps the locks of rows that a locking read rejects, so candidates are read without locks and
locked by id. A window of the size of the claim starves: rivals hold its first rows. Measured rule:
start wide, and look further only when nothing came and more is due.
"""

from __future__ import annotations

MOST = 8192
"""The widest window."""


def of_lease(limit: int) -> int:
    """The window of a lease claim: rivals hold rows for one short transaction only."""
    return max(100, 10 * limit)


def wider(window: int) -> int:
    """The next window after a claim that came back empty although more is due."""
    return min(window * 4, MOST)
