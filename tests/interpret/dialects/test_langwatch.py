"""LangWatch's names of models."""

from __future__ import annotations

import pytest
from made_spans import make_span
from spans import read_run


@pytest.mark.parametrize(
    ("told", "provider", "model"),
    [
        ("openai/gpt-4o-mini", "openai", "gpt-4o-mini"),
        ("huggingface/org/model", "huggingface", "org/model"),
        ("gpt-4o-mini", None, "gpt-4o-mini"),
        ("unknown/gpt-4o-mini", None, "gpt-4o-mini"),
        ("openai/unknown", "openai", None),
        ("openai/", None, "openai/"),
    ],
)
def test_the_vendor_before_a_model_is_its_provider(
    told: str, provider: str | None, model: str | None
) -> None:
    attributes: dict[str, object] = {"langwatch.span.type": "llm", "gen_ai.request.model": told}
    (call,) = read_run("r", [make_span(attributes, "llm", scope="langwatch")]).calls.models
    assert (call.span.provider, call.span.request_model) == (provider, model)
    (call,) = read_run("r", [make_span(attributes, "llm", scope="another")]).calls.models
    assert call.span.request_model == told
