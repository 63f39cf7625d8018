"""That `make bench` runs and counts what was done. No test says how fast anything is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks import __main__ as command
from benchmarks import by_hand, enqueuing, notifying, report, rounds, table_sizes, workers
from benchmarks.case import RATE, Case, Contender, Kind, NotSettled, Result, Standing, timed
from benchmarks.goals import AtMost, OfBestPeer, OfHandWritten
from benchmarks.park import Park
from benchmarks.peers import environment


@pytest.fixture(scope="module")
def park() -> Iterator[Park]:
    with Park() as park:
        yield park


@pytest.fixture(autouse=True)
def no_peers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is installed by tests."""
    monkeypatch.setattr(environment, "why_missing", lambda peer: "not asked for")


def ours_and_hand_written(result: Result) -> dict[str, str | None]:
    assert result.failure is None
    kinds = (Kind.OURS, Kind.HAND, Kind.LIMIT)
    return {
        one.contender.name: one.failure
        for kind in kinds
        for one in result.of(kind)
        if not one.contender.missing
    }


def of_server(found: list[Case], server: str) -> list[Case]:
    return [case for case in found if case.server == server]


@pytest.mark.parametrize("module", [by_hand, workers])
def test_the_cases_on_sqlite_run(park: Park, module: Any) -> None:
    for case in of_server(module.cases(park), "sqlite"):
        result = rounds.run(case, 100, 2)
        assert set(ours_and_hand_written(result).values()) == {None}, report.troubles([result])
        assert not result.failed
        assert all(len(one.rounds[RATE]) == 2 for one in result.of(Kind.OURS))


@pytest.mark.server
@pytest.mark.parametrize("module", [by_hand, workers, enqueuing, notifying])
def test_the_cases_on_postgres_run(park: Park, module: Any) -> None:
    for case in of_server(module.cases(park), "postgres"):
        # pgbench's clients share the rows evenly
        result = rounds.run(case, 100 if "claims of 100" in case.title else 16, 1)
        assert set(ours_and_hand_written(result).values()) == {None}, report.troubles([result])


@pytest.mark.server
@pytest.mark.parametrize("server", ["postgres", "sqlite"])
def test_the_states_of_a_table_are_built_and_claimed_from(
    park: Park, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_sizes, "LARGE", 2_000)
    for case in of_server(table_sizes.cases(park), server):
        result = rounds.run(case, 3, 1)
        assert list(ours_and_hand_written(result).values()) == [None, None]


@pytest.mark.server
def test_servers_are_durable(park: Park) -> None:
    database = park.database("postgres")
    names = ("fsync", "full_page_writes", "synchronous_commit")
    assert [database.value(f"SHOW {name}") for name in names] == ["on", "on", "on"]
    connection = park.table("sqlite", "lease_jobs").connect()
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def contender(kind: Kind, *, left: int = 0, name: str | None = None) -> Contender:
    return Contender(
        kind=kind, name=name or kind.value, run=timed(lambda rows: None), left=lambda: left
    )


def case(*contenders: Contender) -> Case:
    return Case(
        title="a case",
        server="postgres",
        rows=10,
        quick=10,
        contenders=lambda: contenders,
        goals=(OfHandWritten(0.8),),
    )


def test_a_run_that_leaves_rows_is_refused() -> None:
    with pytest.raises(NotSettled, match="a case, ours: 3 rows are not settled"):
        contender(Kind.OURS, left=3).measure("a case", 10)
    result = rounds.run(case(contender(Kind.OURS, left=3), contender(Kind.HAND)), 10, 2)
    assert result.failed
    [line] = report.lines(result)
    assert "failed" in line[1] and line[5] == "not measured"
    assert report.troubles([result]) == [
        "PostgreSQL: a case, ours failed: "
        "benchmarks.case.NotSettled: a case, ours: 3 rows are not settled"
    ]


def test_a_worker_that_leaves_rows_is_refused(park: Park) -> None:
    table = park.table("sqlite", "lease_jobs")

    def half_of_it(rows: int) -> None:
        table.database.execute("DELETE FROM lease_jobs WHERE id % 2 = 0")

    half = Contender(
        kind=Kind.OURS,
        name="half",
        run=timed(half_of_it),
        prepare=table.refill,
        left=table.left,
    )
    with pytest.raises(NotSettled) as refused:
        half.measure("a case", 10)
    assert refused.value.left == 5


def test_the_command_returns_1_when_rows_are_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "cases", lambda park: [case(contender(Kind.OURS, left=1))])
    assert command.main(["quick"]) == 1
    monkeypatch.setattr(command, "cases", lambda park: [case(contender(Kind.OURS))])
    assert command.main(["quick"]) == 0
    assert "not settled" in capsys.readouterr().out


def test_what_is_missing_is_named_with_the_reason() -> None:
    missing = Contender(
        kind=Kind.PEER,
        name="peer",
        run=timed(lambda rows: None),
        left=lambda: 0,
        missing="no network",
    )
    result = rounds.run(case(contender(Kind.OURS), missing), 10, 1)
    text = report.markdown([result], {"date": "today"}, 1)
    assert "peer missing" in text and "- peer is missing: no network" in text
    assert not result.failed


def test_contenders_take_turns() -> None:
    order: list[str] = []

    def counted(name: str) -> Contender:
        return Contender(
            kind=Kind.PEER, name=name, run=timed(lambda rows: order.append(name)), left=lambda: 0
        )

    rounds.run(case(counted("a"), counted("b"), counted("c")), 1, 3)
    assert order == ["a", "b", "c", "b", "c", "a", "c", "a", "b"]


def test_goals_are_judged_by_medians() -> None:
    def standing(kind: Kind, *rates: float) -> Standing:
        one = Standing(contender(kind))
        for rate in rates:
            one.add({RATE: rate, "ms": rate})
        return one

    found = [standing(Kind.OURS, 1, 90, 95), standing(Kind.HAND, 100, 100, 100)]
    medians = report.Judged(Result(case(), found))
    assert OfHandWritten(0.9).holds(medians) is True
    assert OfHandWritten(0.91).holds(medians) is False
    assert OfBestPeer(2).holds(medians) is None
    assert AtMost(89, "ms").holds(medians) is False


@pytest.mark.parametrize(
    ("value", "text"), [(22_712.4, "22,700"), (985.2, "985"), (4.123, "4.12"), (1_000.0, "1,000")]
)
def test_numbers_have_three_figures(value: float, text: str) -> None:
    assert report.number(value) == text


def test_no_list_of_cases_is_empty(park: Park) -> None:
    found = command.cases(park)
    assert {one.server for one in found} == {"postgres", "mysql", "mariadb", "sqlite"}
    assert any(one.quick is None for one in found)
    assert len({(one.server, one.title) for one in found}) == len(found)
