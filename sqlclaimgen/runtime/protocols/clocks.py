"""The database's clock, for tables that ask for it: read now and then, and counted on from there."""

from __future__ import annotations

import time

from sqlclaimgen.runtime.protocols.transaction import joining
from sqlclaimgen.runtime.queue import Bound
from sqlclaimgen.runtime.steps import Protocol

LATE = 0.5
"""Seconds that an answer may take before the clock is asked again."""


def read(bound: Bound, *, joined: bool) -> Protocol[None]:
    """Read the clock, in the open transaction or one of its own."""
    yield from joining(_read(bound), joined=joined)


def _read(bound: Bound) -> Protocol[None]:
    for last in (False, False, True):
        asked = time.monotonic()
        result = yield from bound.run("clock", {})
        bound.reading.take(bound.codec.from_time(result.rows[0][0]), asked)
        if last or time.monotonic() - asked <= LATE:
            return
