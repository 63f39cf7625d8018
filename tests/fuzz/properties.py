"""What holds for every description, however it was made."""

from __future__ import annotations

import ast
import io
import re
import sqlite3
import sys
import tokenize
import types
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import sqlglot
from sqlglot import TokenType
from sqlglot.errors import ParseError, TokenError

from sqlclaimgen.description import Description, DescriptionInvalid, parse, report
from sqlclaimgen.description.model import DeadLetterTable
from sqlclaimgen.rendering import plans, render
from tests.fuzz.grammar import CANARY

if TYPE_CHECKING:
    from sqlclaimgen.description.diagnostics import Diagnostic
    from sqlclaimgen.statements import Plan

FILE = Path("tables.toml")

LONGEST = 1000
"""Characters of a message, at most."""

_KNOWN = {
    match[1]
    for path in (Path(__file__).parent.parent.parent / "templates" / "sql").rglob("*.sql")
    for match in re.finditer(r"^-- name: ([\w{} .%~\"-]+)$", path.read_text("utf-8"), re.MULTILINE)
}
_PLAIN = {name for name in _KNOWN if name.isidentifier()}
"""The names of statements that templates spell out."""


_HIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2028\u2029\u2066-\u2069\ufeff]")
"""Characters that nobody sees, or that change the order of those beside them."""


class Broken(AssertionError):
    """A property does not hold."""


def loaded(content: bytes) -> Description | None:
    """The description, or None where it is refused. What is raised otherwise is a fault."""
    try:
        description = parse(content, FILE)
    except DescriptionInvalid as invalid:
        check_diagnostics(invalid.diagnostics, content)
        return None
    check_diagnostics(description.warnings, content)
    return description


def check_diagnostics(found: tuple[Diagnostic, ...], content: bytes) -> None:
    """Every mistake has its place and a code, and takes one line."""
    text = content.decode("utf-8", "replace")
    lines = text.split("\n")
    for one in found:
        if not re.fullmatch(r"[A-Z][A-Z0-9]*(-[A-Z0-9]+)*", one.code):
            raise Broken(f"the code {one.code!r}")
        if not (1 <= one.line <= len(lines) + 1 and one.column >= 1):
            raise Broken(f"{one.code} is at {one.line}:{one.column} of {len(lines)} lines")
        for said in (one.what, one.hint):
            if not said or "\n" in said or _HIDDEN.search(said) or len(said) > LONGEST:
                raise Broken(f"{one.code} says {said[:200]!r}, {len(said)} characters")
    if len(report.text(found).splitlines()) != 2 * len(found):
        raise Broken("a finding takes more than its two lines")


def check(content: bytes, *, files: bool = True, thorough: bool = True) -> bool:
    """The properties of one description. Returns whether it is valid. `files` and `thorough`: those
    that cost more."""
    description = loaded(content)
    if description is None:
        return False
    if files or thorough:
        made = render(description)
        for path, text in made.items():
            check_text(path, text)
        check_modules(description, made)
        if thorough and render(parse(content, FILE)) != made:
            raise Broken("two builds differ")
    for table in description.tables:
        for plan in plans(table):
            check_names(plan)
            if plan.dialect.name == "sqlite":
                check_sqlite(plan)
            elif thorough:
                check_parses(plan)
            if thorough:
                check_quoting(plan)
    return True


def check_text(path: PurePosixPath, text: str) -> None:
    """No control characters, and no character that changes the order of those beside it."""
    if found := _HIDDEN.search(text):
        raise Broken(f"{path} holds {found[0]!r} as it is")


# -- Python -----------------------------------------------------------------------------------------


def check_modules(description: Description, files: Mapping[PurePosixPath, str]) -> None:
    """Every module compiles and can be imported, and texts of the description stand in strings."""
    for path, text in files.items():
        if path.suffix != ".py":
            continue
        code = compile(text, str(path), "exec")
        if description.output.runtime == "vendored" or path.name == "__init__.py":
            continue
        name = f"fuzzed_{path.stem}"
        module = types.ModuleType(name)
        sys.modules[name] = module  # dataclasses look their module up
        try:
            exec(code, module.__dict__)
        except ImportError as error:
            if (error.name or "") not in _own_modules(description):
                raise
        finally:
            del sys.modules[name]
        check_tokens(path, text)


