"""Spans of tools that tell their execution as an object of request and response, and models that a response names."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from made_spans import chat_span, make_span, text
from spans import read_run

from retrospan.ingest.interpret.spans.name_words import words_of

_REQUEST = {"callId": "c1", "name": "look", "args": {"q": "x"}}
_WRAPPED = '<untrusted_context>\n{"n": 1}\n</untrusted_context>'


def _parts(response: object) -> list[object]:
    return [{"functionResponse": {"id": "c1", "name": "look", "response": response}}]


def _tool(told: object, **attributes: object) -> Any:
    span = make_span(
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "look",
            "gen_ai.tool.call.id": "c1",
            "gen_ai.tool.call.result": json.dumps(told),
            **attributes,
        }
    )
    (tool,) = read_run("r", [span]).calls.tools
    return tool


def test_the_result_is_what_the_response_holds() -> None:
    told = {"status": "success", "request": _REQUEST, "response": {"responseParts": _parts({"output": "5"})}}
    assert (_tool(told).result, _tool(told).status) == ("5", "ok")
    plain = {"request": {"name": "look", "arguments": {}}, "response": {"content": {"n": 1}}}
    assert _tool(plain).result == {"n": 1}


def test_an_element_is_opened_where_the_response_says_the_same_bare() -> None:
    response = {"responseParts": _parts({"output": _WRAPPED}), "resultDisplay": '{"n": 1}'}
    assert _tool({"request": _REQUEST, "response": response}).result == {"n": 1}
    response = {"responseParts": _parts({"output": _WRAPPED}), "resultDisplay": "1 item"}
    assert _tool({"request": _REQUEST, "response": response}).result == _WRAPPED


def test_a_status_or_an_error_says_that_it_failed() -> None:
    told = {
        "status": "error",
        "request": _REQUEST,
        "response": {"responseParts": _parts({"error": "locked"})},
    }
    tool = _tool(told)
    assert (tool.result, tool.status, tool.error_message) == ({"error": "locked"}, "error", "locked")


@pytest.mark.parametrize(
    "returned",
    [
        {"request": {"callId": "c9", "name": "look", "args": {}}, "response": {"content": "5"}},
        {"request": {"method": "GET"}, "response": {"content": "5"}},
        {"request": "GET /", "response": {"content": "5"}},
        {"request": _REQUEST, "response": {"status": 200}},
    ],
)
def test_an_exchange_that_a_tool_returned_is_its_result(returned: dict[str, object]) -> None:
    assert _tool(returned).result == returned


def _model(**attributes: object) -> tuple[str | None, str | None]:
    call = chat_span([text("user", "Hi")], [text("assistant", "Hello.")])
    more = {name.replace("__", "."): value for name, value in attributes.items()}
    call = replace(call, attributes={**call.attributes, **more})
    (model,) = read_run("r", [call]).calls.models
    return model.span.request_model, model.span.response_model


def test_a_response_names_the_model_that_answered_beside_an_unlabelled_one() -> None:
    assert _model(llm__model_name="m", llm__response__model="m-2026-01-01") == ("m", "m-2026-01-01")
    assert _model(gen_ai__request__model="m", acme__response_model="n") == ("m", "n")
    # Two that differ tell nothing.
    assert _model(gen_ai__request__model="m", a__response_model="n", b__response_model="o") == ("m", None)


@pytest.mark.parametrize(
    "name", ["x.response.model", "response_model", "x.responseModelId", "a.response.model_id"]
)
def test_the_names_of_a_model_that_answered(name: str) -> None:
    assert "answerer" in words_of(name)


@pytest.mark.parametrize(
    "name", ["x.request.model", "x.response.model.price", "response.modelled", "x.model"]
)
def test_other_names_say_nothing_of_it(name: str) -> None:
    assert "answerer" not in words_of(name)
