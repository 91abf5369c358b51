"""Text for terminals: agents' text is made harmless, measured in cells, cut with a mark, and made readable.

`safe` is the only way from stored text to a stream; `cli/terminal/screen.py` applies it to everything it writes.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from retrospan.ingest.visible_text import visible

ELLIPSIS = "…"


def safe(text: str) -> str:
    """Return the text on one line, with every character that could steer a terminal or hide shown as its escape."""
    return visible(text)


def safe_lines(text: str) -> list[str]:
    """Return the text as safe lines: line feeds break lines (CRLF too), tabs are four spaces."""
    return [safe(line) for line in text.replace("\r\n", "\n").replace("\t", "    ").split("\n")]


def cells(text: str) -> int:
    """Return how many terminal cells the safe text takes. Emoji built of several characters may be counted too wide."""
    if text.isascii():
        return len(text)
    return sum(_cell(character) for character in text)


def _cell(character: str) -> int:
    if character < "\u0300":
        return 1
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def cut(text: str, width: int | None, mark: str = ELLIPSIS) -> str:
    """Return the safe text in at most `width` cells, ending in the mark where something is left out."""
    if width is None or cells(text) <= width:
        return text
    room = width - cells(mark)
    if room < 0:
        return mark[:width]
    kept: list[str] = []
    for character in text:
        room -= _cell(character)
        if room < 0:
            break
        kept.append(character)
    return "".join(kept) + mark


def fitted(text: str, width: int | None, mark: str = ELLIPSIS, length: int | None = None) -> str:
    """Return the text, made safe, in at most `width` cells; where cut, its full length is given: `… [20,066 chars]`.

    `length` is the number of characters of the whole when `text` is only its beginning.
    """
    length = max(len(text), length or 0)
    shown = safe(text if width is None else text[: 4 * width + 8])
    if length <= len(text) and (width is None or (len(text) <= 4 * width + 8 and cells(shown) <= width)):
        return shown
    said = f"{mark} [{length:,} chars]"
    return (shown if width is None else cut(shown, max(width - cells(said), 1), "")) + said


def pad(text: str, width: int, *, right: bool = False) -> str:
    """Return the safe text filled with blanks to `width` cells."""
    blank = " " * max(0, width - cells(text))
    return blank + text if right else text + blank


def wrap(text: str, width: int | None) -> Iterator[str]:
    """Yield the safe line broken at blanks into lines of at most `width` cells; without a width, as it is."""
    if width is None or cells(text) <= width:
        yield text
        return
    line = ""
    for word in text.split(" "):
        while cells(word) > width:  # no blank to break at: break anywhere
            if line:
                yield line
                line = ""
            head = cut(word, width, "")
            if not head:
                break
            yield head
            word = word[len(head) :]
        if line and cells(line) + 1 + cells(word) > width:
            yield line
            line = word
        else:
            line = f"{line} {word}" if line else word
    if line:
        yield line


def count(number: int | None) -> str:
    """1204 → `1,204`; 1234567 → `1.2M`; unknown → `-`."""
    if number is None:
        return "-"
    if abs(number) < 100_000:
        return f"{number:,}"
    for unit, size in (("k", 1e3), ("M", 1e6), ("G", 1e9)):
        if abs(number) < size * 999.95:
            return f"{number / size:.0f}{unit}" if unit == "k" else f"{number / size:.1f}{unit}"
    return f"{number:.1e}"


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """`1 run`, `1,204 runs`."""
    return f"{count(number)} {noun if number == 1 else plural or noun + 's'}"


def size(number: int | None) -> str:
    """Bytes: `512 B`, `18.4 MB` (powers of 1000); unknown → `-`."""
    if number is None:
        return "-"
    if number < 1000:
        return f"{number} B"
    for unit, scale in (("kB", 1e3), ("MB", 1e6), ("GB", 1e9)):
        if number < scale * 999.95:
            return f"{number / scale:.1f} {unit}"
    return f"{number / 1e12:.1f} TB"


def duration(milliseconds: float | None) -> str:
    """`0.4ms`, `84ms`, `4.2s`, `3m12s`, `2h05m`, `3d04h`; unknown → `-`."""
    if milliseconds is None:
        return "-"
    sign, ms = ("-", -milliseconds) if milliseconds < 0 else ("", milliseconds)
    if ms < 1:
        return f"{sign}{ms:.1g}ms" if ms else "0ms"
    if ms < 999.5:
        return f"{sign}{ms:.0f}ms"
    if ms < 59_950:
        return f"{sign}{ms / 1000:.1f}s"
    seconds = round(ms / 1000)
    if seconds < 3600:
        return f"{sign}{seconds // 60}m{seconds % 60:02d}s"
    minutes = round(seconds / 60)
    if minutes < 1440:
        return f"{sign}{minutes // 60}h{minutes % 60:02d}m"
    return f"{sign}{minutes // 1440}d{minutes % 1440 // 60:02d}h"


def nearest(name: str, known: list[str]) -> str | None:
    """Return the known name that was most likely meant, or None."""
    import difflib  # 7 ms, only needed to word an error

    folded = {candidate.lower(): candidate for candidate in known}
    found = difflib.get_close_matches(name.lower(), list(folded), n=1, cutoff=0.6)
    return folded[found[0]] if found else None
