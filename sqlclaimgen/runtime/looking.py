"""A look at the live table before a connection is used by hand, once for each connection."""

from __future__ import annotations

import logging
import weakref
from typing import Any

from sqlclaimgen.runtime import findings
from sqlclaimgen.runtime.drivers.base import State
from sqlclaimgen.runtime.drivers.servers import SERVERS
from sqlclaimgen.runtime.findings import ROW_SECURITY, Finding
from sqlclaimgen.runtime.queue import Bound
from sqlclaimgen.runtime.steps import Protocol, Rollback

_log = logging.getLogger("sqlclaimgen")

_looked: weakref.WeakKeyDictionary[Any, set[tuple[str, str]]] = weakref.WeakKeyDictionary()
"""What was looked at over each connection. sqlite3's take no weak reference: there a look is made
before each claim, at little cost, for the database is in this process."""

told: set[str] = set()
"""The warnings that were logged: each once in a process."""


def at_table(state: State, bound: Bound, *, cares: bool = False) -> Protocol[None]:
    """Raise SchemaMismatch or ServerUnfit when the live tables cannot keep what the description
    promises. Other findings are logged as warnings. Leaves the connection as it was. `cares`: for what
    looks after a table, and says by itself that row level security hides rows."""
    yield from _once(state, bound, "care" if cares else "table")


def at_zone(state: State, bound: Bound) -> Protocol[None]:
    """Raise ServerUnfit when times would be written in the time zone of the session (MySQL, MariaDB)."""
    yield from _once(state, bound, "zone")


def _once(state: State, bound: Bound, what: str) -> Protocol[None]:
    if bound.queue.work is None or state.broken:
        return
    try:
        looked = _looked.setdefault(state.connection, set())
    except TypeError:
        if what == "zone":
            return
        looked = set[tuple[str, str]]()
    if (bound.queue.table, what) in looked:
        return
    for finding in (yield from _alone(state, _found(state, bound, what))):
        if what == "care" and getattr(finding.error, "setting", "") == ROW_SECURITY:
            continue
        if finding.refuses:
            raise finding.error
        if str(finding.error) not in told:
            told.add(str(finding.error))
            _log.warning("%s", finding.error)
    looked.add((bound.queue.table, what))


def _found(state: State, bound: Bound, what: str) -> Protocol[list[Finding]]:
    server = SERVERS[state.dialect]
    found = yield from findings.zone(bound, server)
    if what == "table":
        found += yield from findings.pooled(bound, server, server.told(state.connection))
    if what != "zone":
        found += yield from findings.of(bound, server)
    return found


def _alone(state: State, body: Protocol[list[Finding]]) -> Protocol[list[Finding]]:
    """`body`, with no transaction left open that was not open before: drivers open one for a select."""
    opens = not state.in_transaction
    try:
        found = yield from body
    except GeneratorExit:
        raise
    except BaseException:
        if opens:
            yield Rollback()
        raise
    if opens and state.in_transaction:
        yield Rollback()
    return found
