"""From a file to its description: bytes, TOML, shape, rules, resolved tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlclaimgen.description import resolving, shaping, source
from sqlclaimgen.description.diagnostics import DescriptionInvalid
from sqlclaimgen.description.findings import Findings

if TYPE_CHECKING:
    from pathlib import Path

    from sqlclaimgen.description.model import Description


def load(path: Path) -> Description:
    """The description in the file `path`. Raises `DescriptionInvalid` with every mistake in it."""
    return parse(source.read(path), path)


def parse(content: bytes, path: Path) -> Description:
    """The description in `content`, reported as the file `path`. Raises `DescriptionInvalid`."""
    read = source.parse(content, path)
    findings = Findings(read.file, read.locations)
    if not read.document:
        findings.error(
            "FILE-EMPTY",
            "the file is empty",
            "Write format = 1 and a [table.jobs], or run `sqlclaimgen init`.",
            (),
        )
        raise DescriptionInvalid(findings.sorted())
    shape = shaping.shape(read.document, findings)
    description = resolving.resolve(shape, path, findings)
    if findings.errors:
        raise DescriptionInvalid(findings.sorted())
    return description
