"""The `type` of a column, as it is written: `varchar(64)`."""

from __future__ import annotations

import re
from difflib import get_close_matches

from sqlclaimgen.dialects.types import Kind, Type

SPELLINGS = (
    "smallint",
    "int",
    "bigint",
    "text",
    "varchar(n)",
    "bytes",
    "json",
    "uuid",
    "boolean",
    "timestamp",
    "timestamp(p)",
    "date",
    "numeric(p,s)",
    "double",
)

PATTERN = (
    r"^(smallint|int|bigint|text|varchar\( *[0-9]+ *\)|bytes|json|uuid|boolean|"
    r"timestamp(\( *[0-6] *\))?|date|numeric\( *[0-9]+ *, *[0-9]+ *\)|double)$"
)

LONGEST_VARCHAR = 16383
"""Characters: what a MySQL row of utf8mb4 holds."""

_OTHER_WORDS = {
    "integer": "int",
    "int2": "smallint",
    "int4": "int",
    "int8": "bigint",
    "tinyint": "smallint",
    "mediumint": "int",
    "serial": "int",
    "bigserial": "bigint",
    "bool": "boolean",
    "string": "text",
    "str": "text",
    "longtext": "text",
    "char": "varchar(n)",
    "character varying": "varchar(n)",
    "bytea": "bytes",
    "blob": "bytes",
    "binary": "bytes",
    "jsonb": "json",
    "datetime": "timestamp",
    "timestamptz": "timestamp",
    "time": "timestamp",
    "decimal": "numeric(p,s)",
    "float": "double",
    "real": "double",
    "double precision": "double",
}

_TYPE = re.compile(r"([a-z]+)(?:\( *([0-9]+) *(?:, *([0-9]+) *)?\))?", re.ASCII)
_PLAIN = {kind.value: kind for kind in Kind}


def parse(text: str) -> Type | tuple[str, str]:
    """The type that `text` names, or what is wrong with it and the way out."""
    match = _TYPE.fullmatch(text)
    kind = _PLAIN.get(match[1]) if match else None
    if match is None or kind is None:
        return f'is "{text}", which is no type', _way_out(text)
    # of a number that is out of any range, so many digits are enough
    first = int(match[2][:9]) if match[2] else None
    second = int(match[3][:9]) if match[3] else None
    match kind:
        case Kind.VARCHAR:
            if first is None or second is not None:
                return (
                    f'is "{text}", without a length',
                    'Write the characters it may have: "varchar(64)".',
                )
            if not 1 <= first <= LONGEST_VARCHAR:
                return (
                    f'is "{text}", which is out of range',
                    f'Write 1 to {LONGEST_VARCHAR} characters, or "text".',
                )
            return Type(kind, length=first)
        case Kind.TIMESTAMP:
            if second is not None or (first is not None and first > 6):
                return (
                    f'is "{text}", which is out of range',
                    'Write 0 to 6 digits of a second: "timestamp(6)", as "timestamp" alone means.',
                )
            return Type(kind, precision=6 if first is None else first)
        case Kind.NUMERIC:
            if first is None or second is None:
                return f'is "{text}", without a size', 'Write digits and decimals: "numeric(12,2)".'
            if not 1 <= first <= 65 or second > min(first, 30):
                return (
                    f'is "{text}", which is out of range',
                    "Write 1 to 65 digits, of which at most 30 are decimals.",
                )
            return Type(kind, precision=first, scale=second)
        case _:
            if first is not None:
                return f'is "{text}", and {kind} takes no size', f'Write "{kind}".'
            return Type(kind)


def _way_out(text: str) -> str:
    exact = 'an exact type of one database goes beside it: sql = { postgres = "citext" }.'
    lower = text.strip().lower()
    word = lower.partition("(")[0].strip()
    if lower != text and isinstance(parse(lower), Type):
        return f'Write "{lower}".'
    close = get_close_matches(word, list(_PLAIN), 1)
    other = _OTHER_WORDS.get(word) or (close[0] if close else None)
    if other:
        return f'Did you mean "{other}"? If not, {exact}'
    return f"The types are {', '.join(SPELLINGS)}; {exact}"
