"""docs/commands.md: every command, and every option of it that --help shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sqlclaimgen.cli.app import app

PAGE = (Path(__file__).parents[2] / "docs" / "commands.md").read_text("utf-8")
SECTIONS: dict[str, str] = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S))
COMMANDS = [
    command.name or command.callback.__name__
    for command in app.registered_commands
    if command.callback is not None and not command.hidden
]
OPTION = re.compile(r"(?<![\w-])(--?[a-z][\w-]*)")


def test_every_command_has_a_section() -> None:
    assert sorted(SECTIONS) == sorted(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_in_its_section(command: str) -> None:
    plain = {"NO_COLOR": "1", "COLUMNS": "200", "TERM": "dumb"}
    help = CliRunner().invoke(app, [command, "--help"], env=plain).stdout
    # the first cells of the rows of options: names, before what they take
    shown = {
        name
        for line in help.splitlines()
        if re.match(r"\W*-", line)
        for name in OPTION.findall(line.partition("<")[0].partition("  [")[0])
    }
    rows = [line.split("|")[1] for line in SECTIONS[command].splitlines() if "| `-" in line]
    assert {name for row in rows for name in OPTION.findall(row)} == shown - {"--help", "-h"}
