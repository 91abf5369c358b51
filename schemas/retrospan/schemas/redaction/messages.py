"""Where text stands in OTLP's messages: field number to what is there, as the walk sees it.

Numbers and ids are not listed under `text` or `parts`; a field that is not listed at all is unknown, and goes when
the rules find something in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Message:
    """A message: names of its text fields, its messages (`{}` where they come in numbers), its attribute list, its
    AnyValue, and the fields that pass as they are."""

    text: Mapping[int, str] = field(default_factory=dict[int, str])
    parts: Mapping[int, tuple[str, Message]] = field(default_factory=dict[int, "tuple[str, Message]"])
    attributes: int = 0
    value: tuple[int, str] = (0, "")
    plain: frozenset[int] = frozenset()


EVENT = Message(text={2: "name"}, attributes=3)
LINK = Message(text={3: "trace_state"}, attributes=4, plain=frozenset({1, 2}))
STATUS = Message(text={2: "message"})
SPAN = Message(
    text={3: "trace_state", 5: "name"},
    parts={11: ("events[{}]", EVENT), 13: ("links[{}]", LINK), 15: ("status", STATUS)},
    attributes=9,
    plain=frozenset({1, 2, 4}),
)
LOG = Message(
    text={3: "severity_text", 12: "event_name"}, attributes=6, value=(5, "body"), plain=frozenset({9, 10})
)
ENTITY = Message(text={1: "schema_url", 2: "type", 3: "id_keys", 4: "description_keys"})
RESOURCE = Message(parts={3: ("entity_refs[{}]", ENTITY)}, attributes=1)
SCOPE = Message(text={1: "name", 2: "version"}, attributes=3)
