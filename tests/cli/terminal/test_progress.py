from __future__ import annotations

import io

from retrospan.ingest.cli.terminal.progress import Progress, progress_line
from retrospan.ingest.cli.terminal.screen import Screen


class TerminalText(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_line_has_bar_share_counts_rate_and_rest() -> None:
    told: dict[str, object] = {"done": 1204, "total": 1980, "unit": "runs"}
    said = progress_line(told, "interpreting", 13.68, bar=True)
    assert said == "interpreting  ████████████░░░░░░░░  61%  1,204/1,980 runs  88/s  8.8s left"
    assert progress_line(told, "interpreting", 13.68, bar=False).startswith(
        "interpreting  61%  1,204/1,980 runs"
    )
    assert progress_line({"done": 7}, "reading", 1, bar=True) == "reading  7"
    assert progress_line({"done": True, "total": 3}, "reading", 1, bar=True) == "reading"


def test_the_bar_appears_after_a_second_and_is_erased() -> None:
    err = TerminalText()
    with Progress(Screen(io.StringIO(), err)) as progress:
        progress.tell({"done": 1, "total": 2})
        assert err.getvalue() == ""
        progress._drawn_at -= 2
        progress.tell({"phase": "a\x1b[2J", "done": 1, "total": 2})
        assert "\r" in err.getvalue() and "\x1b[2J" not in err.getvalue()
    assert err.getvalue().endswith("\r\x1b[K")


def test_without_a_terminal_a_line_comes_every_ten_seconds() -> None:
    err = io.StringIO()
    with Progress(Screen(io.StringIO(), err)) as progress:
        progress.tell({"done": 1, "total": 2})
        assert err.getvalue() == ""
        progress._drawn_at -= 11
        progress.tell({"done": 1, "total": 2})
        progress.tell({"done": 2, "total": 2})
    assert err.getvalue().splitlines() == ["working  50%  1/2"]
