"""`python hashed_rows.py KIND`: where interpretation was loaded from, then a hash of the rows of each thing that it read."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator, Sequence
from hashlib import sha256

from bench.deep_run import SHAPES, DeepRun
from bench.long_run import requests_of
from fix_recordings import OTHERS, load_recording, manifest, taken
from spans import rows_of_spans, spans_of_requests

from retrospan.ingest.interpret import run
from retrospan.ingest.interpret.spans.span import Span

#: Deeper than Python's stack, which a call of a compiled function does not ask.
DEEP = 3_000
#: What a sender may put where something else belongs.
ODD: tuple[object, ...] = (
    None,
    True,
    0,
    -1,
    1.5,
    "",
    "x",
    [],
    {},
    [None],
    {"type": 3},
    {"id": 7},
    [["a"]],
    {"": 0},
)


def recorded() -> Iterator[tuple[str, list[Span]]]:
    whole = {name: load_recording(name) for name in sorted(manifest())} | taken() | taken(OTHERS)
    for name, recording in whole.items():
        yield name, spans_of_requests(recording.traces, recording.logs)


def nested() -> Iterator[tuple[str, list[Span]]]:
    for name, shape in SHAPES.items():
        yield name, spans_of_requests([*requests_of(DeepRun(DEEP, *shape).spans(), 1_000)])
    for name, text in nested_texts():
        for key in (
            "gen_ai.input.messages",
            "gen_ai.tool.call.result",
            "input.value",
            "retrospan.state.after",
        ):
            yield f"{name} as {key}", [_span({"gen_ai.operation.name": "chat", key: text})]


def nested_texts() -> Iterator[tuple[str, str]]:
    for depth in (150, 900, 50_000):
        yield f"{depth} lists", "[" * depth + "]" * depth
        yield f"{depth} objects", '{"parts":' * depth + "0" + "}" * depth
        yield f"{depth} messages", '{"messages":[' * depth + "]}" * depth
        yield f"{depth} calls in Python", "f(a=" * depth + "1" + ")" * depth
    text = "[]"
    for _ in range(12):
        text = json.dumps([{"role": "user", "content": text}])
    yield "texts in texts", text


def odd() -> Iterator[tuple[str, list[Span]]]:
    for name in sorted(manifest()):
        recording = load_recording(name)
        for seed in range(4):
            spans = spans_of_requests(recording.traces, recording.logs)
            chosen = random.Random(f"{name} {seed}")
            for span in spans:
                span.attributes = {key: _altered(value, chosen) for key, value in span.attributes.items()}
            yield f"{name} {seed}", spans


def _altered(value: object, chosen: random.Random) -> object:
    """Return an attribute with something else in a few places: it may be JSON."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json.dumps(_changed(json.loads(value), chosen))
        except ValueError:
            return value
    return chosen.choice(ODD) if chosen.random() < 0.02 else value


def _changed(value: object, chosen: random.Random) -> object:
    if chosen.random() < 0.03:
        return chosen.choice(ODD)
    if isinstance(value, dict):
        return {key: _changed(item, chosen) for key, item in value.items()}
    if isinstance(value, list):
        return [_changed(item, chosen) for item in value]
    return value


def _span(attributes: dict[str, object]) -> Span:
    return Span(
        trace_id="a" * 32,
        span_id="b" * 16,
        parent_span_id="",
        name="chat",
        kind=1,
        flags=0,
        started_at=1,
        ended_at=2,
        status="unset",
        status_message="",
        scope="",
        scope_version="",
        attributes=attributes,
        resource={},
    )


def hashed(spans: Sequence[Span]) -> str:
    try:
        return sha256(repr(rows_of_spans(spans)).encode(errors="surrogatepass")).hexdigest()
    except Exception as error:  # noqa: BLE001 (what one cannot read the other cannot read either)
        return type(error).__name__


if __name__ == "__main__":
    print(run.__file__)
    kinds = {"recordings": recorded, "nested": nested, "odd": odd}
    for name, spans in kinds[sys.argv[1]]():
        print(name, hashed(spans))
