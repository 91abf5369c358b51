"""Runs as few instrumentations tell them and as no recording holds, each by a small example."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from made_runs import RUN, act, agent, asks, chat, returned, rows, said, tool
from made_spans import make_span
from spans import read_run

from retrospan.ingest.interpret.calls.retelling import NEAR
from retrospan.ingest.interpret.dialects.switches import switch_for
from retrospan.ingest.interpret.messages.response_usage import parse_usage
from retrospan.ingest.interpret.rows.lists import Rows
from retrospan.ingest.interpret.rows.placeholders import broken_run, deleted_run
from retrospan.ingest.interpret.spans.span import Span
from retrospan.ingest.interpret.spans.unflatten import unflatten


def reasons(found: Rows) -> list[str]:
    return [problem.reason for problem in found.problems]


def test_a_total_beside_input_and_output_is_a_problem_unless_it_is_explained() -> None:
    def found(total: int, **more: int) -> list[str]:
        usage = {f"gen_ai__usage__{key}": value for key, value in more.items()}
        call = chat(
            1, [said("user", "Hi")], "Hello",
            gen_ai__usage__input_tokens=10, gen_ai__usage__output_tokens=5, gen_ai__usage__total_tokens=total,
            **usage,
        )  # fmt: skip
        return reasons(rows(agent(), call))

    told = ["the total is not 10 tokens of input and 5 of output"]
    assert found(15) == [] and found(16) == told and found(14) == told
    assert found(18, reasoning__output_tokens=3) == found(15, reasoning__output_tokens=3) == []
    assert found(17, cache_read__input_tokens=2) == found(13, cache_read__input_tokens=2) == []
    assert found(18, cache_read__input_tokens=2) == told


def test_a_total_of_agents_inside_agents_may_leave_out_what_was_cached() -> None:
    def found(total: int) -> list[str]:
        outer = agent(gen_ai__usage__input_tokens=total)
        inner = act("invoke_agent", 1, takes=8, gen_ai__agent__name="bo")
        usage: dict[str, object] = {
            "gen_ai__usage__input_tokens": 10,
            "gen_ai__usage__cache_read__input_tokens": 4,
            "gen_ai__agent__name": "bo",
        }
        own = chat(2, [said("user", "Hi")], "Hello", inside=inner.span_id, **usage)
        again = chat(4, [said("user", "Ho")], "Hello", inside=inner.span_id, **usage)
        return reasons(rows(outer, inner, own, again))

    assert found(20) == found(12) == []
    assert found(21) == found(28) == ["the total is not the sum of the 2 model calls inside: 20"]


def test_results_without_id_are_doubted_only_where_all_calls_have_one() -> None:
    def found(second: str | None) -> list[str]:
        first = chat(1, [said("user", "Hi")], asks("look", {"a": 1}, "c1"), asks("look", {"a": 2}, second))
        told = act(
            "", 3, gen_ai__output__messages=json.dumps([returned(None, "x")]), gen_ai__operation__name="plan"
        )
        return [reason for reason in reasons(rows(agent(), first, told)) if "names no call" in reason]

    assert len(found("c2")) == 1 and found(None) == []


def test_an_answer_that_comes_in_two_messages_gets_its_calls_in_the_last() -> None:
    answer = [said("assistant", "Let me see."), said("assistant", "I look.") | {"name": "orla"}]
    first = act(
        "chat", 1,
        gen_ai__input__messages=json.dumps([said("user", "Hi")]), gen_ai__output__messages=json.dumps(answer),
        gen_ai__agent__name="orla",
    )  # fmt: skip
    retold = [said("user", "Hi"), answer[0], said("assistant", "I look.", asks("look", {"a": 1}, "c1"))]
    second = chat(5, [*retold, returned("c1", "x")], "Done.")
    found = rows(agent(), first, tool(2, "look", {"a": 1}, "x", gen_ai__tool__call__id="c1"), second)
    values = {value.number: json.loads(value.json) for value in found.values if value.json}
    told = [values[number] for number in found.model_calls[0].output_values]
    assert [len(message["parts"]) for message in told] == [1, 2]
    assert [message.get("name") for message in told] == [None, "orla"]


def test_what_cannot_be_interpreted_is_a_run_with_its_times_and_traces() -> None:
    spans = [
        make_span({}, trace_id="b" * 32, started_at=5, ended_at=9, arrived_at=7, sequence=3),
        make_span({}, trace_id="a" * 32, started_at=2, ended_at=4, arrived_at=8, sequence=1),
    ]
    found = broken_run("t", RUN, 7, spans, "Traceback …")
    (run,) = found.runs
    (problem,) = found.problems
    assert (run.tenant, run.run_id, run.generation, run.deleted) == ("t", RUN, 7, False)
    assert (run.started_at, run.newest_ended_at, run.ended_at, run.duration_ms) == (2, 9, None, None)
    assert (run.arrived_at, run.through_sequence) == (8, 3)
    assert (run.trace_ids, run.outcome, run.incomplete_because) == (
        ["a" * 32, "b" * 32],
        "incomplete",
        "not_interpreted",
    )
    assert (run.steps, run.model_calls, run.tool_calls, run.errors, run.problems) == (0, 0, 0, 0, 1)
    assert (problem.span_id, problem.raw, problem.reason) == (None, "", "Traceback …")
    without = broken_run("t", RUN, 7, [], "").runs[0]
    assert (without.started_at, without.newest_ended_at, without.trace_ids) == (0, 0, [RUN])


def test_a_run_whose_spans_went_elsewhere_is_hidden() -> None:
    found = deleted_run("t", RUN, 7)
    (run,) = found.runs
    assert (run.deleted, run.incomplete_because, run.problems, found.problems) == (True, None, 0, [])


def test_a_switch_is_that_of_the_dialect_and_of_the_longest_scope_that_fits() -> None:
    general = switch_for("messages", [("genai", "no.such.scope")])
    own = switch_for("messages", [("genai", "opentelemetry.instrumentation.openai_v2")])
    assert own != general
    of_anybody = switch_for("messages", [("no such dialect", "opentelemetry.instrumentation.openai_v2")])
    assert of_anybody not in (general, own)
    assert switch_for("state", [("genai", "pydantic-ai")]) == switch_for("state", [])


def _trace_ids(*ids: str) -> list[str]:
    spans: list[Span] = [agent()]
    for number, trace_id in enumerate(ids, start=1):
        span = tool(number, inside=f"{1:016x}")
        span.trace_id, span.parent_trace_id = trace_id, RUN
        spans.append(span)
    return rows(*spans).runs[0].trace_ids


def test_the_traces_of_a_run_are_sorted() -> None:
    assert _trace_ids("ff" * 16, "11" * 16, "cc" * 16) == ["11" * 16, RUN, "cc" * 16, "ff" * 16]


def test_the_version_of_an_agent_is_the_first_that_is_said() -> None:
    call = chat(1, [said("user", "Hi")], "Hello", gen_ai__agent__version="2")
    assert rows(agent(gen_ai__agent__version="1.4"), call).runs[0].agent_version == "1.4"
    assert rows(agent(), call).runs[0].agent_version == "2"


@pytest.mark.parametrize(
    ("attributes", "document_ids"),
    [
        ({"gen_ai.retrieval.documents": '[{"id": "a"}]', "output.value": '[{"id": "b"}]'}, {"a"}),
        ({"gen_ai.retrieval.documents": "[]", "output.value": '{"documents": [{"id": "b"}]}'}, {"b"}),
    ],
)
def test_documents_are_those_of_the_first_place_that_holds_some(
    attributes: Mapping[str, Any], document_ids: set[str]
) -> None:
    found = rows(agent(), act("retrieval", 1, **{key.replace(".", "__"): v for key, v in attributes.items()}))
    assert {edge.object for edge in found.edges if edge.object.startswith("document:")} == {
        f"document:{each}" for each in document_ids
    }


def test_what_a_tool_was_given_is_not_what_the_run_was_asked() -> None:
    messages = json.dumps([said("user", "to the tool")])
    given = tool(1, parent_span_id="", gen_ai__input__messages=messages)
    assert rows(given, chat(3, (), "Hello", parent_span_id="")).runs[0].input is None
    step = act("plan", 1, parent_span_id="", gen_ai__input__messages=messages)
    assert rows(step, chat(3, (), "Hello", parent_span_id="")).runs[0].input == "to the tool"


def test_a_first_prompt_has_no_more_results_than_calls() -> None:
    call = asks("look", {"a": 1})
    first = chat(1, [said("user", "Hi"), returned(None, "x")], call)
    last = chat(3, [said("user", "Hi"), said("assistant", call), returned(None, "x")], "Done.")
    assert "a result without id, and fewer calls before it than results" in reasons(
        rows(agent(), first, last)
    )


def test_only_keys_that_are_all_numbers_are_a_list() -> None:
    assert unflatten({"m.0.a.0": 1, "m.0.a.1": 2, "m.0.b.0": 1, "m.0.b.x": 2}, "m") == [
        {"a": [1, 2], "b": {"0": 1, "x": 2}}
    ]


def test_a_run_with_its_whole_history_wants_no_other() -> None:
    run = read_run(RUN, [agent(), chat(1, [said("user", "Hi")], "Hello")])
    assert (run.wants_previous_run, run.used_previous_run) == (False, False)


def test_of_the_prompts_that_retell_an_answer_the_next_one_completes_it() -> None:
    def retold(call_id: str) -> list[dict[str, object]]:
        call = asks("look", {"a": 1}, call_id)
        return [said("user", "Hi"), said("assistant", call), returned(call_id, "x")]

    first = chat(1, [said("user", "Hi")], asks("look", {"a": 1}))
    nameless = chat(3, retold("c1"), "Done.", gen_ai__agent__name="")
    named = chat(5, retold("c2"), "Done.")
    (row, *_) = rows(first, nameless, named).tool_calls
    assert row.tool_call_id == "c1"


def test_a_transcript_is_known_by_one_message_that_only_a_model_says() -> None:
    told = [
        said("user", "Hi"),
        said("assistant", asks("look", {"a": 1}, "c1")),
        returned("c1", "x"),
        said("assistant", "Done."),
    ]
    found = rows(agent(output__value=json.dumps(told)))
    assert (len(found.model_calls), len(found.tool_calls)) == (2, 1)
    assert rows(agent(output__value=json.dumps([told[0], told[3]]))).model_calls == []


def test_what_was_said_before_the_last_question_is_not_an_answer_of_this_run() -> None:
    asked = [said("user", "Go on."), said("assistant", "Gladly."), said("user", "Go on.")]
    told = [*asked, said("assistant", asks("look", {"a": 1}, "c1")), returned("c1", "x")]
    root = agent(gen_ai__input__messages=json.dumps(asked), output__value=json.dumps(told))
    assert len(rows(root).model_calls) == 1


def test_a_response_inside_others_is_found_four_levels_deep_and_no_deeper() -> None:
    inner: dict[str, object] = {"model": "m"}
    for _ in range(4):
        inner = {"raw": inner}
    assert parse_usage(inner).model == "m"
    assert parse_usage({"raw": inner}).model is None
    inner = {"model": "m"}
    for _ in range(4):
        inner = {"generations": [[inner]]}
    assert parse_usage(inner).model == "m"
    assert parse_usage({"generations": [[inner]]}).model is None


def test_a_prompt_of_lists_in_wrappers_is_read() -> None:
    wrapped = json.dumps([{"messages": [{"role": "user", "content": "Hi"}]}])
    (call,) = rows(agent(), act("chat", 1, gen_ai__input__messages=wrapped)).model_calls
    assert len(call.input_values) == 1


@pytest.mark.parametrize(("between", "call_id"), [(NEAR - 1, "c1"), (NEAR, None)])
def test_an_answer_is_completed_by_one_of_the_next_prompts(between: int, call_id: str | None) -> None:
    call = asks("look", {"a": 1}, "c1")
    first = chat(1, [said("user", "Hi")], asks("look", {"a": 1}))
    others = [chat(2 + number, [said("user", f"Other {number}")], "Yes.") for number in range(between)]
    retold = chat(50, [said("user", "Hi"), said("assistant", call), returned("c1", "x")], "Done.")
    assert rows(agent(), first, *others, retold).tool_calls[0].tool_call_id == call_id