def _own_modules(description: Description) -> set[str]:
    """The modules that the description names for its types, and their packages: a broken name is the
    team's mistake, found when the module is imported."""
    named = {
        column.python.module
        for table in description.tables
        for column in table.columns
        if column.python is not None
    }
    return {".".join(name.split(".")[:n]) for name in named for n in range(1, name.count(".") + 2)}


def check_tokens(path: PurePosixPath, text: str) -> None:
    """A name that holds the canary is a name as a whole; everything else stands in a string."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if CANARY not in token.string or token.type in (tokenize.STRING, tokenize.COMMENT):
            continue
        if token.type == tokenize.NAME and token.string.isidentifier():
            continue
        raise Broken(f"{path} has {token.string[:100]!r} outside a string")
    ast.parse(text)


# -- SQL --------------------------------------------------------------------------------------------


def check_names(plan: Plan) -> None:
    """No statement comes from a text of the description."""
    names = [statement.name for statement in plan.statements]
    if len(names) != len(set(names)):
        raise Broken(f"a statement twice: {sorted(names)}")
    for name in names:
        base = re.sub(r"_(table|ungrouped|groups|group)$", "", name)
        if name not in _PLAIN and base not in _PLAIN and CANARY in name:
            raise Broken(f"a statement called {name!r}")


def _schemas(plan: Plan) -> set[str]:
    table = plan.table
    found = {table.schema}
    if isinstance(table.dead_letter, DeadLetterTable):
        found.add(table.dead_letter.schema)
    return {schema for schema in found if schema}


def check_sqlite(plan: Plan) -> None:
    """The DDL runs, and every statement prepares on it."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        for schema in _schemas(plan):
            connection.execute(f"ATTACH ':memory:' AS {plan.dialect.quote(schema)}")
        connection.executescript(plan.ddl)
        for statement in plan.statements:
            parameters = dict.fromkeys((one.name for one in statement.parameters), None)
            try:
                connection.execute(f"EXPLAIN {statement.text}", parameters)
            except sqlite3.Error as error:
                if plan.table.where and "no such function" in str(error):
                    continue  # a team may have functions of its own
                raise Broken(f"{statement.name}: {error}\n{statement.text}") from error
    except sqlite3.Error as error:
        raise Broken(f"the DDL: {error}\n{plan.ddl}") from error
    finally:
        connection.close()


def _sqlglot(plan: Plan) -> str:
    # it has no dialect of MariaDB's; parsing is no evidence that a server accepts a text
    return "mysql" if plan.dialect.name == "mariadb" else plan.dialect.name


_UNKNOWN_TO_SQLGLOT = (" OVERRIDING SYSTEM VALUE", " CHARACTER SET utf8mb4", " ERROR ON ERROR")
"""What servers take and sqlglot cannot parse: it is left out before."""


def check_parses(plan: Plan) -> None:
    """Every statement is one statement."""
    for statement in plan.statements:
        text = statement.text
        for unknown in _UNKNOWN_TO_SQLGLOT:
            text = text.replace(unknown, "")
        # nor a placeholder that is called like a keyword
        text = re.sub(r"(?<![:\w]):(?=\w)", ":p_", text)
        try:
            parsed = sqlglot.parse(text, dialect=_sqlglot(plan))
        except (ParseError, TokenError) as error:
            raise Broken(f"{statement.name}: {error}\n{statement.text}") from error
        if len(parsed) != 1:
            raise Broken(f"{statement.name} is {len(parsed)} statements\n{statement.text}")


def check_quoting(plan: Plan) -> None:
    """Texts of the description stand in strings, in quoted names, or in comments; `where` and exact
    types are SQL themselves."""
    if plan.table.where:
        return
    texts = [(statement.name, statement.text) for statement in plan.statements]
    for name, text in [*texts, ("the DDL", plan.ddl)]:
        for token in _tokens(plan, name, text):
            if CANARY in token.text and token.token_type not in (
                TokenType.STRING,
                TokenType.IDENTIFIER,
                TokenType.NATIONAL_STRING,
                TokenType.RAW_STRING,
                TokenType.HEREDOC_STRING,
                TokenType.HEX_STRING,
            ):
                if token.text.isidentifier():
                    continue  # a parameter's name
                raise Broken(f"{name} has {token.text[:100]!r} as {token.token_type}\n{text}")


def _tokens(plan: Plan, name: str, text: str) -> Iterator[Any]:
    try:
        yield from sqlglot.tokenize(text, read=_sqlglot(plan))
    except TokenError as error:
        raise Broken(f"{name} cannot be split into tokens: {error}\n{text}") from error
