"""Where a key stands in a TOML file: the parser of the standard library does not say."""

from __future__ import annotations

import re

_HEADING = re.compile(r"\s*(\[\[?)\s*([^\]]+?)\s*\]")
_SETTING = re.compile(r'\s*"?([\w.-]+)"?\s*=')


class Lines:
    """The lines of the headings and settings of one file."""

    def __init__(self, text: str) -> None:
        self._found: dict[tuple[str, str], int] = {}
        table, rules = "", 0
        for number, line in enumerate(text.splitlines(), start=1):
            if heading := _HEADING.match(line):
                table = heading[2].replace('"', "")
                if heading[1] == "[[":
                    table, rules = f"{table}#{rules}", rules + 1
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
        return self._found.get((f"rule#{place}", key), self._found.get((f"rule#{place}", ""), 1))
