"""The state around the steps and where it changed, and how histories are put together: a rule, a small run."""

from __future__ import annotations

import json
from typing import Any

import pytest
from made_runs import act, agent, asks, chat, returned, rows, said, tool

from retrospan.ingest.interpret.rows.lists import Rows
from retrospan.ingest.interpret.spans.span import Event, Span

HI = said("user", "Hi")


def values(found: Rows) -> dict[int, object]:
    return {row.number: json.loads(row.json) if row.json else row.elements for row in found.values}


def states(*spans: Span) -> list[tuple[str | None, object, object]]:
    """Source, state before and state after of each step; None where it is not known."""
    found = rows(*spans)
    named = values(found)
    return [
        (
            step.state_source,
            {key: named[n] for key, n in zip(step.before_keys, step.before_values, strict=True)} or None,
            {key: named[n] for key, n in zip(step.after_keys, step.after_values, strict=True)} or None,
        )
        for step in found.steps
    ]


def changes(*spans: Span) -> list[tuple[int, str, object, int]]:
    """Step, key, value (None: the key is gone) and the step that had ended last before, of each change."""
    found = rows(*spans)
    named = values(found)
    return [(row.step, row.key, named.get(row.value), row.changed_at_step) for row in found.state_changes]


def stated(at: float, before: object = None, after: object = None, **more: Any) -> Span:
    held = {"before": before, "after": after}
    own = {
        f"retrospan__state__{side}": json.dumps(state) for side, state in held.items() if state is not None
    }
    return tool(at, **own, **more)


def test_a_key_changes_where_its_value_differs_from_the_last_known() -> None:
    assert changes(
        agent(),
        stated(1, {"a": 1, "b": 2}),
        stated(3, {"a": 1, "b": 3}),
        tool(5),
        stated(7, {"a": 1}, {"a": 1, "b": 3}),
    ) == [(1, "a", 1, 0), (1, "b", 2, 0), (2, "b", 3, 1), (4, "b", None, 3), (5, "b", 3, 4)]


def test_a_stated_state_holds_for_the_span_that_states_it_only() -> None:
    assert states(agent(), stated(1, {"a": 1}, {"a": 2}), tool(3)) == [
        ("explicit", {"a": 1}, {"a": 2}),
        (None, None, None),
    ]
    assert states(agent(), stated(1, None, {"a": 2})) == [("explicit", None, {"a": 2})]


def test_a_state_stated_around_steps_is_before_the_first_and_after_the_last_of_them() -> None:
    around = stated(1, {"a": 1}, {"a": 2}, takes=9)
    inside = [chat(at, [HI], "Done.", inside=around.span_id) for at in (2, 4)]
    assert states(agent(), around, *inside) == [
        ("explicit", {"a": 1}, None),
        (None, None, None),
        ("explicit", None, {"a": 2}),
    ]


def graph(given: object, left: object, *, error: str = "") -> Span:
    return act("", 0, takes=50, name="LangGraph", **_said(given, left), error=error, span_id="f" * 16)


def node(at: float, step: int, name: str, given: object, left: object = None, **more: Any) -> Span:
    metadata = json.dumps({"langgraph_node": name, "langgraph_step": step})
    return act("", at, name=name, inside="f" * 16, metadata=metadata, **_said(given, left), **more)


def _said(given: object, left: object) -> dict[str, Any]:
    both = {"input": given, "output": left}
    found = {f"{side}__value": json.dumps(value) for side, value in both.items() if value is not None}
    return {**found, "openinference__span__kind": "CHAIN"}


def test_a_node_s_input_is_the_state_before_it_and_the_next_one_s_the_state_after() -> None:
    nodes = [node(1, 1, "plan", {"a": 1}, {"a": 2}), node(3, 2, "do", {"a": 2}, {"a": 3})]
    expected: list[tuple[str | None, object, object]] = [
        ("framework", {"a": 1}, {"a": 2}),
        ("framework", {"a": 2}, {"a": 3}),
    ]
    assert states(agent(), graph({"a": 1}, {"a": 3}), *nodes) == expected
    # Nothing says what keys the graph has: any object may be its state.
    assert states(agent(), graph(None, None), *nodes) == [expected[0]]


