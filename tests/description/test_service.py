from __future__ import annotations

from pathlib import Path

import pytest

from sqlclaimgen.description import DescriptionInvalid, parse
from sqlclaimgen.description.rules import service

SAMPLES = {
    "notify": "notify = true",
    "commit_order": "commit_order = true",
    "mode": 'mode = "exclusive"',
}
PLAIN = {
    "notify": "notify = false",
    "commit_order": "commit_order = false",
}
TABLE = """
[table.jobs.columns]
id = { role = "id", type = "bigint" }
retry_after = { role = "retry_after" }
attempt = { role = "attempt" }
locked_until = { role = "locked_until" }
"""


def text(line: str) -> bytes:
    return f"format = 1\n[table.jobs]\n{line}\n{TABLE}".encode()


@pytest.mark.parametrize("entry", service.NOT_SERVED, ids=lambda entry: ".".join(entry.keys))
def test_a_key_that_is_not_served_yet_says_so(entry: service.NotServed) -> None:
    key = ".".join(entry.keys)
    with pytest.raises(DescriptionInvalid) as caught:
        parse(text(SAMPLES[key]), Path("t.toml"))
    [found] = caught.value.diagnostics
    assert (found.code, found.line, found.column) == ("NOT-SERVED-YET", 3, 1)
    assert found.what == f"`{key}` of table `jobs` is understood, and not served yet"
    assert found.hint == entry.way_out


@pytest.mark.parametrize("key", SAMPLES)
def test_every_such_key_is_understood(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "NOT_SERVED", ())
    [jobs] = parse(text(SAMPLES[key]), Path("t.toml")).tables
    [plain] = parse(text(""), Path("t.toml")).tables
    assert getattr(jobs, key) != getattr(plain, key)


@pytest.mark.parametrize("key", PLAIN)
def test_values_that_mean_the_default_are_served(key: str) -> None:
    assert parse(text(PLAIN[key]), Path("t.toml")).tables


def test_a_vendored_runtime() -> None:
    content = b'format = 1\n[output]\nruntime = "vendored"\n' + TABLE.encode()
    assert parse(content, Path("t.toml")).output.runtime == "vendored"
