"""Sessions and processes that die at every step: the rows come back at once, and nothing counts twice."""

from __future__ import annotations

import pytest

from tests.conformance.harness import Stand, on_cases
from tests.worker.held.cases import ADVISORY, ROW_LOCK, is_advisory
from tests.worker.held.runs import struck_everywhere


def wanted(stand: Stand) -> set[tuple[str, bool]]:
    """The statements that a run must have been struck at, before and after."""
    names = {"begin", "commit", "claim", "ack", "retry", "dead_letter"}
    if is_advisory(stand.case):
        names |= {"take", "dropkey" if stand.dialect == "sqlite" else "unlock"}
    return {(name, after) for name in names for after in (False, True)}


@on_cases(ROW_LOCK, ADVISORY)
def test_a_session_killed_at_every_step(stand: Stand) -> None:
    assert struck_everywhere(stand, process=False, transactional=False, most=1) >= wanted(stand)


@on_cases(ROW_LOCK, ADVISORY)
def test_a_session_killed_at_every_step_of_a_transactional_handler(stand: Stand) -> None:
    assert struck_everywhere(stand, process=False, transactional=True, most=1) >= wanted(stand)


@on_cases(ROW_LOCK, ADVISORY)
def test_a_process_that_dies_at_every_step(stand: Stand) -> None:
    assert struck_everywhere(stand, process=True, transactional=True, most=1) >= wanted(stand)


@pytest.mark.parametrize("transactional", [False, True], ids=["plain", "transactional"])
@on_cases(ROW_LOCK.with_(dialects=["postgres"]), ADVISORY.with_(dialects=["postgres"]))
def test_the_asyncio_faces(stand: Stand, transactional: bool) -> None:
    struck = struck_everywhere(
        stand, process=False, transactional=transactional, most=1, face="native"
    )
    assert struck >= wanted(stand)


@pytest.mark.soak
@pytest.mark.parametrize("process", [False, True], ids=["session", "process"])
@pytest.mark.parametrize("transactional", [False, True], ids=["plain", "transactional"])
@on_cases(ROW_LOCK, ADVISORY)
def test_at_every_step_however_late(stand: Stand, transactional: bool, process: bool) -> None:
    struck = struck_everywhere(stand, process=process, transactional=transactional, most=4)
    assert struck >= wanted(stand)
