"""The take: the row is read again once its key is held, and only then it is the claim's."""

from __future__ import annotations

from typing import Any

import pytest

from sqlclaimgen.runtime import FaultKind, StatementFailed
from sqlclaimgen.runtime.protocols import advisory
from sqlclaimgen.runtime.protocols.held import Memory
from sqlclaimgen.runtime.steps import Begin, Close, Commit, Run
from tests.conformance.advisory.cases import (
    BURIED,
    DELAYED,
    FULL,
    MARKED,
    PLAIN,
    WHOLE,
    on,
    rows,
    scope_of,
    with_sessions,
)
from tests.conformance.harness import Stand, on_cases, substituting
from tests.conformance.stepping import Stepper
from tests.support.refusing import refuse


def claiming(
    stand: Stand, connection: Any = None, module: Any = None, resume: Any = None, **more: Any
) -> Stepper:
    """A claim, one step at a time. `resume`: where the last one stopped."""
    scope = scope_of(stand.case).resuming(resume)
    return Stepper(
        connection or stand.connect(),
        (module or stand.module).QUEUE,
        lambda bound: advisory.claim(bound, scope, 1, **more),
    )


def settled_between(stand: Stand, module: Any) -> Any:
    """A claim whose row another one settles after its statement has read candidates, and before it
    takes the row: the key is won on a finished row (AD-04). Returns what it took."""
    late = claiming(stand, module=module)
    late.stop_before("take" + scope_of(stand.case).suffix)
    # the statement has read its snapshot and won the key; the row's holder is faster by a commit
    finish_elsewhere(stand)
    return late.finish()


def finish_elsewhere(stand: Stand) -> None:
    quote = stand.plan.dialect.quote
    table = quote("jobs")
    if not stand.table.keeps_finished:
        stand.database.execute(f"DELETE FROM {table} WHERE {quote('id')} = 1")
    elif "state" in stand.case.body:
        stand.database.execute(
            f"UPDATE {table} SET {quote('state')} = 'done' WHERE {quote('id')} = 1"
        )
    else:
        column = quote("processed_at")
        stand.database.execute(
            f"UPDATE {table} SET {column} = {quote('run_after')} WHERE {quote('id')} = 1"
        )


@on_cases(*with_sessions(FULL, WHOLE, PLAIN, DELAYED, MARKED))
def test_a_row_settled_between_look_and_lock_is_passed_over(stand: Stand) -> None:
    stand.fill(rows(stand.case, 1))
    connection = stand.connect()
    taken = settled_between(stand, stand.module)
    assert taken.deliveries == [] and not taken.full
    # its key is free again
    stand.fill([{**rows(stand.case, 1)[0], "id": 2}])
    with stand.claim(connection) as claim:
        assert [delivery.id for delivery in claim] == [2]


@on_cases(*with_sessions(FULL, PLAIN))
def test_the_claim_goes_on_with_the_next_row(stand: Stand) -> None:
    stand.fill(
        [{**row, **({"priority": 1} if "priority" in row else {})} for row in rows(stand.case, 2)]
    )
    taken = settled_between(stand, stand.module)
    assert [delivery.id for delivery in taken.deliveries] == [2]


CHANGES = {
    "delayed": "run_after = '2199-01-01'",
    "another group": "queue = 'elsewhere'",
    "another key": "account = 'other'",
    "held back": "held_back = true",
}


@pytest.mark.parametrize("change", CHANGES)
@on_cases(*with_sessions(FULL, MARKED))
def test_the_take_asks_for_all_of_the_condition(stand: Stand, change: str) -> None:
    column = CHANGES[change].partition(" ")[0]
    if f"{column} =" not in stand.case.body:
        return
    stand.fill(rows(stand.case, 1))
    late = claiming(stand)
    late.stop_before("take")
    stand.database.execute(f"UPDATE {stand.plan.dialect.quote('jobs')} SET {CHANGES[change]}")
    taken = late.finish().deliveries
    assert [d.key.rpartition("-")[2] for d in taken] == (["other"] if column == "account" else [])
    assert held_keys(stand) == len(taken)


