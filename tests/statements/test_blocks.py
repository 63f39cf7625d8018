"""Rendered templates to statements."""

from __future__ import annotations

import pytest

from sqlclaimgen.runtime.placeholders import names
from sqlclaimgen.statements.blocks import TemplateBroken, parse

ACK = """
-- name: ack
-- Finishes the row.
-- It stays: marked.
-- Transaction: the caller's.
-- Locks: one row.
-- Index: the primary key.
-- Runs: once.
UPDATE t

SET a = :now
WHERE id = :id AND b = :now;
"""


def read(text: str) -> list[object]:
    return list(parse(text, names, lambda statement, name: f"{statement} {name}"))


def test_a_block_is_taken_apart() -> None:
    (ack,) = parse(ACK, names, lambda statement, name: f"{statement} {name}")
    assert ack.name == "ack"
    assert ack.purpose == ("Finishes the row.", "It stays: marked.")
    assert (ack.transaction, ack.locks) == ("the caller's.", "one row.")
    assert (ack.index, ack.runs) == ("the primary key.", "once.")
    assert ack.text == "UPDATE t\nSET a = :now\nWHERE id = :id AND b = :now"
    assert [(p.name, p.what) for p in ack.parameters] == [("now", "ack now"), ("id", "ack id")]


def test_several_blocks_in_one_text() -> None:
    both = parse(ACK + ACK.replace("ack", "nack"), names, lambda statement, name: name)
    assert [statement.name for statement in both] == ["ack", "nack"]


@pytest.mark.parametrize("text", ["", "\n  \n"])
def test_a_blank_text_has_no_statement(text: str) -> None:
    assert read(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "UPDATE t;",
        ACK.replace(";", ""),
        ACK.replace("-- Locks: one row.\n", ""),
        ACK.replace("-- Runs: once.\n", ""),
        "-- name: two words\nSELECT 1;",
    ],
)
def test_a_template_that_is_not_in_order_is_refused(text: str) -> None:
    with pytest.raises(TemplateBroken):
        read(text)
