"""One message of OTLP, field by field on the wire: what the rules find is replaced, everything else keeps its bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from retrospan.schemas import wire
from retrospan.schemas.attributes import REDACTED
from retrospan.schemas.redaction.matching import NAMED, NAMING, Matcher, Taken, TooDeep, is_marker, marker
from retrospan.schemas.redaction.messages import Message
from retrospan.schemas.redaction.rules import alike
from retrospan.schemas.wire import DELIMITED, VARINT, delimited, read_varint

_MOST_NESTED = 100
#: A pair that says how another is called.
_LONGEST_NAMING = 300
#: AnyValue's members.
_STRING, _BOOL, _INT, _ARRAY, _MAP = 1, 2, 3, 5, 6


class Field(NamedTuple):
    """A field on the wire: `whole` with its tag, `content` without tag and length."""

    number: int
    wire_type: int
    whole: bytes
    content: bytes


def fields(data: bytes) -> Iterator[Field]:
    """Yield the fields of a message in their order. Raises NotWalkable."""
    for number, wire_type, begin, start, stop in wire.fields(data):
        yield Field(number, wire_type, data[begin:stop], data[start:stop])


class Walk:
    """Applies a matcher to one span, log record, resource or scope."""

    def __init__(self, matcher: Matcher) -> None:
        self._matcher = matcher
        self.taken = Taken()

    def message(self, data: bytes, shape: Message, path: str = "") -> bytes:
        """Return the message without what is to be taken out. Raises NotWalkable, TooDeep."""
        parts: list[bytes] = []
        changed = False
        counts: dict[int, int] = {}
        for each in fields(data):
            if each.wire_type != DELIMITED or each.number in shape.plain:
                parts.append(each.whole)
                continue
            place = counts[each.number] = counts.get(each.number, -1) + 1
            new = self._field(each, shape, path, place)
            changed = changed or new is not each.whole
            parts.append(new)
        return b"".join(parts) if changed else data

    def _field(self, each: Field, shape: Message, path: str, place: int) -> bytes:
        number, content = each.number, each.content
        if number == shape.attributes:
            new = self._attribute(content, _under(path, "attributes"), "", 0)
        elif number in shape.text:
            new = self._text(content, _under(path, shape.text[number]))
        elif number in shape.parts:
            name, inner = shape.parts[number]
            new = self.message(content, inner, _under(path, name.format(place)))
        elif number == shape.value[0]:
            new = self._value(content, _under(path, shape.value[1]), "", 0)
        else:
            before = self.taken.values
            self._text(content, _under(path, f"field {number}"))
            return each.whole if self.taken.values == before else b""
        return each.whole if new is content else delimited(number, new)

    def _text(self, data: bytes, path: str) -> bytes:
        text = data.decode(errors="surrogateescape")
        masked = self._matcher.text(text, path, self.taken)
        return data if masked is text else masked.encode(errors="surrogateescape")

    def _attribute(self, data: bytes, shown: str, path: str, depth: int, named: str | None = None) -> bytes:
        """Return a key and its value. `path` is what key rules see, `shown` what is listed; `named`: the rule for the
        value of a pair."""
        if not depth and not self._matcher.may_hold(data):
            return data
        keys = [each.content for each in fields(data) if each.number == 1 and each.wire_type == DELIMITED]
        key = keys[-1].decode(errors="surrogateescape") if keys else ""
        if key == REDACTED and not depth:
            return data
        path = self._matcher.below(path, key)
        shown = self._matcher.below(shown, key)
        rule = self._matcher.rule_for(path) or (named if alike(key) in NAMED else None)
        parts: list[bytes] = []
        changed = False
        for each in fields(data):
            new = each.whole
            if each.number == 2 and each.wire_type == DELIMITED:
                value = self._hidden(each.content, rule, shown) if rule else None
                if value is None:
                    value = self._value(each.content, shown, path, depth)
                new = each.whole if value is each.content else delimited(2, value)
            elif each.wire_type == DELIMITED:
                content = self._text(each.content, shown)
                new = each.whole if content is each.content else delimited(each.number, content)
            changed = changed or new is not each.whole
            parts.append(new)
        return b"".join(parts) if changed else data

    def _hidden(self, value: bytes, rule: str, shown: str) -> bytes | None:
        """Return what stands for a value under a key that a rule names; None where the value holds nothing."""
        inside = [each.content for each in fields(value) if each.wire_type != VARINT or each.number != _BOOL]
        if all(not content or is_marker(content.decode(errors="replace")) for content in inside):
            return None
        self.taken.note(shown, rule)
        return delimited(_STRING, marker(rule).encode())

    def _value(self, data: bytes, shown: str, path: str, depth: int) -> bytes:
        """Return an AnyValue."""
        if depth > _MOST_NESTED:
            raise TooDeep(f"values are nested deeper than {_MOST_NESTED} levels")
        parts: list[bytes] = []
        changed = False
        for each in fields(data):
            new = each.whole
            if each.number == _ARRAY and each.wire_type == DELIMITED:
                content = self._members(each.content, shown, path, depth + 1, named=False)
                new = each.whole if content is each.content else delimited(_ARRAY, content)
            elif each.number == _MAP and each.wire_type == DELIMITED:
                content = self._members(each.content, shown, path, depth + 1, named=True)
                new = each.whole if content is each.content else delimited(_MAP, content)
            elif each.wire_type == DELIMITED:
                content = self._string(each.content, shown, path)
                new = each.whole if content is each.content else delimited(each.number, content)
            elif each.number == _INT and each.wire_type == VARINT:
                new = self._integer(each, shown)
            changed = changed or new is not each.whole
            parts.append(new)
        return b"".join(parts) if changed else data

    def _members(self, data: bytes, shown: str, path: str, depth: int, *, named: bool) -> bytes:
        parts: list[bytes] = []
        changed = False
        rule = self._rule_of_pair(data, path, depth) if named else self._rule_of_two(data, path, depth)
        for place, each in enumerate(fields(data)):
            new = each.whole
            if each.wire_type == DELIMITED:
                if named:
                    content = self._attribute(each.content, shown, path, depth, rule)
                elif rule is not None and place == 1:
                    content = self._hidden(each.content, rule, f"{shown}[{place}]") or each.content
                else:
                    content = self._value(each.content, f"{shown}[{place}]", path, depth)
                new = each.whole if content is each.content else delimited(each.number, content)
            changed = changed or new is not each.whole
            parts.append(new)
        return b"".join(parts) if changed else data

    def _rule_of_pair(self, data: bytes, path: str, depth: int) -> str | None:
        """Return the rule for the value of a map such as {name: cookie, value: …}."""
        for each in fields(data):
            key, value = _pair(each.content) if len(each.content) <= _LONGEST_NAMING else ("", "")
            if alike(key) in NAMING and (rule := self._matcher.rule_for_named(path, value)):
                return rule
        return None

    def _rule_of_two(self, data: bytes, path: str, depth: int) -> str | None:
        """Return the rule for the second value of [cookie, …], which is itself in a list."""
        found = list(islice(fields(data), 3)) if depth > 1 else []
        if len(found) != 2 or len(found[0].content) > _LONGEST_NAMING:
            return None
        texts = [each.content for each in fields(found[0].content) if each.number == _STRING]
        return self._matcher.rule_for_named(path, texts[0].decode(errors="replace")) if texts else None

    def _string(self, data: bytes, shown: str, path: str) -> bytes:
        text = data.decode(errors="surrogateescape")
        masked = self._matcher.text(text, shown, self.taken, keys_below=path)
        return data if masked is text else masked.encode(errors="surrogateescape")

    def _integer(self, each: Field, shown: str) -> bytes:
        """Mask a card's number that is sent as a number."""
        number = read_varint(each.content, 0, len(each.content))
        text = str(number[0]) if number else ""
        masked = self._matcher.text(text, shown, self.taken) if len(text) >= 13 else text
        return each.whole if masked is text else delimited(_STRING, masked.encode())


