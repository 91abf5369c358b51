"""What is remembered of the names of attributes: it answers as the attributes do, and only for spans that have these names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_spans import make_span

from retrospan.ingest.interpret.dialects import DIALECTS, dialect_of
from retrospan.ingest.interpret.dialects.vocabulary import EVERY_FAMILY
from retrospan.ingest.interpret.spans.span_fields import SpanFields
from retrospan.ingest.interpret.spans.span_names import names_of, names_of_span

NAMES = (
    "llm.model_name",
    "gen_ai.request.model",
    "x.kind",
    "x.metadata.a",
    "x.metadata.b",
    "tokens",
    "*",
    "",
)
VALUES = st.sampled_from(
    ["", '""', '"quoted"', "plain", "<REDACTED>", 7, "12", -1, True, None, [1], {"a": 1}]
)
#: So many names more are too many to be remembered.
MANY = {f"filler_{number}": number for number in range(101)}


@given(st.dictionaries(st.sampled_from(NAMES), VALUES), st.lists(st.sampled_from(NAMES), max_size=5))
def test_few_names_are_read_as_many_are(attributes: dict[str, object], keys: list[str]) -> None:
    few, many = make_span(attributes), make_span({**attributes, **MANY})
    assert names_of_span(few).had is not None
    assert names_of_span(many).had is None
    keys = [key for key in keys if key != "*"]  # the name of no shape
    for _ in range(2):  # asked for the first time, and remembered
        here, there = SpanFields(few, EVERY_FAMILY), SpanFields(many, EVERY_FAMILY)
        assert here.any(*keys) == there.any(*keys)
        assert here.text(*keys) == there.text(*keys)
        assert here.count(*keys) == there.count(*keys)


def test_names_under_prefixes_come_prefix_by_prefix() -> None:
    names = names_of({"b.y": 1, "a.x": 2, "b.z": 3, "ab": 4})
    assert names.under("b.") == (("y", "b.y"), ("z", "b.z"))
    assert names.under_any(("a.", "b.", "c.")) == (("x", "a.x"), ("y", "b.y"), ("z", "b.z"))


def test_names_that_would_fill_the_memory_are_not_remembered() -> None:
    for count, length in ((10, 5_000), (200, 5_000)):
        long = {f"{number} {'x' * length}": number for number in range(count)}
        assert names_of(long).all == tuple(long)
        assert names_of(long) is not names_of(long) and not names_of(long).is_short
    assert names_of({"a": 1}) is names_of({"a": 2}) and names_of({"a": 1}).is_short


def test_a_span_whose_attributes_changed_is_asked_anew() -> None:
    attributes: dict[str, object] = {"llm.model_name": "orla"}
    span = make_span(attributes)
    assert SpanFields(span, EVERY_FAMILY).text("llm.model_name") == "orla"
    del attributes["llm.model_name"]
    attributes["model"] = "orla-2"
    assert SpanFields(span, EVERY_FAMILY).text("llm.model_name", "model") == "orla-2"


@pytest.mark.parametrize("is_open", [True, False])
@pytest.mark.parametrize(
    "scope",
    ["", "openinference.instrumentation.langchain", "mlflow.x", "autogen-core", "ai", "langsmith", "crewai"],
)
def test_a_dialect_is_told_again_as_it_was_told_first(scope: str, is_open: bool) -> None:
    for attributes in (
        {},
        {"openinference.span.kind": "LLM"},
        {"traceloop.span.kind": "x"},
        {"gen_ai.operation.name": "chat"},
        {"spring.ai.kind": "x", "gen_ai.operation.name": "chat"},
    ):
        span = make_span(dict(attributes))
        span.scope, span.is_open = scope, is_open
        expected = next((dialect for dialect in DIALECTS if dialect.speaks(span)), None)
        assert dialect_of(span) is expected
        assert dialect_of(span) is expected
