"""Runs about the weather: requests in the attributes of the conventions, executions with others, a span around them."""

from __future__ import annotations

import json
from dataclasses import replace

from made_spans import make_span
from weather_question import ASKED, CALLED, RETURNED, SAID, TOLD, model_span

from retrospan.ingest.interpret.spans.span import Span

RESULT = json.dumps(RETURNED)
USED = ((10, 2), (20, 4))


def counted(used: tuple[int, int], **attributes: object) -> dict[str, object]:
    counts: dict[str, object] = {"gen_ai.usage.input_tokens": used[0], "gen_ai.usage.output_tokens": used[1]}
    return counts | {name.replace("__", "."): value for name, value in attributes.items()}


def messages(asked: object, answer: object, used: tuple[int, int], **attributes: object) -> Span:
    """Return a request that tells both in the attributes of the conventions."""
    told = {"gen_ai.input.messages": json.dumps(asked), "gen_ai.output.messages": json.dumps(answer)}
    return model_span(counted(used, **attributes) | told)


def run_of(*acts: Span, **attributes: object) -> list[Span]:
    """Return acts one after the other, and a span around them with these attributes."""
    begun = acts[0].started_at
    apart = [
        replace(act, started_at=begun + place * 10**9, ended_at=begun + place * 10**9 + 10**8)
        for place, act in enumerate(acts)
    ]
    ended = apart[-1].ended_at + 1
    root = make_span(attributes, "run", span_id="f" * 16, started_at=begun - 1, ended_at=ended)
    return [root, *(replace(act, parent_span_id=root.span_id) for act in apart)]


def first() -> Span:
    return messages(ASKED, [CALLED], USED[0])


def last() -> Span:
    return messages(TOLD, [SAID], USED[1])


def ran(**attributes: object) -> Span:
    """Return an execution with other attributes than those of the conventions."""
    told = {name.replace("__", "."): value for name, value in attributes.items()}
    return make_span({"x.span.kind": "tool", **told}, "get_weather")
