"""The two streams of a command: the answer on standard output, everything else on standard error.

Everything written passes `safe` here, so no stored text can steer the terminal; the only escape sequences that
leave are the eight colours chosen here. A pipe gets the same text, never cut, wrapped, coloured or paged.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Literal, TextIO

from retrospan.ingest.cli.terminal.text import safe

Style = Literal["", "bold", "dim", "red", "green", "yellow", "blue", "magenta", "cyan"]
#: A piece of a line: text, or text with a style. Text is made safe when it is written.
Part = str | tuple[str, Style]

_SGR = {
    "bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "magenta": "35", "cyan": "36",
}  # fmt: skip
_ASCII = str.maketrans(
    {
        "…": "...", "→": "->", "├": "|", "└": "`", "│": "|", "─": "-", "⊘": "(none)", "⟳": "x", "·": "|", "█": "#",
        "░": ".", "≥": ">=", "←": "<-", "×": "x", "•": "*",
    }
)  # fmt: skip
MIN_WIDTH = 20


def wants_colour(choice: str, is_terminal: bool, environ: Mapping[str, str]) -> bool:
    """Return whether to colour: --color, then NO_COLOR, then FORCE_COLOR, then TERM=dumb, then only on a terminal."""
    if choice != "auto":
        return choice == "always"
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return True
    return environ.get("TERM") != "dumb" and is_terminal


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except ValueError:  # closed
        return False


class Screen:
    """Where one command writes. `width` is None when lines must not be cut."""

    def __init__(
        self,
        out: TextIO,
        err: TextIO,
        *,
        width: int | None = None,
        height: int = 24,
        colour: bool = False,
        err_colour: bool = False,
        pager: str | None = None,
    ) -> None:
        self.out = out
        self.err = err
        self.width = width
        self.height = height
        self.is_terminal = _is_terminal(out)
        self.err_is_terminal = _is_terminal(err)
        self._colour = colour
        self._err_colour = err_colour
        self._pager = pager
        self._held: list[str] | None = None
        self._ascii = not _speaks_utf8(out)
        self._err_ascii = not _speaks_utf8(err)

    @classmethod
    def open(
        cls,
        color: str = "auto",
        *,
        wide: bool = False,
        pager: bool = True,
        environ: Mapping[str, str] | None = None,
    ) -> Screen:
        """Return the screen of this process: standard output and error, with what the terminal can do."""
        environ = os.environ if environ is None else environ
        for stream in (sys.stdout, sys.stderr):
            reconfigure = getattr(stream, "reconfigure", None)
            if reconfigure is not None:
                reconfigure(errors="backslashreplace")
        is_terminal = _is_terminal(sys.stdout)
        columns, lines = shutil.get_terminal_size()
        return cls(
            sys.stdout,
            sys.stderr,
            width=max(columns, MIN_WIDTH) if is_terminal and not wide else None,
            height=lines,
            colour=wants_colour(color, is_terminal, environ),
            err_colour=wants_colour(color, _is_terminal(sys.stderr), environ),
            pager=_pager(environ) if pager and is_terminal else None,
        )

    @property
    def mark(self) -> str:
        """What stands for text that was cut."""
        return "..." if self._ascii else "…"

    def line(self, *parts: Part) -> None:
        """Write one line of the answer."""
        text = render(parts, self._colour, self._ascii).rstrip(" ")
        if self._held is not None:
            self._held.append(text)
        else:
            self.out.write(text + "\n")

    def lines(self, lines: Iterator[list[Part]] | list[list[Part]]) -> None:
        for parts in lines:
            self.line(*parts)

    def note(self, *parts: Part) -> None:
        """Write one line to standard error: what limits or explains the answer."""
        self._flush_out()
        self.err.write(render(parts, self._err_colour, self._err_ascii) + "\n")
        self.err.flush()

    def say(self, text: str) -> None:
        """Write text to standard error, a line for each of its lines: why there is no answer."""
        for line in text.split("\n"):
            self.note(line)

    def hint(self, *parts: Part) -> None:
        """Write one dim line to standard error, for people only: nothing when it is not a terminal."""
        if self.err_is_terminal and self.is_terminal:
            dimmed: list[Part] = [part if isinstance(part, tuple) else (part, "dim") for part in parts]
            self.note(*dimmed)

    def warn(self, text: str) -> None:
        """Says, before the data, what is incomplete about it."""
        self.note(("! " + text, "yellow"))

    def error(self, message: str) -> None:
        """Write `error: …` to standard error; further lines of the message stay lines."""
        first, *rest = message.split("\n")
        self.note(("error:", "red"), " " + first)
        for line in rest:
            self.note("  " + line)

    def data(self, text: str) -> None:
        """Write text that is safe by construction, such as JSON that escapes, as it is."""
        self.out.write(text)

    def _flush_out(self) -> None:
        if self._held is None:
            self.out.flush()

    @contextmanager
    def paged(self) -> Iterator[None]:
        """Show what is written inside through the pager if it is taller than the terminal."""
        if self._pager is None or self._held is not None:
            yield
            return
        self._held = []
        try:
            yield
        finally:
            held, self._held = self._held, None
            self._show(held)

    def _show(self, lines: list[str]) -> None:
        text = "".join(line + "\n" for line in lines)
        if self._pager is None or len(lines) < self.height or not _page(self._pager, text):
            self.out.write(text)
            self.out.flush()


def render(parts: tuple[Part, ...] | list[Part], colour: bool, ascii_only: bool = False) -> str:
    """Return the parts as one line; every part is made safe, styles become SGR sequences or nothing."""
    pieces: list[str] = []
    for part in parts:
        text, style = part if isinstance(part, tuple) else (part, "")
        text = safe(text)
        if ascii_only:
            text = text.translate(_ASCII)
        pieces.append(f"\x1b[{_SGR[style]}m{text}\x1b[0m" if colour and style and text else text)
    return "".join(pieces)


def _speaks_utf8(stream: TextIO) -> bool:
    encoding = getattr(stream, "encoding", None)
    return encoding is None or encoding.lower().replace("-", "") in ("utf8", "utf_8", "utf8sig")


def _pager(environ: Mapping[str, str]) -> str | None:
    if sys.platform == "win32" or environ.get("TERM") == "dumb":
        return None
    for name in ("RETROSPAN_PAGER", "PAGER"):
        if name in environ:
            chosen = environ[name].strip()
            return None if chosen in ("", "cat") else chosen
    return "less -FRX" if shutil.which("less") else None


def _page(command: str, text: str) -> bool:
    """Run the pager; False if it could not start."""
    import shlex
    import subprocess

    try:
        process = subprocess.Popen(shlex.split(command), stdin=subprocess.PIPE)
    except (OSError, ValueError):
        return False
    try:
        process.communicate(text.encode(errors="backslashreplace"))
    except KeyboardInterrupt:
        process.wait()
    return True
