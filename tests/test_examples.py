"""The committed examples: up to date, well typed, and each of their modules works on its databases."""

from __future__ import annotations

import asyncio
import importlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from typer.testing import CliRunner

from sqlclaimgen.cli.app import app
from sqlclaimgen.description import load
from sqlclaimgen.runtime import AsyncWorker, Worker
from tests.servers import ALL_DIALECTS, Database, on_dialects

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted(path.parent for path in (ROOT / "generated_examples").glob("*/tables.toml"))
NAMES = [path.name for path in EXAMPLES]

if sys.platform == "win32":
    SCRIPTS = Path(sys.executable).parent / "Scripts"
else:
    SCRIPTS = Path(sys.executable).parent


def test_there_are_enough() -> None:
    assert len(EXAMPLES) >= 6
    forms = {table.form for path in EXAMPLES for table in load(path / "tables.toml").tables}
    assert len(forms) == 3


@pytest.mark.parametrize("folder", EXAMPLES, ids=NAMES)
def test_is_up_to_date(folder: Path) -> None:
    done = CliRunner().invoke(app, ["build", "--check", str(folder)])
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("folder", EXAMPLES, ids=NAMES)
def test_names_nothing_of_the_machine(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file() and path.suffix in (".sql", ".md", ".py", ".lock", ".toml"):
            assert str(ROOT) not in path.read_text(encoding="utf-8")
            assert b"\r" not in path.read_bytes()


@pytest.mark.parametrize("folder", EXAMPLES, ids=NAMES)
def test_passes_the_type_checker_and_the_linter(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "project"
    shutil.copytree(folder, target, ignore=shutil.ignore_patterns("__pycache__"))
    for command in (
        ["mypy", "--strict", "--cache-dir", str(ROOT / ".mypy_cache" / "examples"), "."],
        ["ruff", "check", "--isolated", "."],
        ["ruff", "format", "--isolated", "--check", "."],
    ):
        done = subprocess.run(
            [SCRIPTS / command[0], *command[1:]],
            cwd=target,
            env={**os.environ, "MYPYPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr


# -- by hand -----------------------------------------------------------------------------------------

Module = Any


@pytest.fixture
def example(request: pytest.FixtureRequest, database: Database) -> Iterator[Module]:
    """The module of an example, its table installed on `database`."""
    folder = ROOT / "generated_examples" / request.param
    description = load(folder / "tables.toml")
    (table,) = description.tables
    if table.schema:
        database.execute(f"CREATE SCHEMA {table.schema}")
    ddl = folder / description.output.sql / database.dialect / f"{table.key}.ddl.sql"
    database.execute_script(ddl.read_text(encoding="utf-8"))
    before = set(sys.modules)
    sys.path.insert(0, str(folder))
    try:
        importlib.invalidate_caches()
        package = description.output.python.replace("/", ".")
        yield importlib.import_module(f"{package}.{table.key}")
    finally:
        sys.path.remove(str(folder))
        for name in set(sys.modules) - before:
            module = sys.modules[name]
            if str(folder) in str(getattr(module, "__file__", "") or module):
                del sys.modules[name]
        if table.schema and database.dialect == "mariadb":
            database.execute(f"DROP SCHEMA {table.schema}")


def on(name: str, *dialects: str) -> Callable[[Any], Any]:
    """Runs a test with an example on its databases."""

    def mark(test: Any) -> Any:
        return on_dialects(*(dialects or ALL_DIALECTS))(
            pytest.mark.parametrize("example", [name], indirect=True)(test)
        )

    return mark


@on("minimal", "postgres", "mysql", "mariadb")
def test_minimal(example: Module, database: Database) -> None:
    connection = database.connect()
    first, second = example.enqueue_many(
        connection, [example.New(payload={"n": n}) for n in range(2)]
    )
    connection.commit()
    with example.claim(connection, limit=2) as deliveries:
        assert [delivery.row.payload for delivery in deliveries] == [{"n": 0}, {"n": 1}]
        for delivery in deliveries:
            delivery.retry(connection) if delivery.id == first else delivery.discard(connection)
    assert database.value("SELECT COUNT(*) FROM minimal") == 1
    with example.claim(connection) as deliveries:
        for delivery in deliveries:
            assert (delivery.id, delivery.attempt if hasattr(delivery, "attempt") else 1) == (
                first,
                1,
            )
            delivery.ack(connection)
    assert str(example.stats(connection).due) == "0"
    assert second


@on("mail_outbox", "postgres", "mysql", "mariadb")
def test_mail_outbox(example: Module, database: Database) -> None:
    from_example = importlib.import_module("mail.messages")
    message = from_example.Message("Hello", "Dear Ada", [from_example.Attachment("a.pdf", "k1")])
    connection = database.connect()
    new = example.New(recipient="ada@example.org", message=message, once="welcome-7")
    example.enqueue(connection, new)
    connection.commit()
    with pytest.raises(example._runtime.AlreadyQueued):
        example.enqueue(connection, new)
    connection.rollback()
    with example.claim(connection) as deliveries:
        for delivery in deliveries:
            assert delivery.row.message == message
            delivery.retry_after(connection, timedelta(0), "greylisted")
    with example.claim(connection) as deliveries:
        for delivery in deliveries:
            assert (delivery.attempt, delivery.row.last_error) == (2, "greylisted")
            delivery.ack(connection)
    assert database.value("SELECT COUNT(*) FROM mail_outbox WHERE sent_at IS NOT NULL") == 1
    assert example.enqueue(connection, new)  # the key is free once the mail is sent
    connection.commit()


@on("report_jobs")
def test_report_jobs(example: Module, database: Database) -> None:
    models = importlib.import_module("reports.models")
    report = models.Report(7, date(2026, 1, 1), date(2026, 2, 1), models.Layout.SHEET)
    connection = database.connect()
    new = example.New(queue="pdf", customer="acme", payload=report, remark="urgent", urgency=-1)
    (id,) = example.enqueue_many(connection, [new])
    connection.commit()
    with example.claim(connection, group="pdf", limit=10) as deliveries:
        for delivery in deliveries:
            assert (delivery.row.payload, delivery.row.remark) == (report, "urgent")
            delivery.dead_letter(connection, "rejected", "no such customer")
    stats = example.stats(connection, group="pdf")
    assert (str(stats.due), str(stats.in_work), str(stats.dead)) == ("0", "0", "1")
    assert example.redrive(connection, limit=10) == [id]
    with example.claim_table(connection) as deliveries:
        for delivery in deliveries:
            assert (delivery.id, delivery.attempt) == (id, 1)
            assert example.extend(connection, [delivery]) == []
            delivery.ack(connection)
    assert example.purge(connection, older_than=timedelta(days=30)) == 0


@on("payouts")
def test_payouts(example: Module, database: Database) -> None:
    models = importlib.import_module("money.models")
    connection, other = database.connect(), database.connect()
    for n in range(3):
        new = example.New(id=UUID(int=n + 1), account="a" if n < 2 else "b", amount=Decimal("1.50"))
        example.enqueue(connection, new)
        connection.commit()
    with example.claim(connection) as first, example.claim(other) as second:
        (one,), (two,) = list(first), list(second)
        assert {one.row.account, two.row.account} == {"a", "b"}
        assert one.row.currency is models.Currency.EUR
        assert one.row.amount == Decimal("1.50")
        one.ack(connection)
        two.ack(other)
    with example.claim(connection) as deliveries:
        (last,) = list(deliveries)
        assert last.row.account == "a"
        last.dead_letter(connection, "closed account")
    assert example.redrive(connection, ids=[last.id]) == [last.id]


@on("ledger")
def test_ledger(example: Module, database: Database) -> None:
    connection, other = database.connect(), database.connect()
    rows = [example.New(account=n % 2, cents=100 * n) for n in range(4)]
    ids = example.enqueue_many(connection, rows)
    connection.commit()
    with example.claim(connection, group=0) as deliveries:
        (head,) = list(deliveries)
        assert head.id == ids[0]
        with example.claim(other, group=0) as nothing:
            assert len(nothing) == 0
        head.ack(connection)
    with example.claim(connection, group=0) as deliveries:
        assert [delivery.id for delivery in deliveries] == [ids[2]]


@on("legacy")
def test_legacy(example: Module, database: Database) -> None:
    connection = database.connect()
    fields = dict.fromkeys(example.New.__dataclass_fields__)
    assert set(fields) == {"Job_No", "class_", "reply_to"}
    example.enqueue(connection, example.New(Job_No="J 1", class_="Invoice", reply_to=None))
    connection.commit()
    with example.claim(connection) as deliveries:
        for delivery in deliveries:
            assert (delivery.id, delivery.row.class_) == ("J 1", "Invoice")
            delivery.dead_letter(connection, "rejected", "it's 100 % wrong")
    assert example.redrive(connection, limit=1) == ["J 1"]
    with example.claim(connection) as deliveries:
        for delivery in deliveries:
            assert delivery.row.last_error == "it's 100 % wrong"
            delivery.ack(connection)
    assert example.purge(connection, older_than=timedelta(0)) <= 1


@on("webhooks", "postgres", "mariadb")
def test_webhooks(example: Module, database: Database) -> None:
    connection = database.connect()
    before = datetime.now(UTC)
    id = example.enqueue(connection, example.New(target="acme", body=[1, 2], headers={"x-id": "7"}))
    connection.commit()
    with example.claim(connection, group="acme") as deliveries:
        for delivery in deliveries:
            assert delivery.row.headers == {"x-id": "7"}
            assert delivery.row.due >= before - timedelta(seconds=5)
            delivery.dead_letter(connection, error="410 Gone")
    with example.claim(connection, group="escalated") as deliveries:
        assert [delivery.id for delivery in deliveries] == [id]
    assert example.redrive(connection, ids=[id]) == [id]
    with example.claim(connection, group="acme") as deliveries:
        for delivery in deliveries:
            delivery.ack(connection)


# -- by workers --------------------------------------------------------------------------------------

NEW: dict[str, tuple[tuple[str, ...], Callable[[Module, int], Any], list[Any] | None]] = {
    "minimal": (
        ("postgres", "mysql", "mariadb"),
        lambda example, n: example.New(payload={"n": n}),
        None,
    ),
    "mail_outbox": (
        ("postgres", "mysql", "mariadb"),
        lambda example, n: example.New(
            recipient=f"{n}@example.org",
            message=importlib.import_module("mail.messages").Message("Hello", str(n), []),
            once=f"once-{n}",
        ),
        None,
    ),
    "report_jobs": (
        ALL_DIALECTS,
        lambda example, n: example.New(
            queue="pdf" if n % 2 else "csv",
            customer="acme",
            payload=importlib.import_module("reports.models").Report(
                n,
                date(2026, 1, 1),
                date(2026, 2, 1),
                importlib.import_module("reports.models").Layout.SHEET,
            ),
        ),
        ["csv", "pdf"],
    ),
    "payouts": (
        ALL_DIALECTS,
        lambda example, n: example.New(
            id=UUID(int=n + 1), account="ab"[n % 2], amount=Decimal("1.50")
        ),
        None,
    ),
    "ledger": (ALL_DIALECTS, lambda example, n: example.New(account=n % 2, cents=n), None),
    "legacy": (
        ALL_DIALECTS,
        lambda example, n: example.New(Job_No=f"J {n}", class_="Invoice", reply_to=None),
        None,
    ),
    "webhooks": (
        ("postgres", "mariadb"),
        lambda example, n: example.New(target="acme", body=[n], headers={}),
        ["acme"],
    ),
}
"""Of each example: its databases, a row to enqueue, and the groups a worker is given."""


def test_no_example_is_left_out() -> None:
    assert sorted(NEW) == NAMES


@pytest.mark.parametrize(
    ("example", "database"),
    [(name, dialect) for name, (dialects, _, _) in NEW.items() for dialect in dialects],
    indirect=True,
)
def test_drives_both_workers(
    request: pytest.FixtureRequest, example: Module, database: Database
) -> None:
    name = request.node.callspec.params["example"]
    _, new, groups = NEW[name]
    connection = database.connect()
    plain: list[Any] = []
    awaited: list[Any] = []

    async def handle(delivery: Any) -> None:
        await asyncio.sleep(0)
        awaited.append(delivery.row)

    def enqueue(numbers: range) -> None:
        example.enqueue_many(connection, [new(example, n) for n in numbers])
        connection.commit()

    enqueue(range(4))
    Worker(
        example.QUEUE,
        lambda delivery: plain.append(delivery.row),
        connect=database.connect,
        groups=groups,
        concurrency=2,
    ).run(until="empty")
    enqueue(range(4, 8))
    worker = AsyncWorker(
        example.QUEUE, handle, connect=database.connect, groups=groups, concurrency=2
    )
    asyncio.run(worker.run(until="empty"))
    assert (len(plain), len(awaited)) == (4, 4)
    assert all(isinstance(row, example.Row) for row in (*plain, *awaited))
