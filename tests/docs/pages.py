"""The pages as the tests read them: text, links, headings, code."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


@dataclass(frozen=True)
class Page:
    """One Markdown file."""

    path: Path

    @property
    def name(self) -> str:
        return str(self.path.relative_to(TOP))

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def prose(self) -> str:
        """The text without its blocks of code."""
        return _FENCE.sub("", self.text)

    @property
    def blocks(self) -> list[tuple[str, str]]:
        """Each block of code as (language, text)."""
        return [(found[1], found[2]) for found in _FENCE.finditer(self.text)]

    @property
    def inline(self) -> list[str]:
        """Each piece of code within a sentence or a table, in one line."""
        joined = re.sub(r"\n(?!\n|[|#])[ ]*", " ", self.prose)
        return [found[1].replace("\\|", "|") for found in _INLINE.finditer(joined)]

    @property
    def links(self) -> list[str]:
        return [found[1] for found in _LINK.finditer(self.prose)]

    @property
    def anchors(self) -> set[str]:
        """The names of the headings, as a link writes them."""
        headings = re.findall(r"^#+ (.+)$", self.prose, re.MULTILINE)
        return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}

    @property
    def code(self) -> Iterator[str]:
        """Every line of code, in blocks and in sentences."""
        for _, text in self.blocks:
            yield from text.replace("\\\n", " ").splitlines()
        yield from self.inline


def pages() -> list[Page]:
    """Every page in git, and every new one that is not ignored."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", "*.md"],
        cwd=TOP,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.split()
    found = [TOP / name for name in listed] or [*TOP.glob("*.md"), *(TOP / "docs").rglob("*.md")]
    return [Page(path) for path in sorted(found) if path.exists()]


PAGES = pages()
