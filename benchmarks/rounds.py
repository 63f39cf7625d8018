"""Runs the contenders of a case in turn, so that a busy machine slows all of them alike."""

from __future__ import annotations

import traceback
from collections.abc import Callable

from benchmarks.case import Case, Contender, Result, Standing

Progress = Callable[[Case, Contender, int], None]
"""Called before each run with its number, from 1."""


def run(case: Case, rows: int, rounds: int, progress: Progress | None = None) -> Result:
    """All rounds of a case. Whatever a contender raises is its failure, and ends only its own rounds."""
    try:
        contenders = case.contenders()
    except Exception as error:
        return Result(case, [], failure=_words(error))
    standings = [Standing(one) for one in contenders]
    for number in range(rounds):
        for standing in _turned(standings, number):
            if standing.contender.missing or standing.failure:
                continue
            if progress is not None:
                progress(case, standing.contender, number + 1)
            try:
                standing.add(standing.contender.measure(case.title, rows))
            except Exception as error:
                standing.failure = _words(error)
    return Result(case, standings)


def _turned(standings: list[Standing], number: int) -> list[Standing]:
    """The order of one round: another contender begins each time."""
    first = number % max(len(standings), 1)
    return standings[first:] + standings[:first]


def _words(error: Exception) -> str:
    return "".join(traceback.format_exception_only(error)).strip()
