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


FIRST = 100
"""How many due rows an advisory claim reads first, in claim order. Keys are tried one after another, and
looking ends with the first that is won."""

WIDE = 1000
"""How many each of its further windows reads, when all keys before it are in use; the first of each
priority is narrow."""

MOST_READ = 10_000
"""The sum of the further windows of one claim: any number of rows can share a key that is in use. The next
claim goes on behind them, so that a pass over `n` due rows takes about `n / 10,000 + 1` claims."""

MOST_FOUND = 1000
"""Rows that are found in one pass before the next begins: keys were given back before its place."""


class Window:
    """The window of row lock claims, kept from claim to claim: rivals hold rows while their handlers
    run, so no fixed width is right. It widens when a claim comes back short and narrows slowly."""

    __slots__ = ("width",)

    def __init__(self) -> None:
        self.width = 0

    def begin(self, limit: int) -> int:
        """The width to begin a claim of `limit` rows with."""
        return max(self.width, _least(limit))

    def short(self, width: int) -> int:
        """A claim of this width came back short: the next one is twice as wide. No more than MOST is
        kept, but a claim that finds nothing goes on."""
        self.width = min(width * 2, MOST)
        return width * 2

    def full(self, width: int, limit: int) -> None:
        """A claim of this width came back full: the next one is a little narrower."""
        self.width = min(max(_least(limit), width - width // 16), MOST)


def _least(limit: int) -> int:
    return max(16, 2 * limit)
