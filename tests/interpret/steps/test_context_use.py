"""What leaves the context between two calls, and how, from the messages of the prompts."""

from __future__ import annotations

import json
from collections.abc import Sequence

from spans import read_run

from retrospan.ingest.interpret.spans.span import Span
from retrospan.ingest.interpret.steps.context_use import ContextUse

Said = dict[str, object]


def text(role: str, content: str) -> Said:
    return {"role": role, "parts": [{"type": "text", "content": content}]}


def gives(call_id: str, response: object) -> Said:
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": call_id, "response": response}]}


def asks(call_id: str) -> Said:
    part = {"type": "tool_call", "id": call_id, "name": "search", "arguments": {"q": call_id}}
    return {"role": "assistant", "parts": [part]}


def use(
    *prompts: Sequence[Said],
    answers: Sequence[Said] = (),
    agents: Sequence[str] = (),
    limit: int | None = None,
) -> list[ContextUse]:
    """The use of the context by calls with these prompts, in order; `limit` is what each says of its own."""
    spans = [_span("0", "invoke_agent", 0, {"retrospan.context.limit": 8000})]
    for number, prompt in enumerate(prompts, start=1):
        attributes: dict[str, object] = {"gen_ai.input.messages": json.dumps(prompt)}
        if limit is not None:
            attributes["retrospan.context.limit"] = limit
        if number <= len(answers):
            attributes["gen_ai.output.messages"] = json.dumps([answers[number - 1]])
        if agents:
            attributes["gen_ai.agent.name"] = agents[number - 1]
        spans.append(_span(str(number), "chat", number, attributes))
    return read_run("r", spans).context


def _span(span_id: str, operation: str, at: int, attributes: dict[str, object]) -> Span:
    return Span(
        trace_id="a" * 32,
        span_id=span_id * 16,
        parent_span_id="" if span_id == "0" else "0" * 16,
        name=operation,
        kind=1,
        flags=0,
        started_at=1 + at * 10,
        ended_at=1 + at * 10 + (1000 if span_id == "0" else 5),
        status="ok",
        status_message="",
        scope="test",
        scope_version="",
        attributes={"gen_ai.operation.name": operation, **attributes},
        resource={},
    )


U, V = text("user", "book a table"), text("user", "for six")
A, B = asks("c1"), asks("c2")
X, Y = gives("c1", "one " * 50), gives("c2", "two")


def told(found: ContextUse) -> tuple[int, int | None, int | None, str | None]:
    return found.goes_on, found.new, None if found.lost is None else len(found.lost), found.how


def test_a_prompt_that_only_grows_loses_nothing() -> None:
    found = use([U], [U, A, X], [U, A, X, B, Y], answers=[A, B])
    assert [told(each) for each in found] == [(0, 1, 0, None), (1, 2, 0, None), (2, 2, 0, None)]


def test_the_limit_is_that_of_the_call_or_of_what_is_around_it() -> None:
    assert [each.limit for each in use([U], [U, A])] == [8000, 8000]
    assert use([U], limit=100)[0].limit == 100


def test_messages_that_are_left_out_were_dropped() -> None:
    found = use([U, A, X, V], [V, B, Y], answers=[B])
    assert told(found[1]) == (1, 2, 3, "dropped")


def test_of_equal_messages_each_counts() -> None:
    again = text("user", "go on")
    assert told(use([U, again, again], [U, again, B])[1]) == (1, 1, 1, "dropped")


def test_one_new_message_in_the_place_of_several_is_a_summary() -> None:
    summary = text("user", "so far: a table was asked for")
    found = use([U, A, X, V], [summary, V, B, Y], answers=[B])
    assert told(found[1]) == (1, 3, 3, "summarised")


def test_a_longer_list_of_system_instructions_holds_the_summary() -> None:
    system = text("system", "be brief"), text("system", "so far: a table was asked for")
    found = use([system[0], U, A, X, V], [*system, V, B], answers=[B])
    assert told(found[1]) == (1, 1, 3, "summarised")


def test_a_part_that_says_so_is_a_summary() -> None:
    compacted: Said = {"role": "assistant", "parts": [{"type": "compaction", "content": "so far"}]}
    assert told(use([U, A, X], [U, compacted])[1]) == (1, 1, 2, "summarised")


def test_a_shorter_answer_to_the_same_call_was_truncated() -> None:
    found = use([U, A, X], [U, A, gives("c1", "(cleared)"), B, Y], answers=[B])
    assert told(found[1]) == (1, 3, 1, "truncated")


def test_the_beginning_of_a_text_was_truncated() -> None:
    long, cut = text("user", "once upon a time " * 20), text("user", "once upon a time […]")
    assert told(use([U, long, A], [U, cut, A, X])[1]) == (1, 2, 1, "truncated")
    # Less than half of it is as the old one begins: another message.
    assert told(use([U, text("user", "abcdef"), A], [U, text("user", "axy"), A, X])[1])[3] != "truncated"
    other = text("user", "something else entirely")
    assert told(use([U, long, A], [U, other, A, X])[1]) == (1, 2, 1, "summarised")


def test_agents_of_one_name_side_by_side_are_told_apart_by_what_they_know() -> None:
    found = use([U], [U], [U, A, X], [U, B, Y], answers=[A, B, V, V])
    assert [told(each) for each in found[2:]] == [(1, 2, 0, None), (2, 2, 0, None)]


def test_agents_of_other_names_share_no_context() -> None:
    found = use([U, A, X], [V], [U, A, X, B], agents=["ada", "bob", "ada"])
    assert [told(each) for each in found] == [(0, 3, 0, None), (0, 1, 0, None), (1, 1, 0, None)]


def test_without_anything_in_common_nobody_knows_what_was_lost() -> None:
    found = use([U, A, X], [V])
    assert told(found[1]) == (0, 1, None, None)


def test_a_prompt_that_was_not_sent_is_not_known() -> None:
    found = use([U, A], [], [U, A, X])
    assert [told(each) for each in found[1:]] == [(0, None, None, None), (1, 1, 0, None)]


def test_what_was_lost_is_named_by_its_hash() -> None:
    spans = [
        _span(str(n), "chat", n, {"gen_ai.input.messages": json.dumps(prompt)})
        for n, prompt in enumerate(([U, A, X], [A, X]), start=1)
    ]
    run = read_run("r", spans)
    (lost,) = run.context[1].lost or []
    assert json.loads(run.values.all[lost - 1].json) == U
