"""Jinja as this project uses it: strict, exact about line ends, templates from the wheel or the checkout."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import jinja2

_PACKAGE = Path(__file__).parent


def folder(name: str) -> Path:
    """A folder of data: inside the package in a wheel, beside it in a checkout."""
    inside = _PACKAGE / name
    return inside if inside.is_dir() else _PACKAGE.parent / name


@functools.cache
def environment(*folders: str) -> jinja2.Environment:
    """Templates from these folders under `templates/`, the first that has one winning."""
    import jinja2

    root = folder("templates")
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader([root / name for name in folders]),
        undefined=jinja2.StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        extensions=["jinja2.ext.do"],
    )
