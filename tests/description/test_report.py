from __future__ import annotations

import json

from sqlclaimgen.description import Diagnostic, report

FOUND = (
    Diagnostic("a,b:c.toml", 12, 3, "UNKNOWN-KEY", "100% `leese`\nis no key", "Did you mean it?"),
    Diagnostic("t.toml", 1, 1, "FIFO-ORDER", "ids", "Sort.", "warning"),
)


def test_text_is_two_lines_each() -> None:
    assert report.text(FOUND[1:]) == ("t.toml:1:1: warning[FIFO-ORDER]: ids\n    hint: Sort.\n")
    assert report.text(()) == ""


def test_json_is_an_array_of_objects() -> None:
    assert json.loads(report.as_json(FOUND)) == [
        {
            "file": "a,b:c.toml",
            "line": 12,
            "column": 3,
            "code": "UNKNOWN-KEY",
            "what": "100% `leese`\nis no key",
            "hint": "Did you mean it?",
            "severity": "error",
        },
        {
            "file": "t.toml",
            "line": 1,
            "column": 1,
            "code": "FIFO-ORDER",
            "what": "ids",
            "hint": "Sort.",
            "severity": "warning",
        },
    ]
    assert json.loads(report.as_json(())) == []


def test_github_annotations_are_escaped() -> None:
    assert report.github(FOUND) == (
        "::error file=a%2Cb%3Ac.toml,line=12,col=3,title=UNKNOWN-KEY"
        "::100%25 `leese`%0Ais no key%0ADid you mean it?\n"
        "::warning file=t.toml,line=1,col=1,title=FIFO-ORDER::ids%0ASort.\n"
    )
