"""docs/faults.md: every entry once, and every test that it names exists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "faults.md"

COUNTS = {
    "DD": 15,
    "WC": 9,
    "LR": 6,
    "FO": 10,
    "ST": 10,
    "DL": 9,
    "AD": 12,
    "SP": 5,
    "TZ": 8,
    "DR": 4,
    "SH": 5,
    "DE": 4,
    "GI": 11,
    "N-": 20,
    "A-": 3,
    "B-": 5,
    "C-": 8,
    "D-": 2,
    "E-": 2,
    "F-": 13,
    "G-A": 7,
    "G-B": 11,
    "G-C": 18,
    "G-D": 12,
    "G-E": 12,
}
"""How many entries each kind has."""

ROW = re.compile(r"\| ((?:[A-Z]{2}|N)-\d\d) \| (.+?) \| (.+) \| (.+) \|")
FOUND = re.compile(r"\| ((?:[A-F]-\d+|G-[A-E]\d+)) \| (.+?) \| (.+) \|")
"""What was found by trying this project itself: no reports."""


def rows() -> list[tuple[str, str]]:
    lines = [
        line for line in PAGE.read_text("utf-8").splitlines() if re.match(r"\| [A-Z]{1,2}-", line)
    ]
    matches = [ROW.fullmatch(line) or FOUND.fullmatch(line) for line in lines]
    assert all(matches), [line for line, match in zip(lines, matches, strict=True) if not match]
    return [(match[1], match.groups()[-1]) for match in matches if match]


def test_every_entry_is_there_once() -> None:
    entries = [entry for entry, _ in rows()]
    assert len(entries) == len(set(entries))
    counts = {kind: sum(entry.startswith(kind) for entry in entries) for kind in COUNTS}
    assert counts == COUNTS


def test_every_test_named_exists() -> None:
    for entry, here in rows():
        named = re.findall(r"\]\(\.\./(tests/[^)]+)\) `(test_\w+)`", here)
        assert named or here.startswith(("Cannot ", "None: ")), (
            f"{entry} names no test and gives no reason"
        )
        for path, test in named:
            text = (ROOT / path).read_text("utf-8")
            assert re.search(rf"^(async )?def {test}\(", text, re.MULTILINE), f"{path}::{test}"


def test_every_report_is_a_link() -> None:
    for line in PAGE.read_text("utf-8").splitlines():
        if match := ROW.fullmatch(line):
            assert re.search(r"\]\(https://[^)]+\)", match[3]), match[1]
