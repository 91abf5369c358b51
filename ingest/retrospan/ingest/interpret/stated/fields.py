"""The attributes of one event or span, read as what the conventions say they are; anything else is a problem."""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Mapping

from retrospan.ingest.interpret.spans.parse_issues import ParseIssues
from retrospan.ingest.interpret.spans.span import Attributes
from retrospan.ingest.interpret.stated.times import NotATime, read_rfc3339
from retrospan.ingest.json_text import Unreadable, read_json, write_json

_GREATEST = sys.float_info.max


class Fields:
    """None means that the attribute is missing, empty, or no such value; the last is listed under `problems`.

    `sent_as` says what attributes were called that were sent under another name.
    """

    def __init__(
        self,
        attributes: Attributes,
        span_id: str,
        problems: ParseIssues,
        sent_as: Mapping[str, str] | None = None,
    ) -> None:
        self._attributes = attributes
        self._span_id = span_id
        self._problems = problems
        self._sent_as = sent_as or {}

    def has(self, name: str) -> bool:
        return name in self._attributes

    def refuse(self, name: str, reason: str, raw: object = None) -> None:
        """List a problem with an attribute."""
        raw = self._attributes.get(name, "") if raw is None else raw
        self._problems.add(self._span_id, self._sent_as.get(name, name), raw, reason)

    def text(self, name: str) -> str | None:
        """Return text; any other value as JSON."""
        value = self._attributes.get(name)
        if value is None or value == "":
            return None
        return value if isinstance(value, str) else write_json(value)

    def required(self, name: str, event: str) -> str | None:
        """Return text whose absence is a problem of the event."""
        value = self.text(name)
        if value is None:
            self.refuse(name, f"missing in the event {event}")
        return value

    def choice(self, name: str, allowed: Collection[str]) -> str | None:
        value = self._attributes.get(name)
        if value is None or value == "":
            return None
        if isinstance(value, str) and value in allowed:
            return value
        self.refuse(name, f"none of {', '.join(allowed)}")
        return None

    def flag(self, name: str) -> bool:
        """Return a truth; False where there is none."""
        value = self._attributes.get(name)
        if value in ("true", "false"):
            return value == "true"
        if isinstance(value, bool) or value is None:
            return bool(value)
        self.refuse(name, "not a bool")
        return False

    def whole(self, name: str) -> int | None:
        """Return a whole number, also where it travels as text or as a double."""
        value = self._attributes.get(name)
        if value is None or value == "":
            return None
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        if isinstance(value, float) and value.is_integer():
            return int(value)
        if isinstance(value, str) and len(value) < 20:
            try:
                return int(value)
            except ValueError:
                pass
        self.refuse(name, "not a whole number")
        return None

    def count(self, name: str) -> int | None:
        """Return a whole number from 0 on."""
        value = self.whole(name)
        if value is not None and not 0 <= value < 1 << 63:
            self.refuse(name, "not a number of at least 0")
            return None
        return value

    def share(self, name: str) -> float | None:
        """Return a number from 0 to 1."""
        return self._number(name, 0, 1, "not a number from 0 to 1")

    def number(self, name: str) -> float | None:
        """Return a number; one that is not finite is not one."""
        return self._number(name, -_GREATEST, _GREATEST, "not a finite number")

    def _number(self, name: str, least: float, most: float, reason: str) -> float | None:
        """Return a number within bounds, also where it travels as text."""
        value = self._attributes.get(name)
        if value is None or value == "":
            return None
        if isinstance(value, str):
            try:
                value = float(value)
            except ValueError:
                value = math.nan
        if isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most:
            return float(value)
        self.refuse(name, reason)
        return None

    def time(self, name: str) -> int | None:
        """Return the Unix nanoseconds of an RFC 3339 time; one outside the years that can be kept, the nearest end."""
        value = self._attributes.get(name)
        if value is None or value == "":
            return None
        try:
            found = read_rfc3339(value)
        except NotATime as reason:
            self.refuse(name, str(reason))
            return None
        if found.kept != found.nanoseconds:
            self.refuse(name, "before 1970 or after 2262: kept as the nearest time within")
        return found.kept

    def json_object(self, name: str) -> dict[str, object] | None:
        value = self._json(name)
        if value is None or isinstance(value, dict):
            return value
        self.refuse(name, "not a JSON object")
        return None

    def json_array(self, name: str) -> list[object] | None:
        value = self._json(name)
        if value is None or isinstance(value, list):
            return value
        self.refuse(name, "not a JSON array")
        return None

    def _json(self, name: str) -> object:
        """Return the value of JSON text; a value that did not travel as text as it is. What is not JSON is a problem."""
        value = self._attributes.get(name)
        if value is None or value == "" or not isinstance(value, str):
            return None if value == "" else value
        read = read_json(value)
        if isinstance(read, Unreadable):
            self.refuse(name, read.reason)
            return None
        return read
