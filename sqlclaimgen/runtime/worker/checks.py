"""What a worker looks at before its first claim: each finding is a clear error."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from sqlclaimgen.runtime.queue import Queue
from sqlclaimgen.runtime.worker.events import Reporter
from sqlclaimgen.runtime.worker.settings import Settings


async def run(
    queue: Queue[Any, Any, Any, Any],
    settings: Settings,
    connect: Callable[[], Any],
    report: Reporter,
    stop: asyncio.Event,
) -> None:
    """Look at the server and the table."""
