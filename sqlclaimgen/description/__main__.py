"""Rewrites the files derived from the shapes: `python -m sqlclaimgen.description`.

schemas/tables.schema.json and docs/tables-toml.md are committed; tests compare them.
"""

from __future__ import annotations

from pathlib import Path

from sqlclaimgen.description.reference import reference_text
from sqlclaimgen.description.schema import schema_text

ROOT = Path(__file__).parents[2]

DERIVED = {
    ROOT / "schemas" / "tables.schema.json": schema_text,
    ROOT / "docs" / "tables-toml.md": reference_text,
}

if __name__ == "__main__":
    for path, text in DERIVED.items():
        path.write_text(text(), encoding="utf-8", newline="\n")
