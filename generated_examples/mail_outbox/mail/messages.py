"""The payload of the outbox."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Attachment:
    """A file, by where it is stored."""

    name: str
    key: str


@dataclass(frozen=True)
class Message:
    """A mail's text."""

    subject: str
    body: str
    attachments: list[Attachment] = field(default_factory=list[Attachment])
