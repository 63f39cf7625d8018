"""Errors cross processes: of the same class, with the same fields."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import pickle
from typing import Any

import pytest

from sqlclaimgen.runtime import AlreadyQueued, ClaimError, FaultKind, LeaseLost, Unfinished, errors

_FIELDS: dict[str, dict[str, Any]] = {
    "SchemaMismatch": {"table": "jobs", "statement": "claim", "column": "id"},
    "ServerUnfit": {"table": "jobs", "setting": "binlog_format"},
    "ClocksApart": {"table": "jobs", "seconds": 1.5},
    "StatementFailed": {"table": "jobs", "kind": FaultKind.LOST, "id": 7, "statement": "ack"},
    "AlreadyQueued": {"table": "jobs", "key": "once"},
    "ValueRefused": {"table": "jobs", "column": "note"},
}


def _classes() -> list[type[ClaimError]]:
    found: list[type[ClaimError]] = [ClaimError]
    for kind in found:
        found += [one for one in kind.__subclasses__() if one.__module__ == errors.__name__]
    return found


@pytest.mark.parametrize("kind", _classes(), ids=lambda kind: kind.__name__)
def test_an_error_survives_pickling(kind: Any) -> None:
    named = next((one.__name__ for one in kind.__mro__ if one.__name__ in _FIELDS), "")
    fields = _FIELDS.get(named, {"table": "jobs", "id": 7, "attempt": 2, "statement": "ack"})
    error = kind("it went wrong", **fields)
    error.add_note("a note")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert str(again) == "it went wrong"
    assert vars(again) == vars(error)
    assert {name: getattr(again, name) for name in fields} == fields


def test_an_unfinished_run_survives_pickling() -> None:
    error = Unfinished("they still ran", table="jobs")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (Unfinished, str(error), vars(error))


def test_what_a_claim_had_taken_stays_in_its_process() -> None:
    error = errors.StatementFailed("no answer", table="jobs", kind=FaultKind.LOST)
    error.unanswered = lambda: None
    assert pickle.loads(pickle.dumps(error)).unanswered is None


def _lose() -> None:
    raise LeaseLost("lost", table="jobs", id=7, attempt=2, statement="ack")


def test_an_error_comes_out_of_a_process_pool() -> None:
    spawn = multiprocessing.get_context("spawn")
    with (
        concurrent.futures.ProcessPoolExecutor(1, mp_context=spawn) as pool,
        pytest.raises(LeaseLost) as lost,
    ):
        pool.submit(_lose).result(60)
    assert (lost.value.table, lost.value.id, lost.value.attempt) == ("jobs", 7, 2)


def test_the_key_is_on_the_error() -> None:
    assert AlreadyQueued("queued", table="jobs", key="once").key == "once"
