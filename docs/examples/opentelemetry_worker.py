"""A worker's events as OpenTelemetry spans and metrics: `Worker(.., on_event=Telemetry())`."""

from __future__ import annotations

import time

from opentelemetry import metrics, trace
from opentelemetry.metrics import Meter
from opentelemetry.trace import SpanKind, Status, StatusCode, Tracer
from opentelemetry.util.types import AttributeValue

from sqlclaimgen.runtime import Event, EventKind

_NAME = "sqlclaimgen"


class Telemetry:
    """One span for each delivery, from its handler's start to its settlement, and metrics named by the
    conventions for messaging. One object serves any number of workers of a process."""

    def __init__(self, tracer: Tracer | None = None, meter: Meter | None = None) -> None:
        self._tracer = tracer or trace.get_tracer(_NAME)
        meter = meter or metrics.get_meter(_NAME)
        self._consumed = meter.create_counter(
            "messaging.client.consumed.messages", unit="{message}"
        )
        self._duration = meter.create_histogram("messaging.process.duration", unit="s")
        self._trouble = meter.create_counter("sqlclaimgen.trouble", unit="{event}")
        self._errors: dict[tuple[str, object], BaseException] = {}

    def __call__(self, event: Event) -> None:
        """Take one event. It is called on the worker's own thread: nothing here waits."""
        table: dict[str, AttributeValue] = {
            "messaging.system": _NAME,
            "messaging.destination.name": event.table,
        }
        match event.kind:
            case EventKind.CLAIMED:
                self._consumed.add(event.count or 0, table)
            case EventKind.FAILED if event.error is not None:
                # the settlement that follows ends the span
                self._errors[event.table, event.id] = event.error
            case EventKind.SETTLED | EventKind.LOST | EventKind.UNKNOWN | EventKind.UNSETTLED:
                error = self._errors.pop((event.table, event.id), None) or event.error
                self._span(event, table, error)
                if event.kind is not EventKind.SETTLED:
                    self._trouble.add(1, {**table, "kind": event.kind.value})
            case EventKind.OVERDUE | EventKind.DISCONNECTED | EventKind.CONFLICT | EventKind.WARNED:
                self._trouble.add(1, {**table, "kind": event.kind.value})
            case _:
                pass

    def _span(
        self, event: Event, table: dict[str, AttributeValue], error: BaseException | None
    ) -> None:
        ended = time.time_ns()
        seconds = event.seconds or 0
        outcome = event.outcome or event.kind.value
        span = self._tracer.start_span(
            f"process {event.table}",
            kind=SpanKind.CONSUMER,
            start_time=ended - round(seconds * 1e9),
            attributes={
                **table,
                "messaging.operation.type": "process",
                "messaging.message.id": str(event.id),
                "sqlclaimgen.attempt": event.attempt or 1,
                "sqlclaimgen.outcome": outcome,
            },
        )
        if error is not None:
            span.record_exception(error)
            span.set_status(Status(StatusCode.ERROR, type(error).__name__))
        span.end(ended)
        self._duration.record(seconds, {**table, "sqlclaimgen.outcome": outcome})
