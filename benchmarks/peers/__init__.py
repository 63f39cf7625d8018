"""Peers: other queues, each a script that runs in an environment of its own and prints JSON.

A script is called with the place of an empty database and a number of rows. It creates its tables,
enqueues the rows, works them off with a handler that does nothing, and prints how many seconds the
work took and how many jobs its queue still holds. Enqueueing is not measured, and of a worker neither
its start nor its end, which with some takes seconds: its time is from the first job to the last.
"""

from __future__ import annotations

from benchmarks.peers.contenders import on_postgres, on_sqlite

__all__ = ["on_postgres", "on_sqlite"]
