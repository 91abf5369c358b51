"""A misspelt column at the real port: the error quotes what was asked, and names the columns that may be meant."""

from __future__ import annotations

import pytest
from answer.conftest import Port

from retrospan.ingest.answer.unknown_columns import hinted
from retrospan.schemas.errors import SqlError


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT agent FROM runs", "runs has agent_name, agent_version. In scope SELECT agent FROM runs."),
        (
            "SELECT m.model FROM model_calls m",
            "model_calls has request_model, response_model. In scope SELECT m.model FROM model_calls AS m.",
        ),
        ("SELECT start_time FROM steps", "steps has started_at. In scope SELECT start_time FROM steps."),
        (
            "SELECT t.run_id, duration FROM tool_calls t JOIN runs r USING (run_id)",
            "runs has duration_ms; tool_calls has duration_ms. In scope SELECT t.run_id, duration FROM tool_calls AS t",
        ),
        ("SELECT agent_nam FROM runs", "Maybe you meant: ['agent_name']. In scope"),
        ("SELECT foo FROM spans", "DESCRIBE spans says what there is. In scope SELECT foo FROM spans."),
        ("SELECT foo FROM run_state(run_id = 'a', step = 1)", "DESCRIBE run_state says what there is."),
        ("SELECT foo FROM answer_all", "identifier `foo`. In scope SELECT foo FROM answer_all."),
    ],
)
def test_a_column_that_no_view_has_is_answered_in_the_words_of_the_reader(
    port: Port, query: str, said: str
) -> None:
    status, body, headers = port.sql(query)
    assert (status, headers["X-ClickHouse-Exception-Code"]) == (404, "47")
    assert said in body.decode()
    assert len(body) < 400
    assert body.endswith(b"(UNKNOWN_IDENTIFIER)\n")


def test_other_errors_stay_as_they_are() -> None:
    for error in (
        SqlError("Code: 60. DB::Exception: Unknown table expression identifier 'run'.", code=60),
        SqlError("Code: 47. DB::Exception: said in another way. (UNKNOWN_IDENTIFIER)", code=47),
    ):
        assert hinted(error, "SELECT agent FROM runs") is error
