"""Answers that log records of no trace tell: each goes to the one call that it can be of, or to none."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from made_runs import SECOND, agent, asks, chat, rows, said

from retrospan.ingest.interpret.spans.span import LogRecord, Span
from retrospan.ingest.interpret.spans.span_fields import DETAILS_EVENT
from retrospan.ingest.interpret.spans.stray_logs import LONGEST, MOST_BESIDE, awaiting, place_strays
from retrospan.ingest.interpret.spans.vocabulary import OPENTELEMETRY

MODEL, SESSION = "m-1-0126", "session-4f1c"


def record(at: float, **more: Any) -> LogRecord:
    """Return a record of an answer; `__` in a name stands for a point."""
    time = int((1_000 + at) * SECOND)
    told: dict[str, Any] = {"gen_ai__response__model": MODEL, "session__id": SESSION, **more}
    attributes = {key.replace("__", "."): value for key, value in told.items() if value is not None}
    return LogRecord(
        event=DETAILS_EVENT, time_ns=time, body=None, attributes=attributes, order=(time, 0, str(told))
    )


def call(at: float, tokens: int | None = 7, *answer: Any, **more: Any) -> Span:
    """Return a call that a record of its trace tells of, and that names nobody who answered."""
    counted = {} if tokens is None else {"gen_ai__usage__output_tokens": tokens}
    named = {"gen_ai__request__model": "m-1", "gen_ai__conversation__id": SESSION}
    made = chat(at, [said("user", "Weather?")], *(answer or ("Snow.",)), **{**named, **counted, **more})
    time = made.started_at
    made.logs.append(
        LogRecord(
            event=DETAILS_EVENT,
            time_ns=time,
            body=None,
            attributes={"gen_ai.request.model": "m-1"},
            order=(time, 0, ""),
        )
    )
    return made


def answerers(records: Sequence[LogRecord], *calls: Span) -> list[str | None]:
    root = agent()
    place_strays(awaiting([root, *calls], OPENTELEMETRY), records, OPENTELEMETRY)
    return [each.response_model for each in rows(root, *calls).model_calls]


def counted(tokens: int) -> dict[str, Any]:
    return {"gen_ai__usage__output_tokens": tokens}


def test_a_record_goes_to_the_call_of_its_conversation_and_its_time() -> None:
    records = [record(1.9, **counted(7)), record(4.9, gen_ai__response__model="m-1-0226", **counted(7))]
    assert answerers(records, call(1), call(4)) == [MODEL, "m-1-0226"]
    # What it says more is said of the call.
    told: dict[str, Any] = {
        "gen_ai__usage__cache_read__input_tokens": 3,
        "gen_ai__response__finish_reasons": ["stop"],
    }
    first = call(1)
    root = agent()
    place_strays(awaiting([first], OPENTELEMETRY), [record(2, **counted(7), **told)], OPENTELEMETRY)
    (found,) = rows(root, first).model_calls
    assert (found.cached_tokens, found.finish_reasons) == (3, ["stop"])


def test_the_same_answer_says_whose_it_is_where_nothing_is_counted() -> None:
    wished = asks("weather", {"city": "Oslo"}, "weather__c1")
    told = json.dumps([said("system", {**wished, "id": "c1"})])
    assert answerers([record(2, gen_ai__output__messages=told)], call(1, None, wished)) == [MODEL]
    assert answerers([record(2, gen_ai__output__messages=told)], call(1, None, "Rain.")) == [None]


@pytest.mark.parametrize(
    "other",
    [
        record(2, **counted(8)),
        record(2, **counted(7), gen_ai__request__model="m-2"),
        record(2, **counted(7), session__id="session-9e9e"),
        record(2, **counted(7), gen_ai__response__model=None, gen_ai__response__id="resp-1"),
        record(0.9, **counted(7)),
        record(2.1, **counted(7)),
        record(2),
    ],
    ids=["counts", "model", "conversation", "nobody answered", "before", "after", "nothing to compare"],
)
def test_what_does_not_fit_is_told_of_no_call(other: LogRecord) -> None:
    assert answerers([other], call(1)) == [None]


def test_of_two_calls_or_two_answerers_none_is_meant() -> None:
    assert answerers([record(2, **counted(7))], call(1), call(1)) == [None, None]
    assert answerers([record(2, **counted(7))], call(1), call(1, 8)) == [MODEL, None]
    two = [record(2, **counted(7)), record(1.9, **counted(7), gen_ai__response__model="m-2")]
    assert answerers(two, call(1)) == [None]
    # The same told twice is told.
    assert answerers([record(2, **counted(7)), record(1.9, **counted(7))], call(1)) == [MODEL]


def test_a_failed_call_and_one_that_says_who_answered_need_none() -> None:
    assert answerers([record(2, **counted(7))], call(1, error="Timeout")) == [None]
    assert answerers([record(2, **counted(7))], call(1, gen_ai__response__model="m-1")) == ["m-1"]


def test_a_flood_of_records_and_an_endless_call_cost_nothing() -> None:
    flood = [record(1 + place / 100, **counted(7)) for place in range(MOST_BESIDE + 1)]
    assert answerers(flood, call(1)) == [None]
    assert awaiting([call(1, takes=LONGEST / SECOND + 1)], OPENTELEMETRY) == []
    assert awaiting([call(1, gen_ai__conversation__id="s-1")], OPENTELEMETRY) == []
    (found,) = awaiting([call(1, takes=90)], OPENTELEMETRY)
    assert len(found.minutes) == 3