def test_a_node_s_own_argument_is_not_the_state() -> None:
    nodes = [node(1, 1, "plan", {"x": 1}, {"a": 2}), node(3, 2, "do", {"a": 2}, {"a": 3})]
    assert states(agent(), graph({"a": 1}, {"a": 3}), *nodes) == [("framework", {"a": 2}, {"a": 3})]


def test_the_state_after_a_graph_is_its_output_unless_it_failed_or_waits() -> None:
    last = node(1, 1, "plan", {"a": 1}, {"a": 2})
    one = tool(1.1, takes=0.1, inside=last.span_id)
    for output, error, after in (
        ({"a": 2}, "", {"a": 2}),
        ({"a": 2}, "Boom", None),
        ({"a": 2}, "GraphInterrupt", None),
        ({"a": 2, "__interrupt__": []}, "", None),
        ("text", "", None),
    ):
        found = states(agent(), graph({"a": 1}, output, error=error), last, one)
        assert found == [("framework", {"a": 1}, after)], (output, error)


def test_a_failed_node_leaves_no_state_behind() -> None:
    failed = node(1, 1, "plan", {"a": 1}, error="Boom")
    one = tool(1.1, takes=0.1, inside=failed.span_id)
    assert states(agent(), graph({"a": 1}, {"a": 2}), failed, one) == [("framework", {"a": 1}, None)]


def test_without_any_other_state_the_messages_are_it() -> None:
    call = asks("search", {"q": "a"}, "c1")
    asking = chat(1, [HI], call, gen_ai__system_instructions=json.dumps([{"type": "text", "content": "Be."}]))
    first, second = rows(agent(), asking, tool(3, gen_ai__tool__call__id="c1")).steps
    assert (first.state_source, first.before_keys) == ("messages", ["messages", "system"])
    assert first.state_after_hash == second.state_before_hash != first.state_before_hash
    assert second.state_after_hash is None
    lone = rows(agent(), chat(1, [HI], "Hm."), tool(3)).steps[1]
    assert (lone.state_source, lone.state_before_hash) == (None, None)


def prompts(*spans: Span, previous: Any = None) -> list[tuple[str, list[str]]]:
    """How the prompt of each model call is known, and its messages in short: role and text, call or result."""
    found = rows(agent(), *spans, previous=previous)
    named = values(found)

    def short(message: Any) -> str:
        part = message["parts"][-1]
        return f"{message['role']}: {part.get('content') or part.get('id')}"

    return [(call.history, [short(named[n]) for n in call.input_values]) for call in found.model_calls]


CALL = asks("search", {"q": "a"}, "c1")


def test_a_response_id_stands_for_the_history_up_to_its_answer() -> None:
    first = chat(1, [HI], "Hello.", gen_ai__response__id="r1")
    second = chat(3, [said("user", "Go")], "Done.", gen_ai__request__previous_response__id="r1")
    assert prompts(first, second)[1] == ("rebuilt", ["user: Hi", "assistant: Hello.", "user: Go"])


def test_a_response_id_that_nobody_knows_leaves_what_was_said_last() -> None:
    first = chat(1, [HI], "Hello.", gen_ai__response__id="r1")
    second = chat(3, [said("user", "Go")], "Done.", gen_ai__request__previous_response__id="r0")
    assert prompts(first, second)[1] == ("inferred", ["user: Hi", "assistant: Hello.", "user: Go"])


def test_a_result_alone_goes_on_from_the_call_that_asked_for_it() -> None:
    second = chat(3, [returned("c1", "snow")], "Done.")
    assert prompts(chat(1, [HI], CALL), second)[1] == ("rebuilt", ["user: Hi", "assistant: c1", "tool: c1"])
    assert prompts(second) == [("full", ["tool: c1"])]
    repeated = chat(3, [said("assistant", CALL), returned("c1", "snow")], "Done.")
    assert prompts(chat(1, [HI], CALL), repeated)[1] == ("full", ["assistant: c1", "tool: c1"])


