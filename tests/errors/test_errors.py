"""Every refusal in full: a description beside the text it gives."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import sqlclaimgen.description
from sqlclaimgen.description import DescriptionInvalid, parse, report
from sqlclaimgen.description.rules import service

HERE = Path(__file__).parent
CASES = sorted(path.stem for path in HERE.glob("*.toml"))

ELSEWHERE = {
    "COLUMNS": "tests/conformance/test_limits.py",
    "FILE-NAME": "tests/description/test_source.py",
    "FILE-MISSING": "tests/description/test_source.py",
    "FILE-UNREADABLE": "tests/description/test_source.py",
    "NOT-SERVED-YET": "tests/description/test_service.py",
}
"""Codes that no text of a description alone provokes, and where they are tested."""


@pytest.fixture(autouse=True)
def served(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys not served yet are checked like the others: these texts stay when they are served."""
    monkeypatch.setattr(service, "NOT_SERVED", ())


def found(case: str) -> str:
    path = HERE / f"{case}.toml"
    try:
        description = parse(path.read_bytes(), Path(path.name))
    except DescriptionInvalid as error:
        return report.text(error.diagnostics)
    return report.text(description.warnings)


@pytest.mark.parametrize("case", CASES)
def test_refusal(case: str) -> None:
    assert found(case) == (HERE / f"{case}.txt").read_text(encoding="utf-8")


def test_every_text_has_its_description() -> None:
    assert sorted(path.stem for path in HERE.glob("*.txt")) == CASES


def codes_in_source() -> set[str]:
    """Codes stand first where something is reported, or first in a tuple or an alternative."""
    package = Path(sqlclaimgen.description.__file__).parent
    codes: set[str] = set()
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            operands: list[ast.expr] = []
            match node:
                case ast.Call(func=ast.Attribute(attr="error" | "warning"), args=args):
                    operands = args
                case ast.Call(func=ast.Name(id="refusal" | "_invalid"), args=args):
                    operands = args
                case ast.Tuple(elts=elts):
                    operands = elts[:1]
                case ast.BoolOp(values=operands):
                    pass
                case _:
                    pass
            codes |= {
                operand.value
                for operand in operands
                if isinstance(operand, ast.Constant)
                and isinstance(operand.value, str)
                and re.fullmatch(r"[A-Z]{2,}(-[A-Z]+)*", operand.value)
            }
    return codes


def test_every_code_is_provoked() -> None:
    texts = "".join((HERE / f"{case}.txt").read_text(encoding="utf-8") for case in CASES)
    provoked = set(re.findall(r" (?:error|warning)\[([A-Z-]+)\]: ", texts))
    assert len(codes_in_source()) > 50
    assert codes_in_source() - provoked == set(ELSEWHERE)
    assert provoked <= codes_in_source()


@pytest.mark.parametrize("case", CASES)
def test_every_refusal_names_the_way_out(case: str) -> None:
    text = (HERE / f"{case}.txt").read_text(encoding="utf-8")
    findings = [line for line in text.splitlines() if not line.startswith("    ")]
    hints = [line for line in text.splitlines() if line.startswith("    hint: ")]
    assert len(findings) == len(hints) > 0
    assert all(line.endswith((".", "?")) for line in hints)
    assert not any("pydantic" in line or "Input should" in line for line in findings)
