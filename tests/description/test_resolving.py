"""Whatever a file says, it is resolved or refused: no other exception, and no silent loss."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sqlclaimgen.description import resolving, shaping
from sqlclaimgen.description.column_shape import ColumnShape
from sqlclaimgen.description.findings import Findings
from sqlclaimgen.description.locations import Locations
from sqlclaimgen.description.model import Form, Role
from sqlclaimgen.description.shape import DeadLetterShape, OutputShape, RetryShape, TableShape
from sqlclaimgen.dialects import DIALECTS

WORDS = [
    *map(str, Role),
    *map(str, Form),
    *DIALECTS,
    *["text", "int", "bigint", "uuid", "json", "now", "30s", "a"],
]
WORDS += ["timestamp(0)", "varchar(9)", "a-{id}", "{queue}", "id = 1", "", "group", "table", "due"]
SCALARS = st.sampled_from(WORDS) | st.text(max_size=5) | st.booleans() | st.integers() | st.floats()


def some(model: Any, **known: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Tables with keys of `model`, now and then another, and values that are often wrong."""
    values = {key: known.get(key, SCALARS) for key in shaping.keys(model)}
    any_key = st.fixed_dictionaries({}, optional=values)
    other = st.dictionaries(st.text(max_size=4), SCALARS, max_size=1)
    return st.builds(lambda a, b: {**b, **a}, any_key, st.just({}) | other)


NAMES = st.sampled_from(["id", "queue", "locked_until", "attempt", "A B", "a_b", "class"])
STATUS = st.dictionaries(st.sampled_from(["pending", "done", "dead"]), SCALARS)
COLUMN = some(
    ColumnShape,
    role=st.sampled_from(WORDS),
    type=st.sampled_from(WORDS),
    sql=st.dictionaries(st.sampled_from(WORDS), SCALARS, max_size=1),
    status=STATUS | SCALARS,
    null=st.booleans(),
)
TABLE = some(
    TableShape,
    dialects=st.lists(st.sampled_from([*DIALECTS]), max_size=3) | SCALARS,
    claims=st.lists(st.sampled_from(["group", "table"]), max_size=2),
    dead_letter=some(DeadLetterShape) | SCALARS,
    retry=some(RetryShape) | SCALARS,
    where=st.sampled_from(["approved", "a =", "", "1"]),
    columns=st.dictionaries(NAMES, COLUMN | SCALARS, max_size=5) | SCALARS,
)
DOCUMENT = st.fixed_dictionaries(
    {},
    optional={
        "format": st.just(1) | SCALARS,
        "output": some(OutputShape) | SCALARS,
        "table": st.dictionaries(NAMES, TABLE | SCALARS, max_size=2) | SCALARS,
        "tables": SCALARS,
    },
)


@settings(max_examples=400, deadline=None)
@given(DOCUMENT)
def test_every_document_is_resolved_or_refused(document: dict[str, Any]) -> None:
    findings = Findings("t.toml", Locations(""))
    shape = shaping.shape(document, findings)
    description = resolving.resolve(shape, Path("t.toml"), findings)
    if findings.broken:
        assert findings.errors
    if not findings.errors:
        assert [table.key for table in description.tables] == list(document["table"])
        for table in description.tables:
            assert [c.name for c in table.columns] == list(document["table"][table.key]["columns"])
            assert table.id
            assert len({column.field for column in table.columns}) == len(table.columns)
