from __future__ import annotations

import pytest

from retrospan.ingest.cli.client.engine_errors import sql_error


def test_a_syntax_error_keeps_position_caret_and_three_alternatives() -> None:
    text = (
        "Code: 62. DB::Exception: Syntax error: failed at position 18 (runs) (line 2, col 6): runs. Expected one of: "
        "token sequence, Dot, token, OR, AND, IS NOT DISTINCT FROM, end of query. (SYNTAX_ERROR) (version 26.9.2.1)"
    )
    error = sql_error(text, "SELECT 1 AS\nFROM runs")
    assert error.code == 62
    assert str(error).splitlines() == [
        "SQL, line 2 column 6: 'runs' is not expected here; expected token sequence, Dot, token, … (code 62)",
        "FROM runs",
        "     ^",
    ]


def test_a_mistyped_statement_is_named() -> None:
    text = "Code: 62. DB::Exception: Syntax error: failed at position 1 (SELEC) (line 1, col 1): SELEC 1. Expected one of: Query, a, b, c."
    assert str(sql_error(text, "SELEC 1")).startswith(
        "SQL, line 1 column 1: 'SELEC' is not a statement; did you mean SELECT?"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            (
                "Code: 47. DB::Exception: Unknown expression identifier `tool_nam`. Maybe you meant: ['tool_name']. "
                "In scope SELECT tool_nam FROM t. (UNKNOWN_IDENTIFIER)"
            ),
            "Unknown expression identifier `tool_nam`. Did you mean 'tool_name'? (code 47)",
        ),
        (
            (
                "Code: 60. DB::Exception: Unknown table expression identifier 'nosuch' in scope SELECT 1. "
                "(UNKNOWN_TABLE) (version 26.9.2.1 (official build))"
            ),
            "Unknown table expression identifier 'nosuch' in scope SELECT 1 (code 60)",
        ),
        ("no code at all", "no code at all"),
    ],
)
def test_machinery_is_taken_out(text: str, said: str) -> None:
    assert str(sql_error(text, "SELECT 1")).rstrip(".") == said


def test_a_position_beyond_the_statement_is_survived() -> None:
    text = (
        "Code: 62. DB::Exception: Syntax error: failed at position 999 (end of query): . Expected one of: a."
    )
    assert "the statement ends too early" in str(sql_error(text, "SELECT"))
    assert str(sql_error(text, ""))
