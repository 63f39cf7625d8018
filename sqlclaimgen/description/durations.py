"""Times in a description: `60s`, `5m`, `1h`, `2d`."""

from __future__ import annotations

import re

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}

PATTERN = "^[1-9][0-9]*[smhd]$"

LONGEST = 365 * 86400
"""Seconds. Later times overflow somewhere on their way (catalogue DE-04)."""

_DURATION = re.compile(r"([0-9]+)([smhd])", re.ASCII)
_FINER = re.compile(r"[0-9]+ *(?:ms|us|µs|ns)|[0-9]*\.[0-9]+ *[a-z]*", re.ASCII)


def seconds(value: object) -> int | tuple[str, str]:
    """The seconds that `value` means, or what is wrong with it and the way out."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return "is no text", 'Write a whole number and a unit, s, m, h or d: "30s".'
    if isinstance(value, float) and not value.is_integer():
        return f"is {value}, and only whole seconds are served", 'Write whole seconds: "30s".'
    if isinstance(value, int | float):
        return (
            f"is the bare number {value}, which has no unit",
            f'Write "{int(value)}s" for seconds.',
        )
    match = _DURATION.fullmatch(value)
    if match is None:
        if _FINER.fullmatch(value):
            return f'is "{value}", and only whole seconds are served', 'Write whole seconds: "1s".'
        if value.isdecimal():
            return f'is "{value}", which has no unit', f'Write "{value}s" for seconds.'
        return (
            f'is "{value}", which is no time',
            'Write a whole number and one unit, s, m, h or d: "30s", "5m", "1h", "2d".',
        )
    # Python reads no more than some thousand digits, and the longest time has eight
    total = int(match[1][:20]) * SECONDS[match[2]]
    if len(match[1]) > 20:
        total = LONGEST + 1
    if total == 0:
        return f'is "{value}", and a time has to pass', 'Write at least "1s".'
    if total > LONGEST:
        return f'is "{value}", and the longest time is a year', 'Write at most "365d".'
    return total
