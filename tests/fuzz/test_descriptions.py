"""Random descriptions: only the project's own refusals, and output that holds no text unquoted.

make fuzz CASES=200000       many; FROM=1000000 begins elsewhere
FUZZ_CASE=4711 pytest tests/fuzz -m "" -k one      one again, with its text
"""

from __future__ import annotations

import dataclasses
import os
import time

import pytest

from sqlclaimgen.description import Diagnostic, parse
from sqlclaimgen.rendering import plans
from tests.fuzz import properties
from tests.fuzz.grammar import case
from tests.fuzz.properties import Broken, check

SHARES = 8
"""The cases are split into so many tests, which run beside each other."""

SECONDS = 7.0
"""What each share may take in `make test`: together a minute."""

VALID = 0.06
"""The share of cases that nothing is broken in."""

WITH_FILES, THOROUGH = 3, 11
"""Of so many cases one has its files rendered, and one is looked at in full."""


def one(number: int, *, whole: bool = False) -> bool:
    """Check a case; `whole`: with every property. What it finds names the case and shows its text."""
    content = case(number, VALID)
    try:
        return check(
            content,
            files=whole or number % WITH_FILES == 0,
            thorough=whole or number % THOROUGH == 0,
        )
    except Exception as error:
        shown = content.decode("utf-8", "backslashreplace")
        kind = "" if isinstance(error, Broken) else f"{type(error).__name__}: "
        raise Broken(f"case {number}: {kind}{str(error)[:3000]}\n{shown[:6000]}") from error


@pytest.mark.parametrize("share", range(SHARES))
def test_some_descriptions(share: int) -> None:
    until = time.monotonic() + SECONDS
    number, valid = share, 0
    while time.monotonic() < until or number < 40 * SHARES:
        valid += one(number)
        number += SHARES
    assert valid > 0


@pytest.mark.fuzz
@pytest.mark.timeout(0)
@pytest.mark.parametrize("share", range(SHARES))
def test_many_descriptions(share: int) -> None:
    first, cases = int(os.environ.get("FUZZ_FROM", "0")), int(os.environ["FUZZ_CASES"])
    valid = sum(one(number) for number in range(first + share, first + cases, SHARES))
    print(f"{cases // SHARES} cases, {valid} of them valid")
    assert valid > cases // SHARES // 100


def test_a_fault_is_found() -> None:
    """The properties refuse what they are for: a text that is SQL, a control character, a lost place."""
    content = b"""
format = 1
[table.jobs]
dialects = ["sqlite"]
[table.jobs.columns]
id = { role = "id", type = "bigint", generated = true }
locked_until = { role = "locked_until" }
zqx = { type = "text" }
"""
    assert check(content)
    (plan,) = plans(parse(content, properties.FILE).tables[0])
    claim = plan.statements[0]
    for text in ("SELECT 1; SELECT zqx'", "SELECT 1 FROM zqx-1", "SELECT nowhere FROM jobs"):
        twin = dataclasses.replace(plan, statements=(dataclasses.replace(claim, text=text),))
        with pytest.raises(Broken):
            properties.check_sqlite(twin)
            properties.check_quoting(twin)
            properties.check_parses(twin)
    with pytest.raises(Broken, match="twice"):
        properties.check_names(dataclasses.replace(plan, statements=(claim, claim)))
    for wrong in (
        Diagnostic("tables.toml", 0, 1, "CODE", "what", "hint"),
        Diagnostic("tables.toml", 1, 1, "code", "what", "hint"),
        Diagnostic("tables.toml", 99, 1, "CODE", "what", "hint"),
        Diagnostic("tables.toml", 1, 1, "CODE", "", "hint"),
    ):
        with pytest.raises(Broken):
            properties.check_diagnostics((wrong,), content)


@pytest.mark.fuzz
def test_one_case_again() -> None:
    number = os.environ.get("FUZZ_CASE")
    if number is None:
        pytest.skip("FUZZ_CASE names the case")
    print(case(int(number), VALID).decode("utf-8", "backslashreplace"))
    one(int(number), whole=True)
