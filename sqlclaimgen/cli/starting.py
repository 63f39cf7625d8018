"""`init`: a first description, with everything in it explained."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlclaimgen.cli import console
from sqlclaimgen.cli.console import FINE
from sqlclaimgen.cli.described import DEFAULT
from sqlclaimgen.description.model import Form
from sqlclaimgen.dialects import DIALECTS
from sqlclaimgen.templating import environment

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def init(path: Path, form: Form, dialects: Sequence[str]) -> int:
    """Write a new description. Returns the exit code."""
    if path.is_dir():
        path = path / DEFAULT
    names = list(dict.fromkeys(dialects))
    _check(form, names)
    template = environment("init").get_template("tables.toml.j2")
    text = template.render(form=form.value, dialects=names)
    try:
        with open(path, "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        console.fail(f"{path} is there already", "Edit it, or name another file.")
    except FileNotFoundError:
        console.fail(f"the folder {path.parent} is not there", "Make it first, or name another.")
    console.out(f"wrote {path}: edit it, then run `sqlclaimgen build{_argument(path)}`")
    return FINE


def _check(form: Form, dialects: Sequence[str]) -> None:
    """Refuse what would not build: a database that is not served, a form that one lacks."""
    for name in dialects:
        if name not in DIALECTS:
            console.fail(
                f"there is no dialect `{name}`", f"Add --dialect, one of {', '.join(DIALECTS)}."
            )
        can = DIALECTS[name].row_lock
        if form is Form.ROW_LOCK and not can:
            console.fail(
                f"--form {form.value} and --dialect {name} do not go together: {can.reason}",
                f"Write --form {Form.LEASE.value} or --form {Form.ADVISORY_LOCK.value}, "
                "or another --dialect.",
            )


def _argument(path: Path) -> str:
    return "" if str(path) == DEFAULT else f" {path}"