def marked(data: bytes, attributes: int, taken: Taken) -> bytes:
    """Return the message with what was taken out of it listed under `retrospan.redacted`, after what a sender's own
    redaction listed there."""
    parts: list[bytes] = []
    listed: list[object] = []
    for each in fields(data):
        key, value = (
            _pair(each.content) if each.number == attributes and each.wire_type == DELIMITED else ("", "")
        )
        if key != REDACTED:
            parts.append(each.whole)
            continue
        listed += _entries(value)
    listed += [{"path": path, "rule": rule} for path, rule in taken.pairs]
    return b"".join(parts) + delimited(attributes, mark(listed))


def mark(listed: list[object]) -> bytes:
    """Return the attribute, as a KeyValue."""
    text = json.dumps(listed, ensure_ascii=True).encode()
    return delimited(1, REDACTED.encode()) + delimited(2, delimited(_STRING, text))


def _entries(text: str) -> list[object]:
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError):
        return []
    if not isinstance(found, list):
        return []
    known = [each for each in found if isinstance(each, dict) and set(each) == {"path", "rule"}]
    return [each for each in known if all(isinstance(value, str) for value in each.values())]


def _pair(data: bytes) -> tuple[str, str]:
    key = value = b""
    for each in fields(data):
        if each.number == 1:
            key = each.content
        elif each.number == 2 and each.wire_type == DELIMITED:
            value = b"".join(inner.content for inner in fields(each.content) if inner.number == _STRING)
    return key.decode(errors="replace"), value.decode(errors="replace")


def _under(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
