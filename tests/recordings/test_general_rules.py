"""The general rules alone: how much they read of all recordings, and that they know no names but published ones."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from statistics import mean

import pytest
from recordings.general_rules import every_recording, published_names, renamed, table
from spans import spans_of_requests

from retrospan.ingest.interpret.spans.vocabulary import OPENTELEMETRY
from retrospan.schemas import semconv
from retrospan.schemas.attributes import CONVENTIONS

INTERPRET = Path(__file__).resolve().parents[2] / "ingest/retrospan/ingest/interpret"
#: The rooms of the general rules: what families call things stands in the dialects' room.
ROOMS = (
    *(
        "spans",
        "messages",
        "normalize",
        "grouping",
        "tree",
        "duplicates",
        "unfolding",
        "calls",
        "prompts",
        "pairing",
    ),
    *("steps", "invariants", "outcome", "stated", "lineage", "rows"),
)
_NAME = re.compile(r"[A-Za-z_]+(?:\.[A-Za-z_]+)+\.?")
#: Events that OpenTelemetry published, beginnings of attributes it publishes, and keys inside of documents.
_NO_ATTRIBUTES = {
    *(f"gen_ai.{role}.message" for role in ("system", "user", "assistant")),
    *("gen_ai.content.prompt", "gen_ai.content.completion", "gen_ai.client.inference.operation.details"),
    *("gen_ai.client.operation.exception", "gen_ai.evaluation.result"),
    *("gen_ai.request.", "gen_ai.tool.call."),
    # Published, and newer than the registry that is installed.
    *OPENTELEMETRY.modal_tokens,
    *(semconv.USAGE_CACHE_WRITE_INPUT_TOKENS, semconv.MEMORY_QUERY_TEXT, semconv.MEMORY_STORE_ID),
    *("document.id", "document.content", "document.metadata"),
    "chat.completion.chunk",  # what a piece of OpenAI's streams calls itself
}


@pytest.fixture(scope="module")
def shares() -> dict[str, list[float]]:
    return table(every_recording())


@pytest.mark.soak
def test_without_dialects_and_names_nine_in_ten_facts_are_read(shares: Mapping[str, list[float]]) -> None:
    assert len(shares) > 50
    _, without, renamed_share = zip(*shares.values(), strict=True)
    assert mean(without) >= 0.92
    assert mean(renamed_share) >= 0.85


def test_random_names_are_those_of_no_attribute_that_is_published() -> None:
    recording = every_recording()["agno/normal"]
    spans = spans_of_requests(recording.traces, recording.logs)
    for sent, other in zip(spans, renamed(spans), strict=True):
        assert [*sent.attributes.values()] == [*other.attributes.values()]
        assert {key for key in other.attributes if "." in key} <= published_names()
        assert not any("openinference" in key or key.startswith("llm.") for key in other.attributes)


def test_the_general_rules_name_only_attributes_that_opentelemetry_publishes() -> None:
    files = [file for room in ROOMS for file in sorted((INTERPRET / room).glob("*.py"))]
    written = {
        node.value
        for file in files
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _NAME.fullmatch(node.value)
    }
    assert written - published_names() - _NO_ATTRIBUTES == set()
    named = {
        name
        for field in fields(OPENTELEMETRY)
        for name in _names(getattr(OPENTELEMETRY, field.name))
        if "." in name and not name.startswith(CONVENTIONS)
    }
    assert len(named) > 20
    assert named - published_names() - _NO_ATTRIBUTES == set()


def _names(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple):
        for inner in value:
            yield from _names(inner)
