"""The payload of a report job."""

from dataclasses import dataclass
from datetime import date
from enum import StrEnum


class Layout(StrEnum):
    """How a report is printed."""

    PDF = "pdf"
    SHEET = "sheet"


@dataclass(frozen=True)
class Report:
    """Which report to render."""

    id: int
    since: date
    until: date
    layout: Layout = Layout.PDF
