"""Every combination of what a description can say of a table's claims, and a selection of them in which
each pair of settings occurs."""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from sqlclaimgen.description import parse
from sqlclaimgen.description.diagnostics import DescriptionInvalid
from sqlclaimgen.description.model import Table

Choice = Mapping[str, str]
"""A setting for each switch."""

_GROUP = 'queue = { role = "group", type = "text"'
_STATUS = 'state = { role = "status", type = "text" }\n'
_FINISHED = 'finished = { role = "processed_at" }\n'
_DEAD = "max_attempts = 3\ndead_letter = "

SWITCHES: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "form": {
        "lease": ("", 'locked_until = { role = "locked_until" }\n'),
        "row_lock": ("", ""),
        "advisory_lock": ('advisory_lock = "accounts-{account}"\n', ""),
    },
    "group": {
        "none": ("", ""),
        "group": ("", f"{_GROUP} }}\n"),
        "nullable": ("", f"{_GROUP}, null = true }}\n"),
        "fifo": ("", f"{_GROUP}, fifo = true }}\n"),
        "fifo due": ("", f'{_GROUP}, fifo = "due" }}\n'),
        "fifo nullable": ("", f"{_GROUP}, fifo = true, null = true }}\n"),
    },
    "claims": {
        "group": ('claims = ["group"]\n', ""),
        "table": ('claims = ["table"]\n', ""),
        "both": ('claims = ["group", "table"]\n', ""),
    },
    "priority": {"no": ("", ""), "yes": ("", 'urgency = { role = "priority" }\n')},
    "retry_after": {"no": ("", ""), "yes": ("", 'due = { role = "retry_after" }\n')},
    "finished": {
        "deleted": ("", ""),
        "processed_at": ("", _FINISHED),
        "status": ("", _STATUS),
        "both": ("", _STATUS + _FINISHED),
    },
    "dead letter": {
        "no": ("", ""),
        "attempt": ("", 'attempt = { role = "attempt" }\n'),
        "table": (
            _DEAD + '{ table = "jobs_dead", time = "died_at" }\n',
            'attempt = { role = "attempt" }\n',
        ),
        "group": (
            _DEAD + '{ group = "dead" }\n',
            'attempt = { role = "attempt" }\norigin = { role = "origin", type = "text", null = true }\n',
        ),
    },
    "where": {
        "no": ("", ""),
        "yes": ("where = \"note <> 'held back'\"\n", ""),
    },
    "dedupe": {
        "no": ("", ""),
        "yes": ("", 'slip = { role = "dedupe_key", type = "text", null = true }\n'),
    },
}
"""Switch and setting to what it adds above and below `[table.jobs.columns]`."""

_ALWAYS = (
    'id = { role = "id", type = "bigint", generated = true }\n'
    'account = { role = "partition_key", type = "text" }\nnote = { type = "text" }\n'
)


def text(choice: Choice) -> str:
    """The description of a choice."""
    chosen = [SWITCHES[switch][setting] for switch, setting in choice.items()]
    if choice["group"] == "none":
        chosen = [one for one in chosen if not one[0].startswith("claims")]
    above, below = ("".join(part) for part in zip(*chosen, strict=True))
    return f"format = 1\n[table.jobs]\n{above}[table.jobs.columns]\n{_ALWAYS}{below}"


def table(choice: Choice) -> Table | None:
    """What is made of it; None for what the form does not have."""
    if choice["group"] == "none" and choice["claims"] != "table":
        return None  # the same as "table"
    try:
        return parse(text(choice).encode(), Path("tables.toml")).tables[0]
    except DescriptionInvalid:
        return None


def every() -> Iterator[Choice]:
    """All of them, in an order that changes every switch early."""
    made = [
        dict(zip(SWITCHES, settings, strict=True))
        for settings in itertools.product(*SWITCHES.values())
    ]
    random.Random(1).shuffle(made)
    return iter(made)


def pairs(choice: Choice) -> set[tuple[tuple[str, str], ...]]:
    """The pairs of settings in a choice."""
    return set(itertools.combinations(choice.items(), 2))


@functools.cache
def covering() -> Sequence[tuple[Choice, Table]]:
    """Choices in which every pair occurs that some table has. The same ones each time."""
    dice = random.Random(7)
    wanted = {
        ((one, a), (other, b))
        for one, other in itertools.combinations(SWITCHES, 2)
        for a in SWITCHES[one]
        for b in SWITCHES[other]
    }
    # an index of the claims alone, whose condition the steps through priorities must imply
    first = {
        "form": "row_lock",
        "group": "group",
        "claims": "table",
        "priority": "yes",
        "retry_after": "yes",
        "finished": "processed_at",
        "dead letter": "group",
        "where": "no",
        "dedupe": "no",
    }
    made: list[tuple[Choice, Table]] = []
    for choice in (first, {**first, "form": "advisory_lock"}):
        kept = table(choice)
        assert kept is not None
        made.append((choice, kept))
        wanted -= pairs(choice)
    while wanted:
        pair = min(wanted)
        tried = [
            {switch: dice.choice(list(settings)) for switch, settings in SWITCHES.items()}
            | dict(pair)
            for _ in range(60)
        ]
        tried.sort(key=lambda choice: -len(pairs(choice) & wanted))
        found = next(((c, t) for c in tried if (t := table(c)) is not None), None)
        # no table has both, FIFO and an advisory lock say
        wanted.discard(pair)
        if found is not None:
            made.append(found)
            wanted -= pairs(found[0])
    return made


def named(choice: Choice) -> str:
    """A choice in a line."""
    return ", ".join(f"{switch}: {setting}" for switch, setting in choice.items())
