"""The page of a table whose names are full of Markdown."""

from __future__ import annotations

from pathlib import Path

from tests.support.generated import generate


def test_names_are_text_wherever_they_stand(tmp_path: Path) -> None:
    name = "[click](https://example.org) *me* <b>"
    made = generate(
        f"""format = 1
[table.jobs]
name = "{name}"
where = '"{name}" > 0'
dialects = ["postgres", "sqlite"]
dead_letter = {{ table = "dead {name}" }}
max_attempts = 3
[table.jobs.columns]
id = {{ role = "id", type = "bigint", generated = true }}
"{name}" = {{ role = "priority", field = "rank" }}
attempt = {{ role = "attempt" }}
state = {{ role = "status", status = {{ pending = "{name}", done = "b", dead = "c" }} }}
locked_until = {{}}
""",
        tmp_path,
    )
    page = (tmp_path / "docs" / "queues" / "jobs.md").read_text("utf-8")
    assert made.description.tables[0].name == name
    bare = page.replace(f"`{name}`", "")
    for line in bare.splitlines():
        if "](https://example.org" not in line:
            continue
        # outside of code each mark of it is escaped
        outside = "".join(line.split("`")[::2])
        assert "[click](" not in outside, line
        assert "<b>" not in outside, line
    assert r"\[click\](https://example.org)" in page
