"""Conditions: the SQL of `where`, parsed for every database of the table as one expression."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlclaimgen.runtime.placeholders import names

if TYPE_CHECKING:
    from sqlglot import exp

    from sqlclaimgen.description.scope import Scope
    from sqlclaimgen.dialects import Dialect

AT = "where"


def resolve(scope: Scope) -> str | None:
    """The condition, without space around it."""
    text = scope.shape.where
    if text is None:
        return None
    if not text.strip():
        scope.error(
            "WHERE",
            "the condition of `where` is empty",
            'Write one, where = "approved", or leave it out.',
            AT,
        )
        return None
    for dialect in scope.dialects:
        if problem := _problem(text, dialect):
            what, hint = problem
            scope.error("WHERE", f"the condition of `where` {what}", hint, AT)
            break
    return text.strip()


def _problem(text: str, dialect: Dialect) -> tuple[str, str] | None:
    """What is wrong with the condition on one database, and the way out."""
    import sqlglot
    from sqlglot.errors import SqlglotError

    one = "Write one condition as it would stand after WHERE."
    try:
        tokens = sqlglot.tokenize(text, read=dialect.sqlglot)
        if any(token.token_type is sqlglot.TokenType.SEMICOLON for token in tokens):
            return "has a `;`, and it is one condition", one
        if any(token.comments for token in tokens):
            return "has a comment, which would hide what stands behind it", "Leave the comment out."
        if any("\n" in token.text for token in tokens):
            return "has a line break inside a text or a name", "Write it on one line."
        parsed = sqlglot.parse_one(text, read=dialect.sqlglot)
    except (SqlglotError, ValueError):
        return f"cannot be read as one condition in the SQL of {dialect.title}", one
    return _refused(parsed) or _taken_for_placeholders(text, dialect)


def _taken_for_placeholders(text: str, dialect: Dialect) -> tuple[str, str] | None:
    holes = names(text, backslashes=dialect.backslashes)
    if not holes:
        return None
    return (
        f"has `:{holes[0]}`, which would be taken for a placeholder on {dialect.title}",
        "Write CAST(x AS type) for a cast.",
    )


def _refused(parsed: exp.Expr) -> tuple[str, str] | None:
    from sqlglot import exp

    if parsed.find(exp.Query):
        return (
            "has a subselect, whose rows would be locked or read per row",
            "Keep what the condition needs in a column of the table.",
        )
    if hole := parsed.find(exp.Placeholder, exp.Parameter, exp.SessionParameter):
        return (
            f"has the placeholder `{hole.sql()}`, which nothing fills",
            "Write the value itself.",
        )
    if rows := parsed.find(exp.AggFunc, exp.Window):
        return f"has `{rows.sql()}`, which needs more than one row", "Use the row's own columns."
    boolean = exp.Predicate | exp.Connector | exp.Not | exp.Paren | exp.Column | exp.Boolean
    if not isinstance(parsed, boolean | exp.Func | exp.Case | exp.Cast | exp.Anonymous):
        return (
            f"is no condition: `{parsed.sql()}` is neither true nor false",
            "Compare it with something.",
        )
    return None
