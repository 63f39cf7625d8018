"""The three forms behind one face, so that what drives them need not know which it is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from sqlclaimgen.runtime import steps
from sqlclaimgen.runtime.deliveries import Delivery
from sqlclaimgen.runtime.errors import UnsupportedServer
from sqlclaimgen.runtime.outcomes import AnyOutcome
from sqlclaimgen.runtime.protocols import advisory, lease, row_lock
from sqlclaimgen.runtime.protocols.scope import Scope
from sqlclaimgen.runtime.protocols.taken import Taken
from sqlclaimgen.runtime.queue import Bound, Queue


class FormProtocols(Protocol):
    """What each form has; the modules of this package are its implementations."""

    survives_sessions: bool
    """Whether a claim outlives the connection it was made on."""

    def claim(self, bound: Bound, scope: Scope, limit: int) -> steps.Protocol[Taken]:
        """Take up to `limit` due rows."""
        ...

    def settle(self, delivery: Any, outcome: AnyOutcome, *, joined: bool) -> steps.Protocol[None]:
        """Write an outcome. `joined`: a transaction of the caller's is open."""
        ...

    def leave(
        self, bound: Bound, deliveries: Iterable[Any], *, failed: bool, joined: bool
    ) -> steps.Protocol[None]:
        """End a claim by hand: give back what was not settled. `failed`: its block raised."""
        ...

    def check(self, delivery: Delivery[Any, Any], connection: Any) -> None:
        """Raise WrongConnection when `connection` cannot settle `delivery`."""
        ...


_FORMS: dict[str, FormProtocols] = {
    "lease": lease,
    "row_lock": row_lock,
    "advisory_lock": advisory,
}


def form_of(queue: Queue[Any, Any, Any, Any]) -> FormProtocols:
    """The protocols of a table's form."""
    form = _FORMS.get(queue.form)
    if form is None:
        raise UnsupportedServer(
            f"{queue.table}: this runtime does not know the form {queue.form!r}. Install the version "
            "that generated the module.",
            table=queue.table,
        )
    return form
