"""The buckets of tokens: they never overlap, and those of a side add up to its total."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_spans import make_span
from spans import rows_of_spans

from retrospan.ingest.interpret.messages.response_usage import parse_usage
from retrospan.ingest.interpret.normalize.token_usage import TokenUsage
from retrospan.ingest.interpret.spans.vocabulary import MODAL_TOKENS

counts = st.none() | st.integers(0, 60)


@given(
    st.builds(
        TokenUsage,
        input=counts,
        output=counts,
        cached=counts,
        reasoning=counts,
        written=counts,
        modal=st.dictionaries(st.sampled_from(sorted(MODAL_TOKENS.values())), st.integers(0, 60)),
    )
)
def test_the_buckets_of_a_side_add_up_to_its_total(tokens: TokenUsage) -> None:
    buckets = tokens.buckets()
    for side, total in (("input", tokens.input), ("output", tokens.output)):
        of_side = [
            count
            for name, count in buckets.items()
            if (name == "reasoning" or name.startswith("output")) == (side == "output")
        ]
        assert min(of_side, default=0) >= 0
        assert not of_side or sum(of_side) == total
        assert (side in buckets) == bool(of_side)


@pytest.mark.parametrize(
    ("tokens", "buckets"),
    [
        (TokenUsage(), {}),
        (TokenUsage(100, 20), {"input": 100, "output": 20}),
        (
            TokenUsage(100, 20, cached=60, reasoning=5, written=30),
            {"input": 10, "cache_read": 60, "cache_write": 30, "output": 15, "reasoning": 5},
        ),
        (TokenUsage(100, None, cached=0), {"input": 100, "cache_read": 0}),
        # An instrumentation that leaves out of the total what was cached.
        (TokenUsage(10, 20, cached=60), {"output": 20}),
        (TokenUsage(None, 20, cached=60), {"output": 20}),
        (
            TokenUsage(100, 20, modal={"input_audio": 70, "output_audio": 20}),
            {"input": 30, "input_audio": 70, "output": 0, "output_audio": 20},
        ),
        (
            TokenUsage(100, None, cached=40, modal={"input_audio": 70, "cache_read_audio": 40}),
            {"input": 30, "input_audio": 30, "cache_read_audio": 40},
        ),
        # Which of the cached ones were audio is not known: nor is how many of the others were.
        (TokenUsage(100, None, cached=40, modal={"input_audio": 70}), {"input": 60, "cache_read": 40}),
        (TokenUsage(None, 50, reasoning=10, modal={"output_text": 50}), {"output": 40, "reasoning": 10}),
    ],
)
def test_what_the_buckets_are(tokens: TokenUsage, buckets: dict[str, int]) -> None:
    assert tokens.buckets() == buckets


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (
            {
                "input_tokens": 10,
                "output_tokens": 5,
                "cache_read_input_tokens": 60,
                "cache_creation_input_tokens": 30,
            },
            TokenUsage(100, 5, 60, None, 30),
        ),
        (
            {
                "prompt_tokens": 100,
                "completion_tokens": 20,
                "total_tokens": 120,
                "prompt_tokens_details": {"cached_tokens": 60},
                "completion_tokens_details": {"reasoning_tokens": 5},
            },
            TokenUsage(100, 20, 60, 5),
        ),
        (
            {
                "input_tokens": 100,
                "output_tokens": 20,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens_details": {"reasoning_tokens": 7},
            },
            TokenUsage(100, 20, 0, 7),
        ),
        (
            {
                "promptTokenCount": 100,
                "candidatesTokenCount": 20,
                "thoughtsTokenCount": 5,
                "totalTokenCount": 125,
            },
            TokenUsage(100, 25, None, 5),
        ),
        # Beside a total it is part of the count.
        (
            {"input_tokens": 100, "output_tokens": 5, "cache_read_input_tokens": 60, "total_tokens": 105},
            TokenUsage(100, 5, 60),
        ),
    ],
    ids=["Anthropic", "OpenAI", "OpenAI Responses", "Gemini", "with a total"],
)
def test_each_provider_counts_in_its_own_way(usage: dict[str, object], expected: TokenUsage) -> None:
    found = parse_usage({"usage": usage})
    assert TokenUsage(found.input, found.output, found.cached, found.reasoning, found.written) == expected


def test_the_conventions_give_every_count_by_itself() -> None:
    attributes: dict[str, object] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.cache_read.input_tokens": 40,
        "gen_ai.usage.audio.input_tokens": 70,
        "gen_ai.usage.audio.cache_read.input_tokens": 40,
        "gen_ai.usage.output_tokens": 20,
        "gen_ai.usage.reasoning.output_tokens": 4,
    }
    ((call,),) = (rows.model_calls for rows in rows_of_spans([make_span(attributes)]))
    assert call.input_tokens == 100, "the total still holds what was cached"
    assert call.token_buckets == (
        '{"input":30,"input_audio":30,"cache_read_audio":40,"cache_write":0,"output":16,"reasoning":4}'
    ).replace('"cache_write":0,', "")
    for name in ("gen_ai.usage.cache_write.input_tokens", "gen_ai.usage.cache_creation.input_tokens"):
        told = {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 100, name: 30}
        ((call,),) = (rows.model_calls for rows in rows_of_spans([make_span(told)]))
        assert (call.cache_write_tokens, call.token_buckets) == (30, '{"input":70,"cache_write":30}')


@pytest.mark.parametrize(
    ("total", "known"),
    [
        (None, 960),  # more was cached than was sent
        (965, 960),  # as Bedrock counts
        (15, 960),  # as the Anthropic API counts, added up by who instruments it
        (230, 10),  # something else is wrong with these counts
    ],
)
def test_what_was_cached_is_part_of_the_input(total: int | None, known: int) -> None:
    used = {
        "input_tokens": 10,
        "output_tokens": 5,
        "cache_read_input_tokens": 900,
        "cache_write_input_tokens": 50,
    }
    told = {**used, "total_tokens": total} if total is not None else used
    attributes: dict[str, object] = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    (found,) = rows_of_spans(
        [make_span(attributes | {f"gen_ai.usage.{name}": n for name, n in told.items()})]
    )
    (call,) = found.model_calls
    assert (call.input_tokens, call.cached_tokens, call.cache_write_tokens) == (known, 900, 50)
    assert [problem.field for problem in found.problems if "token" in problem.field] == (
        ["input_tokens"] if known == 10 else []
    )


def test_a_part_that_is_in_the_input_is_not_added() -> None:
    attributes: dict[str, object] = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    used = {"input_tokens": 1000, "output_tokens": 5, "cache_read_input_tokens": 900}
    for total in ({}, {"total_tokens": 1005}):
        told = {f"gen_ai.usage.{name}": count for name, count in {**used, **total}.items()}
        (found,) = rows_of_spans([make_span(attributes | told)])
        assert found.model_calls[0].input_tokens == 1000
    apart = {f"gen_ai.usage.{name}": count for name, count in {**used, "total_tokens": 1905}.items()}
    (found,) = rows_of_spans([make_span(attributes | apart)])
    assert found.model_calls[0].input_tokens == 1900


@pytest.mark.parametrize(("output", "expected"), [(20, 150), (21, None)])
def test_what_an_attribute_does_not_count_the_response_does_if_it_counts_the_rest_alike(
    output: int, expected: int | None
) -> None:
    """Attributes may tell only how many tokens of the input came from no cache."""
    attributes: dict[str, object] = {
        "gen_ai.operation.name": "chat",
        "acme.usage.non_cached_input_tokens": 86,
        "acme.usage.cache_read_input_tokens": 64,
        "acme.usage.output_tokens": output,
        "gen_ai.completion": '{"id": "r1", "choices": [{"message": {"role": "assistant", "content": "Snow."}}], '
        '"usage": {"prompt_tokens": 150, "completion_tokens": 20, "total_tokens": 170}}',
    }
    ((call,),) = (rows.model_calls for rows in rows_of_spans([make_span(attributes)]))
    assert (call.input_tokens, call.output_tokens) == (expected, output)
