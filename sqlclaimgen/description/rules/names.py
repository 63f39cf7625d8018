"""Names in the database: what every database of the table can call a table or a column."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from sqlclaimgen.description.characters import hidden, named

if TYPE_CHECKING:
    from sqlclaimgen.description.scope import Scope


def check(scope: Scope) -> None:
    """Check the table's name, its schema and its columns' names."""
    shape = scope.shape
    if shape.name is not None:
        check_name(scope, shape.name, "table name", "name")
    else:
        check_name(scope, scope.key, "table name")
    if shape.schema_ is not None:
        check_name(scope, shape.schema_, "schema name", "schema")
    seen: dict[str, str] = {}
    for name in shape.columns:
        check_name(scope, name, "column name", "columns", name)
        if (other := seen.setdefault(fold(name), name)) != name:
            scope.error(
                "COLUMN-TWICE",
                f"columns `{other}` and `{name}` are one name to MySQL, MariaDB and SQLite",
                "Rename one of them: those databases ignore case in names.",
                "columns",
                name,
            )


def check_name(scope: Scope, name: str, says: str, *at: str | int) -> bool:
    """Report what is wrong with one name, at the key `at`. Returns whether it is fine."""
    if not name or name.isspace():
        what, hint = f"a {says} is empty", "Write the name the database knows."
    elif (found := hidden(name)) is not None:
        character = named(name[found])
        what = f"the {says} {name!a} holds {character}, which ends a line or is not seen"
        hint = "Names are one line of text: rename it in the database."
    elif name != name.strip():
        what = f'the {says} "{name}" starts or ends with a space'
        hint = "MySQL and MariaDB refuse such names: remove the space."
    else:
        return _check_length(scope, name, says, *at)
    scope.error("NAME", what, hint, *at)
    return False


def _check_length(scope: Scope, name: str, says: str, *at: str | int) -> bool:
    too_short = [d for d in scope.dialects if d.name_limit.length(name) > d.name_limit.count]
    if not too_short:
        return True
    dialect = min(too_short, key=lambda d: d.name_limit.count)
    limit = dialect.name_limit
    scope.error(
        "NAME-TOO-LONG",
        f'the {says} "{name}" has {limit.length(name)} {limit.unit}, '
        f"and {dialect.title} takes {limit.count}",
        "Shorten it: the database would refuse the name, or cut it off silently.",
        *at,
    )
    return False


def fold(name: str) -> str:
    """The name as a database that ignores case compares it."""
    return unicodedata.normalize("NFC", name).casefold()
