"""Paths into what a tool was given and what it returned: `arguments.record_id`, `result.rows[0]["due date"]`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from retrospan.ingest.json_text import read_value

#: Where a path begins. `each` is one element of the list that a rule goes through.
ROOTS = ("arguments", "result", "each")
_STEP = re.compile(
    r"""\.([A-Za-z_][\w-]*) | \[(-?\d{1,6})\] | \["([^"\]]*)"\] | \['([^'\]]*)'\]""", re.VERBOSE
)


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


#: What a path returns that leads to nothing; null is a value.
MISSING: Final = _Missing()


@dataclass(frozen=True, slots=True)
class Path:
    """Where a value lies, or, written `=text`, the text itself."""

    text: str
    root: str = ""  # '' for a constant
    steps: tuple[str | int, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Path:
        """Read a path. Raises ValueError, which says what is wrong with it."""
        if text.startswith("="):
            if len(text) == 1:
                raise ValueError("'=' is not followed by text")
            return cls(text)
        bare = text.removeprefix("$.")
        root = re.match(r"\w*", bare)[0]  # type: ignore[index]  # matches every text
        if root not in ROOTS:
            raise ValueError(f"{text!r} does not begin with one of {', '.join(ROOTS)}, or =")
        steps: list[str | int] = []
        at = len(root)
        while at < len(bare):
            step = _STEP.match(bare, at)
            if step is None:
                raise ValueError(
                    f'{text!r} cannot be read from {bare[at:]!r} on: write .name, [0] or ["name"]'
                )
            name, index, *quoted = step.groups()
            steps.append(int(index) if index is not None else name or quoted[0] or quoted[1] or "")
            at = step.end()
        return cls(text, root, tuple(steps))

    def follow(self, roots: Mapping[str, object]) -> object:
        """Return the value under the roots, or MISSING. A text that holds a JSON object or list is gone into."""
        if not self.root:
            return self.text[1:]
        value = roots.get(self.root, MISSING)
        for step in self.steps:
            value = read_value(value)
            if isinstance(step, str) and isinstance(value, dict):
                value = value.get(step, MISSING)
            elif isinstance(step, int) and isinstance(value, list) and -len(value) <= step < len(value):
                value = value[step]
            else:
                return MISSING
        return value
