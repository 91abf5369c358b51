"""Answers of each form of a model's API are read back as they were given, and streams are put together whole."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from replay.recorded import asks

from retrospan.exporter.replay.asking import whole
from retrospan.exporter.replay.exchange import Exchange
from retrospan.exporter.replay.wire.answered import answered
from retrospan.exporter.replay.wire.event_stream import event, events, whole_answer
from retrospan.exporter.replay.wire.form import Answer, Choice, Form
from retrospan.exporter.replay.wire.forms import FORMS, read_request

PATHS = {"gemini": "/v1/models/gemini-3:generateContent", "bedrock converse": "/model/m/converse"}


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_every_form_is_read_back_as_it_was_given(form: Form) -> None:
    parts = ({"type": "text", "content": "Hm."}, *asks("c1", "f", n=1)["parts"])
    answer = Answer("id-1", "m-1", 7, (Choice(parts, None),), {"input_tokens": 5, "output_tokens": 2})
    asked = read_request(form, PATHS.get(form.name, "/v1"), b'{"model": "m"}')
    assert asked is not None
    found = answered(form, json.dumps(form.whole(answer, asked)).encode())
    assert found is not None
    said = [part for message in found.messages for part in cast("list[dict[str, Any]]", message["parts"])]
    assert said[0]["content"] == "Hm."
    (called,) = [part for part in said if part["type"] == "tool_call"]
    assert (called["name"], called["arguments"]) == ("f", {"n": 1})
    assert found.usage == {"input_tokens": 5, "output_tokens": 2}
    again = form.whole(found.as_answer("m"), asked)
    assert answered(form, json.dumps(again).encode()) == found


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b"null", b'{"choices": [1]}', b"\xff", b"[" * 9999])
def test_what_is_not_an_answer_is_not_taken_for_one(form: Form, body: bytes) -> None:
    assert answered(form, body) is None


BEDROCK = next(each for each in FORMS if each.name == "bedrock converse")


def streamed(*parts: dict[str, Any]) -> tuple[bytes, dict[str, Any]]:
    """The same answer of Bedrock streamed and whole."""
    answer = Answer("id-1", "m", 7, (Choice(parts, None),), {"input_tokens": 5, "output_tokens": 2})
    asked = read_request(BEDROCK, "/model/m/converse-stream", b"{}")
    assert asked is not None
    return b"".join(BEDROCK.stream(answer, asked)), BEDROCK.whole(answer, asked)


def test_a_stream_of_bedrock_is_put_together_and_a_cut_one_is_not() -> None:
    thought = {"type": "reasoning", "content": "Hm, hm.", "signature": "s1"}
    call = asks("c1", "f", n=[1, "ä"], city="Oslo")["parts"][0]
    stream, whole_one = streamed(thought, {"type": "text", "content": "It is ☃ " * 9}, call)
    assert whole_answer(stream) == whole_one
    assert [kind for kind, _ in events(stream)][-2:] == ["messageStop", "metadata"]
    # What counts the tokens comes after the end of the answer: without it they are unknown.
    end_of_answer = len(stream) - len(
        event("metadata", {key: whole_one[key] for key in ("usage", "metrics")})
    )
    assert "usage" not in whole_answer(stream[:end_of_answer])
    for end in {*range(len(stream))} - {end_of_answer}:
        with pytest.raises(ValueError, match="stream"):
            whole_answer(stream[:end])
    for at in range(0, len(stream), 7):
        with pytest.raises(ValueError, match="stream"):
            whole_answer(stream[:at] + bytes([stream[at] ^ 1]) + stream[at + 1 :])


def test_gemini_is_asked_for_a_whole_answer_by_another_address() -> None:
    form = next(each for each in FORMS if each.name == "gemini")
    path = "/v1beta/models/gemini-3:streamGenerateContent"
    asked = Exchange("POST", f"https://g.example{path}?alt=sse&key=k", {}, b'{"contents": []}')
    request = read_request(form, path, asked.body)
    assert request is not None and request.streamed
    found = whole(form, asked, request)
    assert found.url == "https://g.example/v1beta/models/gemini-3:generateContent?key=k"
    assert found.body == asked.body