def held_keys(stand: Stand) -> int:
    """How many advisory locks anybody holds on the stand's database, counted by what is free."""
    if stand.dialect == "postgres":
        return int(
            stand.database.value(
                "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database ="
                " (SELECT oid FROM pg_database WHERE datname = current_database())"
            )
        )
    names = {f"{stand.database.name}.accounts-{row['account']}" for row in stand.rows()}
    # and those of rows that are gone
    names |= {f"{stand.database.name}.accounts-{n}" for n in range(60)}
    return sum(
        stand.database.value("SELECT IS_USED_LOCK(%s) IS NOT NULL", [name]) for name in names
    )


# -- exactly one lock ----------------------------------------------------------------------------------


@on_cases(*with_sessions(FULL, WHOLE, PLAIN, DELAYED, MARKED))
@pytest.mark.parametrize("index", ["index", "sort"])
def test_a_claim_holds_exactly_one_lock(stand: Stand, index: str) -> None:
    stand.fill(rows(stand.case, 41))
    module = drop_indexes(stand) if index == "sort" else stand.module
    connection = stand.connect()
    with stand.claim(connection, module=module) as claim:
        (delivery,) = claim
        assert held_keys(stand) == 1
        # and holds it once: one unlock frees it
        delivery.ack(connection)
        assert held_keys(stand) == 0
        assert free_elsewhere(stand, delivery)


def drop_indexes(stand: Stand) -> Any:
    """Drop all but the primary key. A copy of the module that names none of them."""
    quote = stand.plan.dialect.quote
    for index in stand.plan.indexes:
        on_table = f" ON {quote('jobs')}" if stand.dialect in ("mysql", "mariadb") else ""
        stand.database.execute(f"DROP INDEX {quote(index.name)}{on_table}")
    return stand.unforced()


def free_elsewhere(stand: Stand, delivery: Any) -> bool:
    """Whether another session can have the key of a delivery that is settled."""
    name = expected_lock(stand, delivery)
    if stand.dialect == "postgres":
        return bool(
            stand.database.value(
                "SELECT pg_try_advisory_lock(%s) AND pg_advisory_unlock(%s)", [name, name]
            )
        )
    return bool(stand.database.value("SELECT GET_LOCK(%s, 0) AND RELEASE_LOCK(%s)", [name, name]))


def expected_lock(stand: Stand, delivery: Any) -> Any:
    if stand.dialect == "postgres":
        return stand.database.value("SELECT hashtextextended(%s, 0)", [delivery.key])
    return delivery.key


SETTINGS: tuple[dict[str, str], ...] = (
    {},
    {"enable_indexscan": "off", "enable_bitmapscan": "off", "enable_indexonlyscan": "off"},
    {"enable_sort": "off", "enable_incremental_sort": "off"},
    {"enable_nestloop": "off", "enable_material": "off"},
    {"enable_seqscan": "off"},
    {
        "debug_parallel_query": "on",
        "parallel_setup_cost": "0",
        "parallel_tuple_cost": "0",
        "min_parallel_table_scan_size": "0",
    },
    {"plan_cache_mode": "force_generic_plan"},
    {"jit": "on", "jit_above_cost": "0"},
)


SINCE = {"plan_cache_mode": (12,), "enable_incremental_sort": (13,)}
"""Settings that an older version does not have."""

RENAMED = {"debug_parallel_query": ((16,), "force_parallel_mode")}
"""Settings with the version that named them so, and their name before."""