def test_an_answer_that_a_full_prompt_leaves_out_is_put_before_its_result() -> None:
    second = chat(3, [HI, returned("c1", "snow")], "Done.")
    assert prompts(chat(1, [HI], CALL), second)[1] == ("rebuilt", ["user: Hi", "assistant: c1", "tool: c1"])


def test_an_answer_that_asked_for_two_calls_is_put_before_both_results_once() -> None:
    first = chat(1, [HI], CALL, asks("search", {"q": "b"}, "c2"))
    second = chat(3, [HI, returned("c1", "snow"), returned("c2", "rain")], "Done.")
    assert prompts(first, second)[1] == ("rebuilt", ["user: Hi", "assistant: c2", "tool: c1", "tool: c2"])


def test_only_an_api_that_keeps_the_history_may_leave_it_out() -> None:
    first, more = chat(1, [HI], "Hello."), {"openai__api__type": "responses"}
    go = [said("user", "Go")]
    assert prompts(first, chat(3, go, "Done."))[1] == ("full", ["user: Go"])
    assert prompts(first, chat(3, go, "Done.", **more))[1] == (
        "inferred",
        ["user: Hi", "assistant: Hello.", "user: Go"],
    )
    whole = [HI, said("assistant", "Hello."), *go]
    assert prompts(first, chat(3, whole, "Done.", **more))[1][0] == "full"
    assert prompts(first, chat(3, [HI], "Done.", **more))[1] == ("full", ["user: Hi"])


@pytest.mark.parametrize("keeps", [True, False])
def test_the_run_before_is_gone_on_with_where_the_api_keeps_the_history(keeps: bool) -> None:
    more = {"openai__api__type": "responses"} if keeps else {}
    before = [said("user", "Earlier"), said("assistant", "Yes.")]
    found = prompts(chat(1, [HI], "Hello.", **more), previous=before)
    expected = ["user: Earlier", "assistant: Yes.", "user: Hi"] if keeps else ["user: Hi"]
    assert found == [("inferred" if keeps else "full", expected)]


def test_a_message_that_repeats_only_its_calls_is_the_fuller_one_said_before() -> None:
    first = chat(1, [HI], "Let me see.", CALL)
    again = [HI, said("assistant", CALL), returned("c1", "snow")]
    second = chat(3)
    for message in again:
        told = {"content": json.dumps(message["parts"])}
        second.events.append(Event(name=f"gen_ai.{message['role']}.message", time_ns=1, attributes=told))
    found = rows(agent(), first, second)
    assert found.model_calls[1].input_values[1] == found.model_calls[0].output_values[0]
    # A list says all that was sent: there the text was left out on purpose.
    whole = rows(agent(), first, chat(3, again, "Done."))
    assert whole.model_calls[1].input_values[1] != whole.model_calls[0].output_values[0]


def test_the_same_message_in_another_form_is_not_a_change() -> None:
    plain = {"role": "user", "content": "Hi"}
    serialised = {"type": "human", "content": "Hi", "additional_kwargs": {}}
    assert changes(agent(), stated(1, {"m": plain}), stated(3, {"m": serialised})) == [(1, "m", plain, 0)]
    assert len(changes(agent(), stated(1, {"m": plain}), stated(3, {"m": {**plain, "content": "Ho"}}))) == 2


def test_a_span_inside_a_node_is_not_the_node() -> None:
    outer = node(1, 1, "plan", {"a": 1}, {"a": 2}, takes=5)
    metadata = json.dumps({"langgraph_node": "plan", "langgraph_step": 1})
    inner = act("", 2, name="chain", inside=outer.span_id, metadata=metadata, **_said({"x": 1}, {"x": 2}))
    assert states(agent(), graph({"a": 1}, {"a": 2}), outer, inner) == [("framework", {"a": 1}, {"a": 2})]
