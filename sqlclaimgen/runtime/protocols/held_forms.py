"""Which form holds its rows by a connection, for the worker."""

from __future__ import annotations

from typing import Any

from sqlclaimgen.runtime.protocols import advisory, row_lock
from sqlclaimgen.runtime.protocols.held import HeldForm
from sqlclaimgen.runtime.queue import Queue

_FORMS: dict[str, HeldForm] = {"row_lock": row_lock, "advisory_lock": advisory}


def held_form_of(queue: Queue[Any, Any, Any, Any]) -> HeldForm | None:
    """The form's protocols as a worker sees them; None for the lease form."""
    return _FORMS.get(queue.form)