def named(stand: Stand, setting: str) -> str:
    """A setting as the server of this run calls it."""
    since, before = RENAMED.get(setting, ((), setting))
    return setting if stand.database.server.version_info >= since else before


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: ",".join(s) or "as it is")
@on_cases(on(FULL, "postgres"), on(PLAIN, "postgres"))
def test_one_lock_under_every_plan(stand: Stand, settings: dict[str, str]) -> None:
    stand.fill(rows(stand.case, 500, 40))
    stand.database.execute("ANALYZE")
    connection = stand.connect(autocommit=True)
    version = stand.database.server.version_info
    for name, value in settings.items():
        if version < SINCE.get(name, ()):
            continue
        connection.execute(f"SET {named(stand, name)} = {value}")
    others: list[Any] = []
    for n in range(10):
        with stand.claim(connection) as claim:
            assert len(claim) == 1
            assert held_keys(stand) == 1 + len(others)
            list(claim)
        other = stand.connect()
        others.append(stand.claim(other))
        assert len(others[-1]) == 1, n


@on_cases(on(PLAIN, "postgres"))
def test_a_lock_function_in_the_scan_is_found_out(stand: Stand) -> None:
    # AD-01
    stand.fill(rows(stand.case, 41))
    drop_indexes(stand)

    # the lock function beside the scan's own condition, under a sort
    tried = "AND pg_try_advisory_lock(hashtextextended('accounts-' || t.\"account\", 0))"
    edit = substituting(('ORDER BY t."id"', f'{tried} ORDER BY t."account" DESC'))
    twin = stand.twin(claim=edit)
    claim = stand.claim(stand.connect(), module=twin)
    assert len(claim) == 1
    assert held_keys(stand) == 41


# -- broken statements -----------------------------------------------------------------------------------


@on_cases(*with_sessions(FULL))
def test_a_claim_that_breaks_off_gives_up_the_connection(stand: Stand) -> None:
    # nobody can tell whether the statement had won a key
    stand.fill(rows(stand.case, 3))
    claim = claiming(stand)
    claim.stop_before("claim")
    step = claim.next
    assert isinstance(step, Run)
    claim.session.execute(step)
    assert held_keys(stand) == 1
    claim._advance(lambda: claim._protocol.throw(cancelled(stand)))
    assert isinstance(claim.next, Close)
    with pytest.raises(StatementFailed):
        claim.finish()
    stand.database._wait(lambda: held_keys(stand) == 0, "the key stays", 10)


def cancelled(stand: Stand) -> StatementFailed:
    return StatementFailed("cancelled", table="jobs", kind=FaultKind.BUSY, statement="claim")


