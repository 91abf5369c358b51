"""An answer that is an object, and settings that only say that it is to be one."""

from __future__ import annotations

import json

import pytest
from made_spans import make_span
from spans import rows_of_spans

from retrospan.ingest.interpret.spans.name_words import words_of

SOUP = {"name": "Soup"}


@pytest.mark.parametrize("function", ["ai.generateObject", "ai.streamObject"])
def test_an_object_is_the_answer_and_its_form_is_not(function: str) -> None:
    asked = {"ai.model.id": "m", "ai.response.object": json.dumps(SOUP), "ai.settings.output": "object"}
    outer: dict[str, object] = {
        "ai.operationId": function,
        "ai.prompt": json.dumps({"prompt": "Soup?"}),
        **asked,
    }
    prompt = json.dumps([{"role": "user", "content": [{"type": "text", "text": "Soup?"}]}])
    inner: dict[str, object] = {
        "ai.operationId": f"{function}.doGenerate",
        "ai.prompt.messages": prompt,
        **asked,
    }
    root = make_span(outer, name=function, span_id="1" * 16, started_at=1, ended_at=9)
    call = make_span(inner, name="do", span_id="2" * 16, parent_span_id="1" * 16, started_at=2, ended_at=8)
    for spans, answers in (([root, call], [1]), ([root], [])):
        (found,) = rows_of_spans(spans)
        assert json.loads(found.runs[0].output or "") == SOUP
        assert [len(each.output_values) for each in found.model_calls] == answers


@pytest.mark.parametrize(
    "name", ["ai.settings.output", "llm.config.output", "request.options.output", "run:request.output"]
)
def test_what_was_set_was_not_returned(name: str) -> None:
    assert "output" not in words_of(name)


@pytest.mark.parametrize(
    "name", ["output", "agent.output", "tool.requested_output", "settings_output", "node.output.value"]
)
def test_what_was_returned_may_have_any_name_before(name: str) -> None:
    assert "output" in words_of(name)
