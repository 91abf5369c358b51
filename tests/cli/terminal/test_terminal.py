from __future__ import annotations

import pytest
from fix_cli import CUT_SHORT, HOSTILE, REFUND, SGR, Ask, Terminal, steering

from retrospan.ingest.cli.terminal.text import cells

EVERY_QUESTION = (
    ("runs",),
    ("show", HOSTILE),
    ("show", HOSTILE, "--full"),
    ("show", f"{HOSTILE}/1"),
    ("show", f"{HOSTILE}/2", "--full"),
    ("state", HOSTILE),
    ("state", HOSTILE, "--full"),
    ("trace", HOSTILE),
    ("trace", f"{HOSTILE}/1", "--down"),
    ("diff", HOSTILE, CUT_SHORT),
    ("diff", HOSTILE, CUT_SHORT, "--full"),
    ("findings",),
    ("loops",),
    ("entity", "evil/one"),
    ("entity", "evil/one", "--at", "now"),
    ("entity", "evil/two"),
    ("show", "\x1b[2Jno\x9bsuch"),
    ("show", "bad"),
    ("sql", "SELECT '\x1b[2J\x9b31m' AS `\x1b]0;x\x07`"),
    ("sql", "SELECT '\x1b[2J\x9b31m' AS x", "--format", "csv"),
    ("sql", "SELECT char(27) AS x FORMAT TSV"),
    ("sql", "SELECT \x1b[2J nonsense"),
    ("sql", "SELECT unhex('ff1b9b') AS x, unhex('e280ae') AS bidi"),
    ("trace", "document:\x1b[2J"),
    ("runs", "--agent", "\x1b[2J"),
    ("\x1b[2J",),
)


@pytest.mark.long
@pytest.mark.parametrize("words", EVERY_QUESTION, ids=lambda words: ascii(" ".join(words)))
def test_what_agents_wrote_never_steers_the_terminal(words: tuple[str, ...], terminal: Terminal) -> None:
    said = terminal(*words)
    assert said.out
    assert steering(said.out) == []


@pytest.mark.long
@pytest.mark.parametrize("words", EVERY_QUESTION, ids=lambda words: ascii(" ".join(words)))
def test_nor_through_a_pipe_and_json(words: tuple[str, ...], ask: Ask) -> None:
    said = ask(*words)
    assert steering(said.err) == []
    if "csv" not in words and "TSV" not in words[-1]:  # those are passed on byte by byte, for programs
        assert steering(said.out) == []
    if words[0] not in ("\x1b[2J", "sql"):
        assert steering(ask(*[word for word in words if word != "--full"], "--json").out) == []


@pytest.mark.long
@pytest.mark.parametrize("columns", [60, 100])
@pytest.mark.parametrize(
    "words",
    [
        ("runs",),
        ("show", REFUND),
        ("state", REFUND),
        ("findings",),
        ("findings", "--by", "rule"),
        ("loops",),
        ("loops", "--by", "day"),
        ("trace", REFUND),
        ("entity", "record/C-1042"),
    ],
)
def test_lines_fit_the_terminal(words: tuple[str, ...], columns: int, terminal: Terminal) -> None:
    said = terminal(*words, columns=columns)
    for line in SGR.sub("", said.out).splitlines():
        if not line.startswith(("next:", "not shown", "! ", "⟳")):
            assert cells(line) <= columns, line


def test_colour_only_on_a_terminal_and_as_asked(terminal: Terminal, ask: Ask) -> None:
    assert "\x1b[36m4bf92f357" in terminal("runs").out
    assert "\x1b" not in terminal("runs", environ={"NO_COLOR": "1"}).out
    assert "\x1b" not in terminal("runs", "--color", "never").out
    assert "\x1b" not in terminal("runs", environ={"TERM": "dumb"}).out
    assert "\x1b" not in ask("runs").out
    assert "\x1b[36m" in ask("runs", "--color", "always").out


def test_forced_colour_does_not_change_the_width(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = ask("runs").out
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert SGR.sub("", ask("runs").out) == plain


def test_a_narrow_terminal_gets_blocks(terminal: Terminal) -> None:
    said = terminal("loops", columns=50, environ={"NO_COLOR": "1"})
    assert "TOOL       search_docs" in said.out.splitlines()


def test_the_pager_shows_what_is_taller_than_the_terminal(terminal: Terminal) -> None:
    pager = {"RETROSPAN_PAGER": "sed s/^/paged:/"}
    assert "paged:" in terminal("show", REFUND, lines=5, environ=pager).out
    assert "paged:" not in terminal("show", REFUND, lines=50, environ=pager).out
    assert "paged:" not in terminal("show", REFUND, "--no-pager", lines=5, environ=pager).out
    assert "paged:" not in terminal("runs", lines=5, environ=pager).out
    assert "run " in terminal("show", REFUND, lines=5, environ={"RETROSPAN_PAGER": "no-such-pager"}).out


def test_the_zone_is_local_and_named_once(terminal: Terminal) -> None:
    said = terminal("runs", "--color", "never", environ={"TZ": "Europe/Oslo"})
    assert said.out.count("times Europe/Oslo") == 1
    assert "2026-09-21 16:00" in said.out
    assert "2026-09-21 14:00" in terminal("runs", "--utc", environ={"TZ": "Europe/Oslo"}).out
