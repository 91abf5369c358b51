"""Removing secrets from spans, log records, resources and scopes before they leave the process, by the collector's
own rules.

It fails closed: a span that cannot be searched to the end keeps its ids, times, kind and status code, a log record its
ids, times and the name of its event, and `retrospan.redacted` says that the rest is withheld.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from retrospan.schemas.attributes import (
    BEGUN,
    BEGUN_KIND,
    BEGUN_NAME,
    BEGUN_PARENT,
    BEGUN_REMOTE,
    EVENT_ID,
    PROCESS_ID,
)
from retrospan.schemas.redaction.matching import Matcher
from retrospan.schemas.redaction.messages import LOG, RESOURCE, SCOPE, SPAN, Message
from retrospan.schemas.redaction.rules import Rules
from retrospan.schemas.redaction.walk import Walk, fields, mark, marked
from retrospan.schemas.wire import delimited

_STATUS, _CODE = 15, 3
#: Ids, times, kind, flags and the dropped counts.
_KEPT = frozenset({1, 2, 4, 6, 7, 8, 10, 12, 14, 16})
#: Times, severity, flags, ids, and the event's name, which is always one of ours.
_KEPT_OF_LOGS = frozenset({1, 2, 7, 8, 9, 10, 11, 12})
#: What places a record: ids and numbers of our own making.
_PLACING = {
    name.encode(): re.compile(form)
    for name, form in (
        (EVENT_ID, rb"\x0a\x10[0-9a-f]{16}"),
        (PROCESS_ID, rb"\x0a\x10[0-9a-f]{16}"),
        (BEGUN_PARENT, rb"\x0a(\x10[0-9a-f]{16}|\x00)"),
        (BEGUN_REMOTE, rb"\x10[\x00\x01]"),
        (BEGUN_KIND, rb"\x18[\x00-\x05]"),
    )
}
_WITHHELD = mark([{"path": "*", "rule": "withheld"}])


def chosen_rules(choice: str | os.PathLike[str] | Rules) -> Rules | None:
    """Return the rules behind `secrets`, `all`, `off` or a TOML file. Raises ConfigError for an unusable file."""
    if isinstance(choice, Rules):
        return choice
    if choice == "off":
        return None
    if choice == "secrets":
        return Rules.secrets()
    return Rules.builtin() if choice == "all" else Rules.read(Path(choice))


class Cleaner:
    """Applies rules to what is encoded; `values` counts what it took out."""

    def __init__(self, rules: Rules | None) -> None:
        self._matcher = None if rules is None else Matcher(rules)
        self.values = 0
        self.withheld = 0

    def span(self, data: bytes, known: Iterable[bytes] = ()) -> bytes:
        """Return the span without what is to be taken out; `known` are attributes of it that are known to hold
        nothing."""
        return self._clean(data, SPAN, known)

    def log_record(self, data: bytes) -> bytes:
        return self._clean(data, LOG)

    def resource(self, data: bytes) -> bytes:
        return self._clean(data, RESOURCE)

    def scope(self, data: bytes) -> bytes:
        return self._clean(data, SCOPE)

    def _clean(self, data: bytes, shape: Message, known: Iterable[bytes] = ()) -> bytes:
        if self._matcher is None or not data:
            return data
        try:
            unknown = data
            for pair in known:
                unknown = unknown.replace(pair, b"", 1)
            if not self._matcher.may_hold(unknown):
                return data
            walk = Walk(self._matcher)
            new = walk.message(data, shape)
            if new is data:
                return data
            new = marked(new, shape.attributes, walk.taken)
        except (ValueError, RecursionError, MemoryError):
            self.withheld += 1
            return _withheld(data, shape)
        self.values += walk.taken.values
        return new


def _withheld(data: bytes, shape: Message) -> bytes:
    kept = b""
    if shape is SPAN:
        for each in fields(data):
            if each.number in _KEPT:
                kept += each.whole
            elif each.number == _STATUS:
                kept += delimited(
                    _STATUS, b"".join(f.whole for f in fields(each.content) if f.number == _CODE)
                )
        kept += delimited(5, b"[withheld]")
    elif shape is LOG:
        for each in fields(data):
            if each.number in _KEPT_OF_LOGS or (each.number == LOG.attributes and _is_harmless(each.content)):
                kept += each.whole
        if delimited(12, BEGUN.encode()) in kept:
            name = delimited(1, BEGUN_NAME.encode()) + delimited(2, delimited(1, b"[withheld]"))
            kept += delimited(LOG.attributes, name)
    return kept + delimited(shape.attributes, _WITHHELD)


def _is_harmless(pair: bytes) -> bool:
    """Tell whether an attribute is one that places the record, in the form in which we wrote it."""
    found = {each.number: each.content for each in fields(pair)}
    form = _PLACING.get(found.get(1, b""))
    return form is not None and form.fullmatch(found.get(2, b"")) is not None