@on_cases(*with_sessions(PLAIN))
def test_an_interrupt_in_the_claim_gives_up_the_connection(stand: Stand) -> None:
    stand.fill(rows(stand.case, 3))
    claim = claiming(stand)
    claim.stop_before("claim")
    assert isinstance(claim.next, Run)
    claim.session.execute(claim.next)
    claim._advance(lambda: claim._protocol.throw(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        claim.finish()
    stand.database._wait(lambda: held_keys(stand) == 0, "the key stays", 10)


@on_cases(FULL, PLAIN)
def test_a_refused_claim_leaves_the_connection_as_it_was(stand: Stand) -> None:
    stand.fill(rows(stand.case, 1))
    connection = stand.connect()
    twin = stand.twin(claim=lambda sql: sql.replace("account", "no_such_column"))
    with pytest.raises(StatementFailed) as caught:
        stand.claim(connection, module=twin)
    assert caught.value.statement == "claim"
    with stand.claim(connection) as claim:
        assert len(claim) == 1


@on_cases(FULL, PLAIN)
def test_a_take_that_fails_gives_the_key_back(stand: Stand) -> None:
    stand.fill(rows(stand.case, 1))
    connection = stand.connect()
    twin = stand.twin(take=lambda sql: sql.replace("account", "no_such_column"))
    with pytest.raises(StatementFailed):
        stand.claim(connection, module=twin)
    with stand.claim(stand.connect()) as claim:
        assert len(claim) == 1
        if "attempt" in stand.case.body:
            assert [delivery.number for delivery in claim] == [1]
    with stand.claim(connection) as claim:
        assert len(claim) == 1


@on_cases(*with_sessions(FULL))
def test_a_commit_that_fails_gives_the_key_back(stand: Stand) -> None:
    stand.fill(rows(stand.case, 1))
    claim = claiming(stand)
    claim.stop_before(Commit)
    claim.session.rollback()
    claim._advance(lambda: claim._protocol.throw(cancelled(stand)))
    with pytest.raises(StatementFailed):
        claim.finish()
    assert held_keys(stand) == 0
    with stand.claim(claim.connection) as again:
        assert [delivery.attempt for delivery in again] == [1]


@on_cases(*[on(PLAIN, "mariadb")])
def test_a_null_answer_of_get_lock_is_an_error(stand: Stand) -> None:
    # AD-12: NULL is neither won nor lost. MySQL raises where MariaDB answers NULL
    stand.fill(rows(stand.case, 1))
    twin = stand.twin(
        claim=lambda sql: sql.replace("GET_LOCK(c.candidate_lock, 0)", "GET_LOCK(NULL, 0)")
    )
    connection = stand.connect()
    with pytest.raises(StatementFailed, match="gave no answer"):
        stand.claim(connection, module=twin)
    assert not connection.open


@on_cases(*with_sessions(PLAIN))
def test_locks_are_only_ever_tried(stand: Stand) -> None:
    for statement in stand.plan.statements:
        text = statement.text
        assert "pg_advisory_lock(" not in text
        if "GET_LOCK(" in text:
            assert "GET_LOCK(c.candidate_lock, 0)" in text


# -- exhausted rows --------------------------------------------------------------------------------------


@on_cases(FULL, WHOLE, BURIED)
def test_a_claim_moves_a_row_whose_crashes_used_its_attempts_up(stand: Stand) -> None:
    stand.fill(
        [
            {**row, "attempt": 4 if row["id"] == 1 else 1, "priority": row["id"]}
            for row in rows(stand.case, 2)
        ]
    )
    connection = stand.connect()
    moved = claiming(stand, connection).finish()
    assert moved.deliveries == [] and moved.exhausted == 1 and moved.full
    if stand.case is BURIED:
        row = stand.row(1)
        assert row is not None
        assert (row["queue"], row["attempt"], row["origin"]) == ("dead", 1, "a")
    else:
        (dead,) = stand.rows(dead=True)
        assert (dead["id"], dead["attempt"], dead["reason"]) == (1, 4, "exhausted")
        assert stand.row(1) is None
    with stand.claim(connection) as claim:
        assert [delivery.id for delivery in claim] == [2]


@on_cases(BURIED)
def test_the_group_of_dead_letters_counts_no_attempts(stand: Stand) -> None:
    stand.fill([{"id": 1, "queue": "dead", "account": "7", "priority": 0, "attempt": 9}])
    connection = stand.connect()
    with stand.claim(connection, group="dead") as claim:
        assert [delivery.attempt for delivery in claim] == [9]
    with stand.module.claim_table(connection) as claim:
        assert len(claim) == 0


UNDELAYED = PLAIN.with_(
    name="undelayed",
    body=f"""
    max_attempts = 3
    dead_letter = {{ table = "jobs_dead" }}{PLAIN.body}attempt = {{ role = "attempt" }}
    """,
)
"""A row cannot be delayed."""


@on_cases(UNDELAYED)
def test_a_row_that_was_left_out_meanwhile_is_not_given_up_again(stand: Stand) -> None:
    """Two connections of one worker find a row without an attempt left, whose dead letter is refused."""
    stand.fill(rows(stand.case, 1))
    stand.database.execute("UPDATE jobs SET attempt = 90")
    refuse(stand, "DELETE", {1})
    memory, scope = Memory(), scope_of(stand.case)

    def claim() -> Stepper:
        return Stepper(
            stand.connect(),
            stand.module.QUEUE,
            lambda bound: advisory.claim_one(bound, scope, memory),
        )

    late = claim()
    late.stop_before(Begin)
    assert [refused.id for refused in claim().finish().refused] == [1]
    taken = late.finish()
    assert (taken.deliveries, taken.refused, taken.more) == ([], [], True)
    assert claim().finish().deliveries == []
