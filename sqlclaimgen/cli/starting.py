"""`init`: a first description, with everything in it explained."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlclaimgen.cli import console
from sqlclaimgen.cli.console import FINE
from sqlclaimgen.cli.described import DEFAULT
from sqlclaimgen.description import parse
from sqlclaimgen.templating import environment

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from sqlclaimgen.description.model import Form


def init(path: Path, form: Form, dialects: Sequence[str]) -> int:
    """Write a new description. Returns the exit code."""
    if path.is_dir():
        path = path / DEFAULT
    template = environment("init").get_template("tables.toml.j2")
    text = template.render(form=form.value, dialects=list(dialects))
    # what is written builds: a form that a database lacks is refused here
    parse(text.encode(), path)
    try:
        with open(path, "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        console.fail(f"{path} is there already", "Edit it, or name another file.")
    console.out(f"wrote {path}: edit it, then run `sqlclaimgen build{_argument(path)}`")
    return FINE


def _argument(path: Path) -> str:
    return "" if str(path) == DEFAULT else f" {path}"
