from __future__ import annotations

import io
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrospan.ingest.cli.terminal.screen import Screen, wants_colour
from retrospan.ingest.cli.terminal.table import Column, show_pairs, show_table
from retrospan.ingest.cli.terminal.text import (
    cells,
    count,
    cut,
    duration,
    fitted,
    nearest,
    pad,
    safe,
    size,
    wrap,
)
from retrospan.ingest.cli.terminal.values import dump, is_escaped, json_line

OWN = re.compile(r"\x1b\[(?:0|1|2|3[1-6])m")
# Plain random text, and text rich in what steers terminals: ESC, C1, bidi, halves of surrogates, newlines.
STEERING = st.text(
    st.sampled_from(
        "\x1b\x9b\x9d\x07\x00\x7f\r\n\t\u202e\u2066\u2069\u200b\ufeff\u2028\udcff[]0;31mA日é\u0301"
    )
)
TEXTS = st.one_of(st.text(), STEERING)


def obeyed(text: str) -> list[str]:
    """Characters that a terminal or a reader's eye would be led by."""
    hidden = ("Cc", "Cf", "Cs", "Zl", "Zp")
    allowed = "\n\u200c\u200d\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2"
    return [c for c in OWN.sub("", text) if unicodedata.category(c) in hidden and c not in allowed]


@given(TEXTS, TEXTS, st.sampled_from([None, 20, 59, 60, 100]), st.booleans())
def test_no_text_steers_the_terminal_on_either_stream(
    one: str, other: str, width: int | None, colour: bool
) -> None:
    out, err = io.StringIO(), io.StringIO()
    screen = Screen(out, err, width=width, colour=colour, err_colour=colour)
    screen.line(one, (other, "red"), (one, "bold"))
    show_table(
        screen, [Column("A", text=True), Column(one, style="cyan", limit=9), Column("B")], [[one, other, one]]
    )
    show_pairs(screen, [(one, other), (other, one)])
    screen.note((one, "dim"), other)
    screen.warn(one)
    screen.error(f"{one}\n{other}")
    screen.data(json_line({one: other, "arguments": other}) + "\n")
    for stream in (out, err):
        assert obeyed(stream.getvalue()) == []
        assert colour or "\x1b" not in stream.getvalue()


@given(TEXTS, st.integers(2, 80))
def test_cut_text_is_never_wider_than_asked(text: str, width: int) -> None:
    shown = safe(text)
    assert cells(cut(shown, width)) <= width
    assert cut(shown, width) == shown or cut(shown, width).endswith("…")
    assert all(cells(line) <= width for line in wrap(shown, width))


@given(st.text())
def test_dumped_json_reads_back_and_is_escaped(text: str) -> None:
    import json

    dumped = dump({"a": [text]})
    assert json.loads(dumped) == {"a": [text]}
    assert "\n" not in dumped
    assert is_escaped(dumped.replace("\u200c", "").replace("\u200d", ""))


def test_cells_of_wide_and_combining_characters() -> None:
    assert cells("abc") == 3
    assert cells("日本") == 4
    assert cells("e\u0301") == 1
    assert pad("日", 4) == "日  "
    assert cut("日本語", 4) == "日…"


def test_fitted_says_the_full_length() -> None:
    assert fitted("short", 20) == "short"
    assert fitted("x" * 20_066, 30) == "x" * 14 + "… [20,066 chars]"
    assert fitted("beginning", 40, length=5_000) == "beginning… [5,000 chars]"
    assert fitted("x" * 99, None) == "x" * 99


@pytest.mark.parametrize(
    ("milliseconds", "said"),
    [(None, "-"), (0, "0ms"), (0.42, "0.4ms"), (84, "84ms"), (999.7, "1.0s"), (4_230, "4.2s"), (192_000, "3m12s"),
     (59_980, "1m00s"), (7_500_000, "2h05m"), (273_600_000, "3d04h"), (-84, "-84ms")],
)  # fmt: skip
def test_durations(milliseconds: float | None, said: str) -> None:
    assert duration(milliseconds) == said


def test_counts_and_sizes() -> None:
    assert [count(n) for n in (None, 0, 1204, 99_999, 123_456, 1_234_567)] == [
        "-",
        "0",
        "1,204",
        "99,999",
        "123k",
        "1.2M",
    ]
    assert [size(n) for n in (None, 512, 18_400_000)] == ["-", "512 B", "18.4 MB"]


def test_nearest_name() -> None:
    assert nearest("rums", ["runs", "show"]) == "runs"
    assert nearest("zzz", ["runs", "show"]) is None


@pytest.mark.parametrize(
    ("choice", "environ", "is_terminal", "wanted"),
    [
        ("auto", {}, True, True),
        ("auto", {}, False, False),
        ("auto", {"NO_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": ""}, True, True),
        ("auto", {"FORCE_COLOR": "1"}, False, True),
        ("auto", {"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
        ("auto", {"TERM": "dumb"}, True, False),
        ("always", {"NO_COLOR": "1"}, False, True),
        ("never", {"FORCE_COLOR": "1"}, True, False),
    ],
)
def test_order_of_what_decides_colour(
    choice: str, environ: dict[str, str], is_terminal: bool, wanted: bool
) -> None:
    assert wants_colour(choice, is_terminal, environ) is wanted


def test_narrow_tables_become_blocks_and_name_hidden_columns() -> None:
    columns = [Column("ID"), Column("WHEN", priority=1), Column("TEXT", text=True)]
    row = ["a" * 30, "b" * 30, "c" * 90]

    def shown(width: int | None) -> tuple[str, str]:
        out, err = io.StringIO(), io.StringIO()
        show_table(Screen(out, err, width=width), columns, [row])
        return out.getvalue(), err.getvalue()

    assert shown(None)[0].splitlines()[1] == "  ".join(row)
    assert shown(59)[0].splitlines()[0] == "ID    " + "a" * 30
    out, err = shown(70)
    assert "WHEN" not in out and "not shown, too wide: WHEN" in err
    assert all(len(line) <= 70 for line in out.splitlines())
    out, err = shown(90)
    assert "b" * 30 in out and "c…" in out and err == ""
    assert all(len(line) <= 90 for line in out.splitlines())


def test_an_ascii_stream_gets_ascii_marks() -> None:
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="backslashreplace")
    screen = Screen(out, out)
    assert screen.mark == "..."
    screen.line("a → b é")
    out.flush()
    assert out.buffer.getvalue() == b"a -> b \\xe9\n"
