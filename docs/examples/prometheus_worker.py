"""A worker's events as Prometheus metrics: `Worker(.., on_event=Metrics())`."""

from __future__ import annotations

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram

from sqlclaimgen.runtime import Event, EventKind

_HANDLER_SECONDS = (0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60, 300, 1800)
_TROUBLE = {
    EventKind.LOST,
    EventKind.OVERDUE,
    EventKind.UNKNOWN,
    EventKind.UNSETTLED,
    EventKind.GIVEN_BACK,
    EventKind.DISCONNECTED,
    EventKind.CONFLICT,
    EventKind.WARNED,
}


class Metrics:
    """Counts what a worker reports. One object serves any number of workers of a process."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        self.claimed = Counter(
            "claim_rows_claimed", "Rows that were claimed.", ["table"], registry=registry
        )
        self.settled = Counter(
            "claim_rows_settled", "Outcomes committed.", ["table", "outcome"], registry=registry
        )
        self.failed = Counter(
            "claim_handler_failures", "Handlers that raised.", ["table", "error"], registry=registry
        )
        self.exhausted = Counter(
            "claim_rows_exhausted",
            "Rows whose crashes used their attempts up.",
            ["table"],
            registry=registry,
        )
        self.trouble = Counter(
            "claim_trouble",
            "Leases lost, connections lost, ..",
            ["table", "kind"],
            registry=registry,
        )
        self.handler_seconds = Histogram(
            "claim_handler_seconds",
            "How long handlers ran.",
            ["table"],
            buckets=_HANDLER_SECONDS,
            registry=registry,
        )
        self.claim_seconds = Histogram(
            "claim_claim_seconds", "How long claims took.", ["table"], registry=registry
        )
        self.last_claim = Gauge(
            "claim_last_claim_timestamp_seconds",
            "When the worker last found rows, or last waited for some: it is alive.",
            ["table"],
            registry=registry,
        )

    def __call__(self, event: Event) -> None:
        """Take one event. It is called on the worker's own thread: nothing here waits."""
        table = event.table
        match event.kind:
            case EventKind.CLAIMED:
                self.claimed.labels(table).inc(event.count or 0)
                self.claim_seconds.labels(table).observe(event.seconds or 0)
                self.last_claim.labels(table).set_to_current_time()
            case EventKind.WAITED:
                self.last_claim.labels(table).set_to_current_time()
            case EventKind.SETTLED:
                self.settled.labels(table, event.outcome).inc()
                self.handler_seconds.labels(table).observe(event.seconds or 0)
            case EventKind.FAILED:
                # the error's class alone: a label with its text would have no end of values
                self.failed.labels(table, type(event.error).__name__).inc()
            case EventKind.EXHAUSTED:
                self.exhausted.labels(table).inc(event.count or 0)
            case kind if kind in _TROUBLE:
                self.trouble.labels(table, kind.value).inc()
            case _:
                pass
