"""The id of a response that stands only in the response itself, and ids there that are none."""

from __future__ import annotations

import json

import pytest
from made_spans import make_span

from retrospan.ingest.interpret.messages.response_ids import find_response_id
from retrospan.ingest.interpret.run import read_spans
from retrospan.ingest.interpret.spans.parse_issues import ParseIssues

GIVEN = "chatcmpl-XyZ123456789"
SAID = {"role": "assistant", "content": "Done."}


def langchain(message: dict[str, object], **beside: object) -> dict[str, object]:
    return {
        "generations": [[{"message": {"lc": 1, "kwargs": {"additional_kwargs": {}, **message}}}]],
        **beside,
    }


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        ({"id": GIVEN, "object": "chat.completion", "choices": [{"message": SAID}]}, GIVEN),
        ({"id": "msg_01AbCdEfGh", "type": "message", "content": []}, "msg_01AbCdEfGh"),
        # What is inside a response has ids of its own.
        (
            {"id": "resp_0123456789", "output": [{"type": "message", "id": "msg_0123456789"}]},
            "resp_0123456789",
        ),
        ({"output": [{"type": "message", "id": "msg_0123456789"}]}, None),
        ({"message": SAID, "raw": {"id": GIVEN}}, GIVEN),
        (langchain({"id": "run--0198-abcdefgh"}, llm_output={"id": GIVEN}), GIVEN),
        (
            langchain({"id": "msg_0123456789", "response_metadata": {"id": "resp_0123456789"}}),
            "resp_0123456789",
        ),
        (langchain({"id": GIVEN}), GIVEN),
        (langchain({"id": "run--0198-abcdefgh"}), None),
        ({"id": "chatcmpl-482", "choices": []}, None),  # as servers count that imitate the API
        ({"id": "d6f1c1de-3c4b-4f7e-9c59-0f4a7a2f1b11", "choices": []}, None),
        ({"choices": [{"message": {"content": f'"id": "{GIVEN}"'}}]}, None),  # the model said it
        ([{"id": GIVEN}], None),
    ],
)
def test_the_id_of_a_response_is_the_one_that_the_api_gave(response: object, expected: str | None) -> None:
    assert find_response_id(json.dumps(response)) == expected
    assert find_response_id(response) == expected


def test_of_several_generations_nothing_is_known() -> None:
    two = {"generations": [[{"message": {"id": GIVEN}}], [{"message": {"id": "chatcmpl-AbC123456789"}}]]}
    assert find_response_id(json.dumps(two)) is None


@pytest.mark.parametrize(("kind", "expected"), [("LLM", GIVEN), ("CHAIN", None)])
def test_a_request_has_it_where_no_attribute_names_another(kind: str, expected: str | None) -> None:
    held: dict[str, object] = {
        "openinference.span.kind": kind,
        "output.value": json.dumps({"id": GIVEN, "choices": [{"message": SAID}]}),
    }
    named = {**held, "gen_ai.response.id": "r1"}
    spans = read_spans([make_span(held), make_span(named)], ParseIssues())
    assert [span.response_id for span in spans] == [expected, "r1"]
