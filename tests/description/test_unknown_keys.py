from __future__ import annotations

from pathlib import Path

import pytest

from sqlclaimgen.description import DescriptionInvalid, parse

JOBS = """\
format = 1
[table.jobs]
lease = "30s"
[table.jobs.columns]
id = { role = "id", type = "bigint" }
locked_until = {}
"""


def found(text: str) -> list[tuple[str, int, int]]:
    with pytest.raises(DescriptionInvalid) as caught:
        parse(text.encode(), Path("t.toml"))
    return [(each.code, each.line, each.column) for each in caught.value.diagnostics]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [("FILE-EMPTY", 1, 1)]),
        ("# nothing\n\n", [("FILE-EMPTY", 1, 1)]),
        ("format = 1\n", [("NO-TABLES", 1, 1)]),
        ("format = 1\n[tabel.x]\n", [("UNKNOWN-KEY", 2, 2)]),
        (JOBS.replace('"30s"', '"30"'), [("DURATION", 3, 1)]),
        (JOBS.replace('"30s"', "30"), [("DURATION", 3, 1)]),
        (JOBS.replace("lease", "max_atempts"), [("UNKNOWN-KEY", 3, 1)]),
        (JOBS.replace("format = 1", "format = true"), [("WRONG-TYPE", 1, 1)]),
        (JOBS.replace("format = 1", "format = 1.0"), [("WRONG-TYPE", 1, 1)]),
        (JOBS + 'fifo = { type = "text", fifoo = true }\n', [("UNKNOWN-KEY", 7, 25)]),
        (JOBS + 'a.b."c" = 1\n', [("TYPE-MISSING", 7, 1), ("UNKNOWN-KEY", 7, 3)]),
        (JOBS + "lease = '1s'\n", [("WRONG-TYPE", 7, 1)]),
        (JOBS + "[[table.more]]\n", [("WRONG-TYPE", 7, 9)]),
    ],
)
def test_gi_09_nothing_is_ignored(text: str, expected: list[tuple[str, int, int]]) -> None:
    assert found(text) == expected


def test_gi_09_a_role_under_a_wrong_key_is_one_mistake() -> None:
    assert found(JOBS.replace("role", "rolle")) == [("UNKNOWN-KEY", 5, 8)]


def test_gi_09_no_text_gets_an_exception_of_another_kind() -> None:
    for cut in range(len(JOBS)):
        for junk in ("", "\n[table.jobs.columns.id.x]", "\n[[output]]", ' = "', "\nx = [{}]"):
            try:
                parse((JOBS[:cut] + junk).encode(), Path("t.toml"))
            except DescriptionInvalid as error:
                assert error.diagnostics
