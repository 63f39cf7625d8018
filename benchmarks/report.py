"""The results as a table: in Markdown for RESULTS.md, or on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from benchmarks.case import RATE, Kind, Result, Standing

_SERVERS = {
    "postgres": "PostgreSQL",
    "mysql": "MySQL",
    "mariadb": "MariaDB",
    "sqlite": "SQLite",
}
COLUMNS = ("work", "ours", "hand-written", "ratio", "goal", "holds", "limit and peers")

METHOD = """\
Every contender works off the same rows: a lease (or the form that is named), a group, a priority, a
time before which the row is not due, 64 bytes of payload; handlers do nothing. Hand-written means
the loop that a good programmer writes: one statement claims n rows, one settles all of them.
Servers run with durability on (`fsync`, `synchronous_commit`, `innodb_flush_log_at_trx_commit = 1`,
the binary log as the server has it by itself; SQLite in WAL with `synchronous = FULL`), the client
on the same machine. The contenders of a case run in turn, another one first in each round; the
median of {rounds} is given, in brackets the least and the most. Rates are rows a second. The time
of ours and of the hand-written loops is that of the whole run, connecting and start-up checks
included; that of a peer is from its first job to its last; that of `pgbench` is its own figure.
After every run the rows are counted: what leaves one unsettled is a failure and has no figure. A
goal is a mark and fails nothing. Peers run in processes and an environment of their own, on tables
of their own.
"""


@dataclass(frozen=True, slots=True)
class Judged:
    """The medians of a result, as goals see them."""

    result: Result

    def ours(self, figure: str) -> float | None:
        return self.result.first(Kind.OURS, figure)

    def hand_written(self, figure: str) -> float | None:
        return self.result.first(Kind.HAND, figure)

    def best_peer(self, figure: str) -> float | None:
        return self.result.best(Kind.PEER, figure)


def lines(result: Result) -> list[tuple[str, ...]]:
    """The rows of the table for one case: one for each figure."""
    return [_line(result, figure) for figure in result.case.figures]


def _line(result: Result, figure: str) -> tuple[str, ...]:
    case, judged = result.case, Judged(result)
    title = f"{_SERVERS[case.server]}: {case.title}"
    if figure != RATE:
        title += f", {figure}"
    if result.failure is not None:
        return (title, "failed", *[""] * (len(COLUMNS) - 2))
    goals = [goal for goal in case.goals if goal.figure == figure]
    marks = {True: "yes", False: "no", None: "not measured"}
    ours, hand = judged.ours(figure), judged.hand_written(figure)
    return (
        title,
        _cells(result.of(Kind.OURS), figure, named=False),
        _cells(result.of(Kind.HAND), figure, named=False),
        f"{ours / hand:.2f}" if ours and hand else "",
        "; ".join(goal.text() for goal in goals),
        "; ".join(marks[goal.holds(judged)] for goal in goals),
        _cells([*result.of(Kind.LIMIT), *result.of(Kind.PEER)], figure),
    )


def _cells(standings: Iterable[Standing], figure: str, *, named: bool = True) -> str:
    return "; ".join(_cell(one, figure, named=named) for one in standings)


def _cell(standing: Standing, figure: str, *, named: bool) -> str:
    contender, median, spread = standing.contender, standing.median(figure), standing.spread(figure)
    if contender.missing:
        text = "missing"
    elif median is None:
        text = "failed"
    else:
        text = number(median)
        if spread is not None:
            text += f" ({number(spread[0])} to {number(spread[1])})"
    return f"{contender.name} {text}" if named or contender.name != contender.kind.value else text


def number(value: float) -> str:
    """Three figures that mean something: 22,700, 985, 4.12."""
    if value >= 1000:
        size = 10 ** (len(str(int(value))) - 3)
        return f"{round(value / size) * size:,}"
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def troubles(results: Iterable[Result]) -> list[str]:
    """What failed and what is missing, with the reason, in sentences."""
    found: dict[str, None] = {}
    for result in results:
        title = f"{_SERVERS[result.case.server]}: {result.case.title}"
        if result.failure is not None:
            found[f"{title} failed: {result.failure}"] = None
        for standing in result.standings:
            name = standing.contender.name
            if standing.contender.missing:
                found[f"{name} is missing: {standing.contender.missing}"] = None
            elif standing.failure is not None:
                found[f"{title}, {name} failed: {standing.failure}"] = None
    return list(found)


def markdown(results: Iterable[Result], facts: Mapping[str, str], rounds: int) -> str:
    """The whole of RESULTS.md."""
    results = list(results)
    table = [
        COLUMNS,
        tuple("---" for _ in COLUMNS),
        *(row for one in results for row in lines(one)),
    ]
    parts = [
        "# Benchmarks",
        "Written by `make bench`: run that instead of editing this file.",
        "\n".join(f"- {name}: {value}" for name, value in facts.items()),
        METHOD.format(rounds=rounds).rstrip(),
        "\n".join(f"| {' | '.join(_escaped(cell) for cell in row)} |" for row in table),
    ]
    if found := troubles(results):
        parts.append("\n".join(f"- {_escaped(one)}" for one in found))
    return "\n\n".join(parts) + "\n"


def _escaped(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def printed(results: Iterable[Result], facts: Mapping[str, str], console: Console) -> None:
    """The same on a terminal."""
    results = list(results)
    table = Table(*COLUMNS)
    for result in results:
        for row in lines(result):
            table.add_row(*row)
    for name, value in facts.items():
        console.print(f"{name}: {value}", markup=False, highlight=False)
    console.print(table)
    for one in troubles(results):
        console.print(one, style="red", markup=False)
