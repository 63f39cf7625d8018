"""The live tables against the description."""

from __future__ import annotations

from sqlclaimgen.runtime import findings
from sqlclaimgen.runtime.drivers.servers import Server
from sqlclaimgen.runtime.queue import Bound
from sqlclaimgen.runtime.steps import Protocol
from sqlclaimgen.runtime.worker.events import EventKind, Reporter


def compared(bound: Bound, server: Server, report: Reporter) -> Protocol[None]:
    """Raise SchemaMismatch or ServerUnfit for what loses rows or hides them; report the rest as warnings."""
    found = yield from findings.of(bound, server)
    for finding in found:
        if finding.refuses:
            raise finding.error
    for finding in found:
        report(EventKind.WARNED, error=finding.error)
