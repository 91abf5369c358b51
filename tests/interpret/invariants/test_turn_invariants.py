"""What a user says after an answer, in one run: it may be another turn, and the run says so."""

from __future__ import annotations

from made_runs import act, agent, asks, chat, returned, rows, said, tool

from retrospan.ingest.interpret.spans.span import Span

ASKED, THANKS = said("user", "How is Oslo?"), said("user", "Thanks. And Bergen?")
SNOW = said("assistant", "It snows.")


def conversation(*spans: Span) -> list[tuple[str | None, str, str]]:
    root = act("", 0, takes=100, name="conversation", span_id=f"{1:016x}", parent_span_id="")
    return [(each.span_id, each.field, each.raw) for each in rows(root, *spans).problems]


def test_a_user_who_speaks_after_an_answer_is_listed_once() -> None:
    second = chat(5, [ASKED, SNOW, THANKS], "Rain.")
    third = chat(8, [ASKED, SNOW, THANKS, said("assistant", "Rain."), THANKS], "Rain.")
    assert conversation(chat(1, [ASKED], "It snows."), second, third) == [
        (second.span_id, "input", "Thanks. And Bergen?")
    ]


def test_a_turn_with_calls_is_one_turn() -> None:
    call = asks("weather", {"city": "Oslo"}, "c1")
    given = [ASKED, said("assistant", call), returned("c1", "snow")]
    tools = tool(3, "weather", {"city": "Oslo"}, "snow", gen_ai__tool__call__id="c1")
    assert conversation(chat(1, [ASKED], call), tools, chat(5, given, "It snows.")) == []


def test_an_agent_that_is_told_more_is_one_turn() -> None:
    spans = [chat(1, [ASKED], "It snows."), chat(5, [ASKED, SNOW, THANKS], "Rain.")]
    assert rows(agent(), *spans).problems == []
