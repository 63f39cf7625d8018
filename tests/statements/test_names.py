"""Names made here: within the limit, and never two alike (GI-05)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlclaimgen.dialects import DIALECTS
from sqlclaimgen.statements.names import bounded

STEMS = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=80)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_names_fit_and_tell_tables_apart(dialect: str) -> None:
    limit = DIALECTS[dialect].name_limit

    @given(STEMS, STEMS, st.sampled_from(["claim", "claim_table", "dedupe"]))
    def check(one: str, two: str, suffix: str) -> None:
        names = [bounded(stem, suffix, DIALECTS[dialect]) for stem in (one, two)]
        assert all(limit.length(name) <= limit.count for name in names)
        assert (names[0] == names[1]) is (one == two)
        assert all(name.endswith(f"_{suffix}") for name in names)

    check()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_long_names_that_differ_at_the_end_stay_apart(dialect: str) -> None:
    limit = DIALECTS[dialect].name_limit.count
    stems = ["x" * (limit - 3) + end for end in ("a", "b")] + ["é" * (limit - 3)]
    names = {bounded(stem, "claim", DIALECTS[dialect]) for stem in stems}
    names |= {bounded(stem, "claim_table", DIALECTS[dialect]) for stem in stems}
    assert len(names) == 6


def test_a_short_name_is_left_alone() -> None:
    assert bounded("jobs", "claim", DIALECTS["postgres"]) == "jobs_claim"


def test_the_limit_is_exact() -> None:
    postgres = DIALECTS["postgres"]
    assert bounded("x" * 57, "claim", postgres) == "x" * 57 + "_claim"
    cut = bounded("x" * 58, "claim", postgres)
    assert len(cut) == 63 and cut.startswith("x" * 40)
