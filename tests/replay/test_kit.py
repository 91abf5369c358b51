"""Agents of frameworks, each replayed from what it once exported; docs/replay.md has the table of all."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fix_collector import Served
from recordings.bundles import serving
from recordings.replayed import Replayed, entries, replayed

pytestmark = [pytest.mark.soak, pytest.mark.engine]

#: One of each client and framework, and what they did.
WHOLE = (
    "anthropic-traceloop/normal",
    "anthropic-traceloop/tool_error",
    "anthropic-traceloop/llm_error",
    "groq-openinference/normal",
    "google-genai-openinference/normal",
    "langgraph-langfuse/normal",
    "haystack-openinference/normal",
    "pydantic-ai-mlflow/normal",
    "crewai-openinference/normal",
    "google-adk-openinference/tool_error",
    "llama-index-mlflow/parallel",
    "openai-agents-logfire/normal",
    "semantic-kernel/normal",
    "anthropic-langsmith/tool_error",
    "openai-chat-openinference/multiturn",
    "openai-responses-openinference.stream/parallel",
    "openai-responses-traceloop/parallel",
    "smolagents.kit/tool_error",
    "openai-agents.kit/handoff",
)


@pytest.fixture(scope="module")
def collector() -> Iterator[Served]:
    with serving() as served:
        yield served


@pytest.mark.parametrize("name", WHOLE)
def test_a_recording_is_replayed_whole(collector: Served, name: str) -> None:
    found = replayed(collector, entries()[name])
    if isinstance(found, str):
        pytest.skip(f"its framework cannot be installed here: {found}")
    assert isinstance(found, Replayed)
    assert found.is_whole, found
    assert (found.answered, found.ran) == (found.model_calls, 0)
