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
            "what": "100% `leese`\\nis no key",
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
        "::100%25 `leese`\\nis no key%0ADid you mean it?\n"
        "::warning file=t.toml,line=1,col=1,title=FIFO-ORDER::ids%0ASort.\n"
    )


def test_a_finding_is_one_line_without_control_characters_and_no_page() -> None:
    told = "\n::warning file=x::pwned\x1b[31m\u202e"
    found = Diagnostic("a\nb.toml", 1, 1, "X", told + "y" * 70000 + "the end", told)
    assert "\n" not in found.what + found.hint
    assert len(found.what) < 600
    assert found.what.endswith("the end")
    text = report.text([found])
    assert text.count("\n") == 2
    assert text.startswith("a\\nb.toml:1:1: error[X]: \\n::warning file=x::pwned\\x1b[31m\\u202e")
    assert not set(text) & {"\x1b", "\u202e"}
