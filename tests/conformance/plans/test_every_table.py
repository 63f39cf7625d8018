"""Plans of every statement, over combinations of everything that a description can switch: each claim
and settlement reads a little of a table that is mostly finished or delayed, whatever was chosen."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator, Mapping, Sequence

import pytest

from sqlclaimgen.description.model import Table
from tests.conformance.harness import unforced
from tests.conformance.plans import switches
from tests.conformance.plans.crowd import Crowd, crowd, numbers
from tests.conformance.plans.judge import faults
from tests.servers import ALL_DIALECTS, Database, ServerPark

LISTED = ("limit", "ids", "held", "held_tokens", "groups", "group_list")


@pytest.fixture(scope="module", params=ALL_DIALECTS)
def place(request: pytest.FixtureRequest, servers: ServerPark) -> Iterator[Database]:
    """A database of each dialect, where one table after another is made."""
    with servers[request.param].database() as database:
        numbers(database)
        yield database


def found(made: Crowd, lengths: Sequence[int]) -> Mapping[str, str]:
    """The faults of all statements of a table."""
    told: dict[str, str] = {}
    for statement in made.plan.statements:
        many = {p.name for p in statement.parameters} & set(LISTED)
        for length in lengths if many else lengths[:1]:
            for fault in faults(made, statement, length):
                told.setdefault(f"{statement.name}({length})", fault)
    made.connection.close()
    return told


def complaint(choice: switches.Choice, told: Mapping[str, str]) -> str:
    return switches.named(choice) + "".join(f"\n-- {name}: {fault}" for name, fault in told.items())


def test_a_selection_with_every_pair_of_settings(place: Database) -> None:
    complaints: list[str] = []
    for choice, table in switches.covering():
        if place.dialect not in table.dialects:
            continue
        told = found(crowd(place, table), (10, 1000))
        if told:
            complaints.append(complaint(choice, told))
    assert not complaints, "\n\n".join(complaints)


def test_a_table_without_its_indexes_is_found_out(place: Database) -> None:
    """The twin of this file: what it counts must condemn claims whose index is gone."""
    condemned = 0
    for choice, table in switches.covering():
        if place.dialect not in table.dialects or condemned == 2:
            continue
        made = crowd(place, table)
        if not any("claim" in use for index in made.plan.indexes for use in index.serves):
            continue
        quote = made.plan.dialect.quote
        of_table = f" ON {quote('jobs')}" if place.dialect in ("mysql", "mariadb") else ""
        for index in made.plan.indexes:
            place.execute(f"DROP INDEX {quote(index.name)}{of_table}")
        claims = [
            s for s in made.plan.statements if s.name.startswith("claim") and ":now" in s.text
        ]
        told = {
            claim.name: list(
                faults(made, dataclasses.replace(claim, text=unforced(claim.text)), 10)
            )
            for claim in claims
            if claim.name != "claim_write"
        }
        made.connection.close()
        assert told, switches.named(choice)
        assert all(told.values()), (switches.named(choice), told)
        condemned += 1
    assert condemned == 2


@pytest.mark.soak
def test_every_combination(place: Database, soak_seconds: float) -> None:
    stop = time.monotonic() + soak_seconds / len(ALL_DIALECTS)
    complaints: list[str] = []
    for choice in switches.every():
        table: Table | None = switches.table(choice)
        if table is None or place.dialect not in table.dialects:
            continue
        told = found(crowd(place, table), (1, 10, 1000))
        if told:
            complaints.append(complaint(choice, told))
        if time.monotonic() > stop:
            break
    assert not complaints, "\n\n".join(complaints)
