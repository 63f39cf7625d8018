"""A connection's socket, seen from beside the one who uses it."""

from __future__ import annotations

import select


def hung_up(descriptor: int) -> bool:
    """Whether the other side has closed a socket. Nothing is read from it and nothing sent. False where
    the system cannot tell: only Linux does while unread bytes are left."""
    closed: int = getattr(select, "POLLRDHUP", 0)
    if not closed:
        return False
    look = select.poll()
    look.register(descriptor, closed)
    return bool(look.poll(0))  # an error and a hang-up are told as well, asked for or not
