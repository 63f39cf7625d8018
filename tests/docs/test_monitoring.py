"""The examples that feed Prometheus and OpenTelemetry, fed by a worker."""

from __future__ import annotations

import importlib.util
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind
from prometheus_client import CollectorRegistry, generate_latest

from sqlclaimgen.runtime import Event, EventKind, Worker
from tests.support.generated import generate

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
TABLES = """
format = 1
[table.jobs]
dialects = ["sqlite"]
max_attempts = 1
dead_letter = { table = "jobs_dead" }
[table.jobs.columns]
id = { role = "id", type = "bigint", generated = true }
attempt = { role = "attempt" }
locked_until = { role = "locked_until" }
size = { type = "int" }
"""


def _example(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def work(tmp_path: Path) -> Iterator[Any]:
    """Runs a worker over three rows, one of which fails, and reports to a hook."""
    made = generate(TABLES, tmp_path)
    path = tmp_path / "jobs.db"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.executescript((made.folder / "sql/sqlite/jobs.ddl.sql").read_text())
    jobs = made.module("jobs")
    jobs.enqueue_many(connection, [jobs.New(size=size) for size in (1, 2, 0)])

    def handle(delivery: Any) -> Any:
        if delivery.row.size == 0:
            raise ZeroDivisionError("no size")
        return jobs.Discard() if delivery.row.size == 1 else None

    def run(hook: Any) -> None:
        Worker(
            jobs.QUEUE, handle, connect=lambda: sqlite3.connect(path), on_event=hook, concurrency=2
        ).run(until="empty")

    yield run
    connection.close()


def test_prometheus(work: Any) -> None:
    registry = CollectorRegistry()
    metrics = _example("prometheus_worker").Metrics(registry)
    work(metrics)
    metrics(Event(kind=EventKind.EXHAUSTED, table="jobs", count=2))
    metrics(Event(kind=EventKind.LOST, table="jobs", id=1))

    def value(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(name, {"table": "jobs", **labels})

    assert value("claim_rows_claimed_total") == 3
    assert value("claim_rows_settled_total", outcome="Ack") == 1
    assert value("claim_rows_settled_total", outcome="Discard") == 1
    assert value("claim_handler_failures_total", error="ZeroDivisionError") == 1
    assert value("claim_handler_seconds_count") == 3
    assert (value("claim_claim_seconds_count") or 0) >= 1
    assert (value("claim_last_claim_timestamp_seconds") or 0) > 0
    assert value("claim_rows_exhausted_total") == 2
    assert value("claim_trouble_total", kind="lost") == 1
    assert b"claim_rows_settled_total" in generate_latest(registry)


def test_opentelemetry(work: Any) -> None:
    spans = InMemorySpanExporter()
    tracers = TracerProvider(shutdown_on_exit=False)
    tracers.add_span_processor(SimpleSpanProcessor(spans))
    reader = InMemoryMetricReader()
    meters = MeterProvider([reader], shutdown_on_exit=False)
    telemetry = _example("opentelemetry_worker").Telemetry(
        tracers.get_tracer("test"), meters.get_meter("test")
    )
    work(telemetry)
    telemetry(Event(kind=EventKind.DISCONNECTED, table="jobs", error=OSError()))
    found = sorted(
        spans.get_finished_spans(),
        key=lambda span: str((span.attributes or {})["messaging.message.id"]),
    )
    assert [span.name for span in found] == ["process jobs"] * 3
    assert {span.kind for span in found} == {SpanKind.CONSUMER}
    assert [bool(span.status.is_ok) for span in found] == [True, True, False]
    assert [event.name for event in found[2].events] == ["exception"]
    assert (found[0].attributes or {})["sqlclaimgen.outcome"] == "Discard"
    assert all((span.end_time or 0) >= (span.start_time or 0) for span in found)
    data = reader.get_metrics_data()
    assert data is not None
    totals = {
        metric.name: metric.data
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }
    consumed: Any = totals["messaging.client.consumed.messages"]
    assert [point.value for point in consumed.data_points] == [3]
    duration: Any = totals["messaging.process.duration"]
    assert sum(point.count for point in duration.data_points) == 3
    trouble: Any = totals["sqlclaimgen.trouble"]
    assert [dict(point.attributes)["kind"] for point in trouble.data_points] == ["disconnected"]


def test_they_are_typed() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", *sorted(EXAMPLES.glob("*.py"))],
        cwd=EXAMPLES.parent.parent,
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
