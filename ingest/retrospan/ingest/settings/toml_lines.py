"""Where a key stands in a TOML file: the parser of the standard library does not say."""

from __future__ import annotations

import re
from collections import Counter

_HEADING = re.compile(r"\s*(\[\[?)\s*([^\]]+?)\s*\]")
_SETTING = re.compile(r'\s*"?([\w.-]+)"?\s*=')


class Lines:
    """The lines of the headings and settings of one file."""

    def __init__(self, text: str) -> None:
        self._found: dict[tuple[str, str], int] = {}
        table = ""
        entries: Counter[str] = Counter()
        for number, line in enumerate(text.splitlines(), start=1):
            if heading := _HEADING.match(line):
                table = heading[2].replace('"', "")
                if heading[1] == "[[":
                    name, table = table, f"{table}#{entries[table]}"
                    entries[name] += 1
                self._found.setdefault((table, ""), number)
            elif setting := _SETTING.match(line):
                self._found.setdefault((table, setting[1]), number)

    def of(self, table: str, key: str = "") -> int:
        """Return the line that sets a key of a table, or else that opens the table; 1 when it is written otherwise."""
        for place in ((table, key), ("", f"{table}.{key}"), (table, ""), ("", table)):
            if place in self._found:
                return self._found[place]
        return 1

    def of_rule(self, place: int, key: str = "") -> int:
        """Return the same of a `[[rule]]`, which are counted from 0."""
        return self.of_entry("rule", place, key)

    def of_entry(self, table: str, place: int, key: str = "") -> int:
        """Return the same of an entry of an array of tables, which are counted from 0."""
        opened = self._found.get((f"{table}#{place}", ""), 1)
        return self._found.get((f"{table}#{place}", key), opened)
