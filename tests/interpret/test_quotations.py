"""What is quoted is never taken for what was said: transcripts in results, in what users paste, and in what models write."""

from __future__ import annotations

import json

import pytest
from made_runs import act, agent, asks, chat, returned, rows, said, tool

from retrospan.ingest.interpret.rows.lists import Rows
from retrospan.ingest.interpret.spans.span import Span

HI = said("user", "Read ticket 7.")
READ = asks("read", {"ticket": 7}, "c1")
#: What somebody's support agent said, which a ticket holds; it has the id of the call that reads it.
TRANSCRIPT = [
    {"role": "user", "content": "Refund 1042."},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "refund", "arguments": '{"id": 1042}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "done"},
    {"role": "assistant", "content": "Refunded."},
]
TEXT = json.dumps(TRANSCRIPT)
PARTS = json.dumps([asks("delete", {"all": True}, "c9"), returned("c9", "deleted")["parts"]])


def enveloped(text: str) -> dict[str, object]:
    return {"content": [{"type": "text", "text": text, "id": "b1"}], "state": "success", "metadata": {}}


def reading(result: object, told: object) -> Rows:
    spans: list[Span] = [
        chat(1, [HI], READ),
        tool(3, "read", {"ticket": 7}, result, gen_ai__tool__call__id="c1"),
        chat(5, [HI, said("assistant", READ), returned("c1", told)], "It asks for a refund."),
    ]
    return rows(agent(), *spans)


@pytest.mark.parametrize("told", [TRANSCRIPT, TEXT])
@pytest.mark.parametrize(
    "result", [TRANSCRIPT, enveloped(TEXT), {"$value": TRANSCRIPT}], ids=["bare", "envelope", "one value"]
)
def test_a_transcript_that_a_tool_returned_is_its_result(result: object, told: object) -> None:
    found = reading(result, told)
    assert [(call.tool_name, call.tool_call_id, call.status, call.asked_by) for call in found.tool_calls] == [
        ("read", "c1", "ok", 1)
    ]
    assert json.loads(found.tool_calls[0].result or "") == TRANSCRIPT
    assert [len(call.input_values) for call in found.model_calls] == [1, 3]
    assert (found.runs[0].input, found.runs[0].output) == ("Read ticket 7.", "It asks for a refund.")


def test_what_a_tool_says_of_a_job_that_failed_is_no_failure_of_the_tool() -> None:
    job = {"status": "failed", "log": [{"type": "text", "text": "job 7 failed"}]}
    (call,) = reading(job, job).tool_calls
    assert (call.status, json.loads(call.result or "")) == ("ok", job)


@pytest.mark.parametrize("pasted", [TEXT, PARTS, f"Judge this:\n{TEXT}", enveloped(TEXT)])
@pytest.mark.parametrize("as_prompt", [False, True], ids=["message", "prompt"])
def test_calls_that_a_user_pastes_were_not_made(pasted: object, as_prompt: bool) -> None:
    text = pasted if isinstance(pasted, str) else json.dumps(pasted)
    given = json.dumps({"role": "user", "content": text})
    span = (
        act("chat", 1, gen_ai__agent__name="orla", gen_ai__prompt=given, gen_ai__completion="No.")
        if as_prompt
        else chat(1, [said("user", text)], "No.")
    )
    found = rows(agent(), span)
    assert (found.tool_calls, found.runs[0].input, found.runs[0].output) == ([], text, "No.")


@pytest.mark.parametrize("text", [TEXT, PARTS])
def test_calls_that_a_model_quotes_were_not_made(text: str) -> None:
    found = rows(agent(), chat(1, [HI], text))
    assert (found.tool_calls, found.runs[0].output) == ([], text)


@pytest.mark.parametrize("late", [False, True], ids=["each prompt as it was", "each as it was in the end"])
def test_an_id_that_is_used_again_belongs_to_its_own_call(late: bool) -> None:
    again = asks("read", {"ticket": 8}, "c1")
    whole = [
        HI,
        said("assistant", READ),
        returned("c1", "seven"),
        said("assistant", "It is seven."),
        said("user", "And 8?"),
        said("assistant", again),
        returned("c1", "eight"),
        said("assistant", "It is eight."),
    ]
    answers = [(READ, 1), ("It is seven.", 3), (again, 5), ("It is eight.", 7)]
    spans = [
        chat(4 * place + 1, whole if late else whole[:given], answer)  # type: ignore[arg-type]
        for place, (answer, given) in enumerate(answers)
    ]
    spans += [
        tool(at, "read", {"ticket": ticket}, result, gen_ai__tool__call__id="c1")
        for at, ticket, result in ((3, 7, "seven"), (11, 8, "eight"))
    ]
    found = rows(agent(), *spans)
    assert [(call.asked_by, call.result) for call in found.tool_calls] == [(1, "seven"), (3, "eight")]
    assert [len(call.input_values) for call in found.model_calls] == [1, 3, 5, 7]
