"""Conditions: the SQL of `where`, parsed for every database of the table as one expression, and its columns
looked up in the table."""

from __future__ import annotations

import re
from difflib import get_close_matches
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from sqlclaimgen.description.characters import hidden, named
from sqlclaimgen.description.rules.names import fold
from sqlclaimgen.runtime.placeholders import names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlglot import Token, exp

    from sqlclaimgen.description.model import Column
    from sqlclaimgen.description.scope import Scope
    from sqlclaimgen.dialects import Dialect

AT = "where"

LONGEST = 5000
"""Characters."""

DEEPEST = 20
"""Parentheses inside of one another: the parser recurses."""

_BEFORE = "SELECT 1 FROM t WHERE ("
_ONE = "Write one condition as it would stand after WHERE."

_ANSI = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|[xX]'[0-9a-fA-F]*'""")
_BACKSLASHES = re.compile(r"'(?:[^'\\]|\\.|'')*'|`(?:[^`]|``)*`|[xX]'[0-9a-fA-F]*'")
"""Texts and names in quotes that whatever reads the statements later reads alike."""

_ACTS = re.compile(
    r"(?:pg_sleep\w*|sleep|benchmark|set_config|dblink\w*|pg_\w*advisory\w*|get_lock|release_\w*locks?|"
    r"nextval|setval|lo_\w+|load_file|load_extension|readfile|writefile|pg_read_\w+|pg_ls_\w+|pg_notify|"
    r"pg_terminate_backend|pg_cancel_backend|query_to_xml\w*)",
    re.IGNORECASE,
)
"""Functions that wait, lock, or reach beyond the row. Others are left to who reviews the file."""


class Condition(NamedTuple):
    """The condition without space around it, and for each database its text with the columns taken out."""

    text: str
    pieces: Mapping[str, tuple[str | Column, ...]]


class _Problem(Exception):
    """What is wrong with the condition, the way out, and the character where it is."""

    def __init__(self, what: str, hint: str, at: int | None = None) -> None:
        super().__init__(what)
        self.what, self.hint, self.at = what, hint, at


def resolve(scope: Scope) -> Condition | None:
    """The condition of the table, or None."""
    text = scope.shape.where
    if text is None:
        return None
    try:
        _check_text(text)
        read = {dialect: _read(text, dialect) for dialect in scope.dialects}
        _check_meaning(read)
        pieces = {
            dialect.name: _pieces(scope, text, tree, dialect) for dialect, tree in read.items()
        }
    except _Problem as found:
        scope.error(
            "WHERE", f"the condition of `where` {found.what}", found.hint, AT, inside=found.at
        )
        return None
    return Condition(text.strip(), MappingProxyType(pieces))


def _check_text(text: str) -> None:
    if not text.strip():
        raise _Problem("is empty", 'Write one, where = "approved", or leave it out.')
    if (at := hidden(text, but="\n\t")) is not None:
        raise _Problem(f"holds the character {named(text[at])}", "Remove it.", at)
    if len(text) > LONGEST:
        raise _Problem(
            f"has {len(text)} characters, and at most {LONGEST} are read",
            "Keep what it needs in a column of the table.",
        )


def _read(text: str, dialect: Dialect) -> exp.Expr:
    """The condition as a tree. Raises _Problem for what is no single condition on one database."""
    import sqlglot
    from sqlglot import exp

    unread = f"cannot be read as one condition in the SQL of {dialect.title}"
    try:
        whole = f"{_BEFORE}{text})"
        _check_tokens(text, sqlglot.tokenize(whole, read=dialect.sqlglot), dialect)
        statement = sqlglot.parse_one(whole, read=dialect.sqlglot)
    except _Problem:
        raise
    except RecursionError:
        raise _Problem("nests too deeply to be read", "Write it with fewer levels.") from None
    except Exception:
        # the parser is another project's, and the text is anything
        raise _Problem(unread, _ONE) from None
    given = {key for key, value in statement.args.items() if value}
    where = statement.args.get("where")
    if (
        not isinstance(statement, exp.Select)
        or not given <= {"expressions", "from", "from_", "where"}
        or not isinstance(where, exp.Where)
        or not isinstance(where.this, exp.Paren)
    ):
        raise _Problem(unread, _ONE)
    tree: exp.Expr = where.this.this
    _check_tree(tree)
    if holes := names(text, backslashes=dialect.backslashes):
        raise _Problem(
            f"has `:{holes[0]}`, which would be taken for a placeholder on {dialect.title}",
            "Write CAST(x AS type) for a cast.",
        )
    return tree


def _check_tokens(text: str, tokens: Sequence[Token], dialect: Dialect) -> None:
    from sqlglot import TokenType

    # a word at the start of a text may be taken for a command: the tokens are those of a statement
    before = len(_BEFORE)
    depth = end = 0
    for n, token in enumerate(tokens):
        at = token.start - before
        if at < 0 or (at >= len(text) and depth == 0):
            continue
        if token.token_type is TokenType.SEMICOLON:
            raise _Problem("has a `;`, and it is one condition", _ONE, at)
        if token.comments:
            raise _Problem(
                "has a comment, which would hide what stands behind it", "Leave the comment out."
            )
        if "\n" in token.text:
            raise _Problem("has a line break inside a text or a name", "Write it on one line.", at)
        written = text[at : token.end + 1 - before]
        if text[end:at].strip():
            raise _Problem(
                f"cannot be read as one condition in the SQL of {dialect.title}", _ONE, end
            )
        _check_quotes(written, at, dialect)
        depth += (written == "(") - (written == ")")
        if depth < 0:
            raise _Problem(
                f"cannot be read as one condition in the SQL of {dialect.title}", _ONE, at
            )
        if depth > DEEPEST:
            raise _Problem(
                f"nests more than {DEEPEST} parentheses", "Write it with fewer levels.", at
            )
        called = n + 1 < len(tokens) and tokens[n + 1].token_type is TokenType.L_PAREN
        if called and _ACTS.fullmatch(written):
            raise _Problem(
                f"calls `{written}`, which does more than look at the row",
                "Claims run it for every row they look at: keep what it needs in a column.",
                at,
            )
        end = token.end + 1 - before


def _check_quotes(written: str, at: int, dialect: Dialect) -> None:
    """Refuse quotes that only this database reads: what finds the placeholders of a statement would see
    another end of the text."""
    if len(written) == 1 or not set(written) & set("'\"`[$\\"):
        return
    if (_BACKSLASHES if dialect.backslashes else _ANSI).fullmatch(written):
        return
    if dialect.backslashes and written.startswith('"'):
        raise _Problem(
            f"has {written}, a text on {dialect.title} and a name elsewhere",
            "Write a text in single quotes, and a column's name without quotes.",
            at,
        )
    raise _Problem(
        f"has {written}, which only {dialect.title} reads so",
        "Write a text in single quotes, '' for a quote inside, and a column's name without quotes.",
        at,
    )


def _check_tree(tree: exp.Expr) -> None:
    from sqlglot import exp

    try:
        if tree.find(exp.Query):
            raise _Problem(
                "has a subselect, whose rows would be locked or read per row",
                "Keep what the condition needs in a column of the table.",
            )
        if hole := tree.find(exp.Placeholder, exp.Parameter, exp.SessionParameter):
            raise _Problem(
                f"has the placeholder `{hole.sql()}`, which nothing fills",
                "Write the value itself.",
            )
        if rows := tree.find(exp.AggFunc, exp.Window):
            raise _Problem(
                f"has `{rows.sql()}`, which needs more than one row", "Use the row's own columns."
            )
        boolean = exp.Predicate | exp.Connector | exp.Not | exp.Paren | exp.Column | exp.Boolean
        boolean |= exp.Func | exp.Case | exp.Cast | exp.Anonymous | exp.Escape
        if not isinstance(tree, boolean):
            raise _Problem(
                f"is no condition: `{tree.sql()}` is neither true nor false",
                "Compare it with something.",
            )
    except RecursionError:
        raise _Problem("nests too deeply to be read", "Write it with fewer levels.") from None


def _check_meaning(read: Mapping[Dialect, exp.Expr]) -> None:
    """Refuse what two databases of the table read differently: a backslash in a text, `||`."""
    from sqlglot import exp

    def meaning(tree: exp.Expr) -> tuple[list[str], int]:
        texts = sorted(one.name for one in tree.find_all(exp.Literal) if one.is_string)
        return texts, sum(1 for _ in tree.find_all(exp.Or))

    first, *others = read.items()
    for dialect, tree in others:
        if meaning(tree) != meaning(first[1]):
            raise _Problem(
                f"means one thing on {first[0].title} and another on {dialect.title}",
                "Leave out backslashes and `||`: databases read them differently.",
            )


def _pieces(scope: Scope, text: str, tree: exp.Expr, dialect: Dialect) -> tuple[str | Column, ...]:
    """The text with its columns taken out, so that each is written quoted and with the table it is of."""
    from sqlglot import exp

    found: dict[int, tuple[int, Column]] = {}
    for reference in tree.find_all(exp.Column):
        name = reference.this
        start, end = (name.meta.get(key) for key in ("start", "end"))
        if start is not None and end is not None:
            start, end = start - len(_BEFORE), end + 1 - len(_BEFORE)
        column = _column(scope, reference, dialect, start)
        if column is not None and start is not None and end is not None:
            found[start] = (end, column)
    pieces: list[str | Column] = []
    at = len(text) - len(text.lstrip())
    for start, (end, column) in sorted(found.items(), key=lambda item: item[0]):
        pieces += [text[at:start], column]
        at = end
    return tuple(piece for piece in (*pieces, text[at:].rstrip()) if piece != "")


def _column(scope: Scope, reference: exp.Column, dialect: Dialect, at: int | None) -> Column | None:
    columns = {fold(column.name): column for column in scope.columns}
    name = reference.name
    if reference.table:
        raise _Problem(
            f"has `{reference.sql(dialect=dialect.sqlglot)}`, a name with another before it",
            f"Write the column's name alone, `{name}`: statements call the table in their own ways.",
            at,
        )
    column = columns.get(fold(name))
    if column is None and not scope.findings.is_broken(scope.path("columns", name)):
        close = get_close_matches(name, [column.name for column in scope.columns], 1)
        raise _Problem(
            f"names column `{name}`, and table `{scope.key}` has none",
            f"Did you mean `{close[0]}`?"
            if close
            else f"Its columns are {', '.join(column.name for column in scope.columns)}.",
            at,
        )
    return column
