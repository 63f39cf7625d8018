"""The shape of a column: its keys and the types of their values, and nothing more."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from sqlclaimgen.description.model import Role, Type
from sqlclaimgen.description.values import ColumnType, OneOf, Scalar, TrueOrWord
from sqlclaimgen.dialects import DIALECTS

DialectName = Annotated[str, OneOf(tuple(DIALECTS))]


class Shape(BaseModel):
    """A table of the file. Unknown keys are mistakes, and no value is converted."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        frozen=True,
        arbitrary_types_allowed=True,
        # only the file's own shape validates: the others need no validator of their own
        defer_build=True,
    )


class StatusShape(Shape):
    """The values of a status column."""

    pending: Annotated[str | int, Scalar("text or a whole number", (str, int))] = Field(
        description="A row that waits or is in work.", examples=["pending", 0]
    )
    done: Annotated[str | int, Scalar("text or a whole number", (str, int))] = Field(
        description="A row that is finished.", examples=["done", 1]
    )
    dead: Annotated[str | int, Scalar("text or a whole number", (str, int))] = Field(
        description="A row that is a dead letter.", examples=["dead", 2]
    )


class ColumnShape(Shape):
    """One column of the table."""

    role: Annotated[str, OneOf(tuple(Role))] | None = Field(
        default=None,
        description=(
            "What the column is for. Each role is a switch: what a table has no column for "
            "does not exist for it."
        ),
    )
    type: Annotated[Type, ColumnType()] | None = Field(
        default=None,
        description="The column's type. Some roles have one unless it is written.",
        examples=["bigint", "text", "varchar(64)", "timestamp", "numeric(12,2)"],
    )
    null: bool | None = Field(
        default=None,
        description="Whether the column may hold NULL. Not, unless set or by its role.",
    )
    default: (
        Annotated[
            str | int | float | bool,
            Scalar("text, a number, true or false", (str, int, float, bool)),
        ]
        | None
    ) = Field(
        default=None,
        description=(
            "The value of a new row that names none, written as the type has it: `0`, "
            '`"new"`, `true`, `"2024-01-31"`; `"now"` is the time of insertion, by the database\'s clock, '
            "also where a new row gives None."
        ),
        examples=[0, "new", True, "now"],
    )
    generated: bool = Field(
        default=False,
        description="The database numbers the rows. Integer ids only.",
    )
    sql: Annotated[
        dict[DialectName, Annotated[str, Field(min_length=1)]],
        Field(
            description="The exact type of a database, where `type` is not exact enough.",
            examples=[{"postgres": "citext"}],
        ),
    ] = Field(default_factory=dict)
    python: str | None = Field(
        default=None,
        description=(
            "What the row holds in Python, as `module:Name`: the type is imported and used."
        ),
        examples=["app.models:Report"],
    )
    field: str | None = Field(
        default=None,
        description=(
            "The column's name in Python. The column's own name unless set, with a `_` "
            "behind it where Python reserves it."
        ),
        examples=["remark"],
    )
    fifo: Annotated[bool | str, TrueOrWord("due")] | None = Field(
        default=None,
        description=(
            "On the group column. `true`: each group in order, one row in work, and a head "
            'that is not due holds its group. `"due"`: a delayed row lets the others pass.'
        ),
    )
    status: StatusShape | None = Field(
        default=None,
        description=(
            'On the status column: the values the table uses. `{ pending = "pending", done '
            '= "done", dead = "dead" }` unless set.'
        ),
    )
