"""Instrumentations that fail themselves, that set no status, or that tell of an answer less than the next prompt does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from made_runs import agent, asks, chat, returned, rows, said
from made_spans import event

ASKED = said("user", "Which warranty?")
CLIENT = 'File "/app/groq/resources/chat.py", line 9, in create'
WRAPPER = 'File "/lib/site-packages/openlit/instrumentation/groq/utils.py", line 44, in format_content'


def raising(*frames: str, **more: Any) -> list[tuple[str, str | None]]:
    """Return (status, field of the problem) of a request whose span tells an exception raised in the last frame."""
    trace = (
        "Traceback (most recent call last):\n"
        + "".join(f"  {frame}\n    x\n" for frame in frames)
        + "KeyError"
    )
    raised = event("exception", exception__type="KeyError", exception__stacktrace=trace)
    call = replace(chat(1, [ASKED], "Two years.", error="KeyError", **more), events=[raised])
    found = rows(agent(), call, chat(3, [ASKED], "Two years."))
    listed = [each.field for each in found.problems if each.field == "status"]
    return [(found.model_calls[0].status, listed[0] if listed else None)]


def test_what_an_instrumentation_raises_itself_is_not_the_failure_of_the_request() -> None:
    assert raising(CLIENT, WRAPPER) == [("ok", "status")]


@pytest.mark.parametrize(
    "frames",
    [
        (WRAPPER, CLIENT),
        (CLIENT,),
        (),
        ('File "/lib/site-packages/instrumentation_of_mine.py", line 1, in run',),
        ('File "/app/instrumentation/tools.py", line 1, in run',),
        (WRAPPER, WRAPPER.replace("File", "Quoted")[:-1] + '"', CLIENT),
    ],
    ids=["through it", "the client", "nothing", "a name like it", "the program's own", "quoted before"],
)
def test_what_is_raised_elsewhere_is(frames: tuple[str, ...]) -> None:
    assert raising(*frames) == [("error", None)]


def test_an_answer_that_is_only_the_word_for_nothing_beside_an_exception_is_none() -> None:
    raised = [event("exception", exception__type="ClientError", exception__message="400")]
    failed = replace(chat(1, [ASKED], "None", status="ok", gen_ai__usage__output_tokens=0), events=raised)
    (call,) = rows(agent(), failed).model_calls
    (silent,) = rows(agent(), chat(1, [ASKED], error="ClientError")).model_calls
    assert (call.status, call.error_type, call.output_hash) == ("error", "ClientError", silent.output_hash)
    for answered in (
        replace(failed, events=[]),
        replace(chat(1, [ASKED], "None at all.", status="ok"), events=raised),
        replace(chat(1, [ASKED], "None", status="ok", gen_ai__usage__output_tokens=3), events=raised),
    ):
        assert rows(agent(), answered).model_calls[0].status == "ok"


@pytest.mark.parametrize("reason", ["stop", "tool_calls"])
def test_a_text_asked_for_what_the_next_prompt_retells_with_it(reason: str) -> None:
    """Ollama has one reason for every end, and no ids."""
    call = asks("search", {"query": "warranty"})
    ended = {"gen_ai__response__finish_reasons": [reason]}
    first = chat(1, [ASKED], "I look.", **ended)
    second = chat(5, [ASKED, said("assistant", "I look.", call), returned(None, "x")], "Two years.", **ended)
    assert [tool.tool_name for tool in rows(agent(), first, second).tool_calls] == ["search"]
    # A call after another text, or without a result, is not that of this answer.
    other = chat(5, [ASKED, said("assistant", "I ask.", call), returned(None, "x")], "Two years.", **ended)
    alone = chat(5, [ASKED, said("assistant", "I look.", call), said("user", "And?")], "Two years.", **ended)
    for after in (other, alone):
        assert not [tool for tool in rows(agent(), first, after).tool_calls if tool.asked_by == 1]
