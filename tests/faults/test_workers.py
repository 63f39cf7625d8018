"""DD-05, LR-06, SP-05: what a worker outlasts, and what its polling costs."""

from __future__ import annotations

from typing import Any

from sqlclaimgen.runtime import EventKind
from sqlclaimgen.runtime.protocols import lease
from sqlclaimgen.runtime.protocols.scope import ONLY
from sqlclaimgen.runtime.steps import Commit
from tests.conformance.harness import Stand, on_cases
from tests.conformance.stepping import Stepper
from tests.worker.support.cases import JOBS, SHORT
from tests.worker.support.running import Log, leasing, worker_of, working

ON_POSTGRES = JOBS.with_(name="postgres", dialects=("postgres",))


@on_cases(SHORT)
def test_dd_05_a_handler_longer_than_its_lease_runs_once(stand: Stand) -> None:
    """It works through four extensions of a lease of a second, and another worker looks on."""
    (id,) = stand.enqueue([{"payload": 1}])
    module = leasing(stand.generated.module("jobs"), 1)
    log, rivals = Log(), Log()

    def handle(delivery: Any) -> None:
        log.wait_for(EventKind.EXTENDED, 4)

    with working(worker_of("blocking", stand, handle, module=module, on_event=log)):
        log.wait_for(EventKind.STARTED)
        rival = worker_of("blocking", stand, lambda d: None, module=module, on_event=rivals)
        with working(rival):
            log.wait_for(EventKind.SETTLED)
    assert (log.deliveries, rivals.deliveries) == ([(id, 1)], [])
    assert stand.count == 0


@on_cases(ON_POSTGRES)
def test_lr_06_a_session_that_became_read_only_is_replaced(stand: Stand) -> None:
    name = stand.database.name
    log = Log()
    with working(worker_of("blocking", stand, lambda d: None, on_event=log, concurrency=1)):
        stand.enqueue([{"payload": 1}])
        log.wait_for(EventKind.SETTLED)
        stand.database.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
        for session in stand.database.sessions():
            stand.database.execute("SELECT pg_terminate_backend(%s)", [session])
        log.wait_for(EventKind.DISCONNECTED, 3)
        stand.database.execute(f'ALTER DATABASE "{name}" RESET default_transaction_read_only')
        stand.enqueue([{"payload": 2}])
        log.wait_for(EventKind.SETTLED, 2)
    assert stand.count == 0


@on_cases(ON_POSTGRES)
def test_sp_05_a_claim_of_nothing_writes_nothing(stand: Stand) -> None:
    """No transaction id is taken, so no WAL is written."""
    connection = stand.connect()
    stepper = Stepper(connection, stand.module.QUEUE, lambda bound: lease.claim(bound, ONLY, 10))
    stepper.stop_before(Commit)
    assert connection.execute("SELECT txid_current_if_assigned()").fetchone() == (None,)
    assert stepper.finish().deliveries == []
    stand.enqueue([{"payload": 1}])
    stepper = Stepper(connection, stand.module.QUEUE, lambda bound: lease.claim(bound, ONLY, 10))
    stepper.stop_before(Commit)
    assert connection.execute("SELECT txid_current_if_assigned()").fetchone() != (None,)
    stepper.finish()
