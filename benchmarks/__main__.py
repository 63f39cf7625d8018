"""`python -m benchmarks [quick]`: what `make bench` runs."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from benchmarks import (
    by_hand,
    enqueuing,
    machine,
    notifying,
    report,
    rounds,
    table_sizes,
    workers,
)
from benchmarks.case import Case, Contender, Result
from benchmarks.park import Park

RESULTS = Path(__file__).parent / "RESULTS.md"
ROUNDS = 5
WIDTH = 160
"""Characters of a line where there is no terminal."""


def cases(park: Park) -> list[Case]:
    """Every case, those that fill tables for themselves last."""
    modules = (by_hand, workers, enqueuing, notifying, table_sizes)
    return [case for module in modules for case in module.cases(park)]


def main(arguments: list[str] | None = None) -> int:
    """Returns 1 when something failed: an error, or rows that were not settled."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "mode",
        nargs="?",
        choices=("full", "quick"),
        default="full",
        help="quick: one round with fewer rows of some cases, in under three minutes; writes no file",
    )
    parser.add_argument(
        "--only", metavar="WORD", help="cases with this in their title; writes no file"
    )
    parser.add_argument("--rounds", type=int, help=f"{ROUNDS} unless set, 1 when quick")
    parser.add_argument("--list", action="store_true", help="name the cases and end")
    chosen = parser.parse_args(arguments)
    quick = chosen.mode == "quick"
    console = Console()
    if not console.is_terminal:
        console.width = WIDTH
    with Park() as park:
        found = [
            case
            for case in cases(park)
            if (not quick or case.quick is not None) and (chosen.only or "") in _name(case)
        ]
        if chosen.list:
            for case in found:
                console.print(_name(case), markup=False, highlight=False)
            return 0
        before = machine.load()
        count = chosen.rounds or (1 if quick else ROUNDS)
        results = _run(found, count, quick=quick, console=console)
        facts = {**machine.facts(park.versions()), "load before": before}
    if quick:
        facts["method"] = "quick: one run of each, few rows; good for a first look only"
    report.printed(results, facts, console)
    if not quick and not chosen.only:
        RESULTS.write_text(report.markdown(results, facts, count), encoding="utf-8")
        console.print(f"wrote {RESULTS}", markup=False)
    return 1 if any(result.failed for result in results) else 0


def _run(found: list[Case], count: int, *, quick: bool, console: Console) -> list[Result]:
    results: list[Result] = []
    with console.status("") as status:

        def progress(case: Case, contender: Contender, number: int) -> None:
            status.update(
                f"{len(results) + 1} of {len(found)}: {_name(case)}, {contender.name}, round {number}"
            )

        for case in found:
            rows = case.quick if quick and case.quick is not None else case.rows
            results.append(rounds.run(case, rows, count, progress))
    return results


def _name(case: Case) -> str:
    return f"{case.server}: {case.title}"


if __name__ == "__main__":
    raise SystemExit(main())
