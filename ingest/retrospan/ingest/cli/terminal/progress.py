"""A progress bar on standard error; without a terminal a line every ten seconds with absolute numbers."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from retrospan.ingest.cli.terminal.screen import Screen, render
from retrospan.ingest.cli.terminal.text import count, cut, duration, safe

SHOW_AFTER_SECONDS = 1.0
LINE_SECONDS = 10.0
_REDRAW_SECONDS = 0.1
_BAR = 20


class Progress:
    """Draws what a long command tells: objects with `done`, `total` and optionally `phase` and `unit`."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._started = time.monotonic()
        self._drawn_at = self._started + SHOW_AFTER_SECONDS - _REDRAW_SECONDS
        self._phase = ""
        self._phase_started = self._started
        self._is_drawn = False

    def __enter__(self) -> Self:
        if not self._screen.err_is_terminal:
            self._drawn_at = self._started
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_drawn:
            self._screen.err.write("\r\x1b[K")
            self._screen.err.flush()

    def tell(self, told: dict[str, object]) -> None:
        """Show the progress if enough time has passed since it was shown last."""
        now = time.monotonic()
        phase = str(told.get("phase") or "working")
        if phase != self._phase:
            self._phase, self._phase_started = phase, now
        wait = _REDRAW_SECONDS if self._screen.err_is_terminal else LINE_SECONDS
        if now - self._drawn_at < wait:
            return
        self._drawn_at = now
        line = progress_line(told, phase, now - self._phase_started, bar=self._screen.err_is_terminal)
        if self._screen.err_is_terminal:
            width = (self._screen.width or 80) - 1
            self._screen.err.write("\r" + render([cut(safe(line), width)], False) + "\x1b[K")
            self._screen.err.flush()
            self._is_drawn = True
        else:
            self._screen.note(line)


def progress_line(told: dict[str, object], phase: str, seconds: float, *, bar: bool) -> str:
    """`interpreting  ████░░  61%  1,204/1,980 runs  88/s  9s left`."""
    done, total = told.get("done"), told.get("total")
    words = [phase]
    if type(done) is int and type(total) is int and total > 0:  # a bool is not a count
        share = min(done / total, 1.0)
        if bar:
            filled = int(share * _BAR)
            words.append("█" * filled + "░" * (_BAR - filled))
        words += [f"{share:.0%}", f"{count(done)}/{count(total)} {told.get('unit') or ''}".strip()]
        if done and seconds > 0.5:
            rate = done / seconds
            words += [f"{rate:,.0f}/s", f"{duration((total - done) / rate * 1000)} left"]
    elif type(done) is int:
        words.append(f"{count(done)} {told.get('unit') or ''}".strip())
    return "  ".join(words)
