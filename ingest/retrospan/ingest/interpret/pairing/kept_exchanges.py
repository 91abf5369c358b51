"""Models and counts of requests that only the client knows: it keeps its requests with their responses, and a step that
follows is given the client, as DSPy gives its adapter the `lm`.

The last response that a client keeps then is that of the request before, whose prompt and answer it tells again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from retrospan.ingest.interpret.messages.completion import agree
from retrospan.ingest.interpret.messages.message import text_of
from retrospan.ingest.interpret.messages.provider_payloads import parse_answer, parse_request
from retrospan.ingest.interpret.messages.response_usage import parse_usage
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.normalize.token_usage import TokenUsage
from retrospan.ingest.interpret.tree.tree import Tree
from retrospan.ingest.json_text import read_value

#: Objects within one another in which a client is looked for, and how many of them.
_DEPTH, _MOST = 3, 50
#: So many spans after a request may be the step that is given the client.
_NEXT = 5
#: Under which name a client keeps what it asked.
_KEPT = "history"


def complete_from_clients(tree: Tree, requests: Sequence[NormalizedSpan]) -> None:
    """Name models and count tokens of the requests whose spans say nothing of either, in place."""
    wanting = [span for span in requests if _says_nothing(span)]
    if not wanting:
        return
    began = [span.sent.started_at for span in tree.spans]
    for span in wanting:
        step = tree.parent(span)
        client = _client_given(step) if step is not None else None
        if client is None:
            continue
        model = client.get("model")
        span.request_model = model if isinstance(model, str) else None
        after = bisect_left(began, span.sent.done_at)
        following = (_client_given(each) for each in tree.spans[after : after + _NEXT] if not span.failed)
        later = next((each for each in following if each is not None), None)
        if later is not None:
            _take(span, later)


def _says_nothing(span: NormalizedSpan) -> bool:
    names = (span.request_model, span.response_model)
    counts = (span.tokens.input, span.tokens.output)
    return not any(names) and counts == (None, None) and bool(span.input)


def _client_given(step: NormalizedSpan) -> dict[str, object] | None:
    """Return the client in what a step was given: an object with the name of a model and a list of what it asked."""
    if step.operation in ("inference", "tool"):
        return None
    for text in step.sent.attributes.values():
        if isinstance(text, str) and text[:1] == "{" and f'"{_KEPT}"' in text and '"model"' in text:
            found = next(_clients(read_value(text)), None)
            if found is not None:
                return found
    return None


def _clients(value: object) -> Iterator[dict[str, object]]:
    waiting = [(value, _DEPTH)]
    for _ in range(_MOST):
        if not waiting:
            return
        at, depth = waiting.pop()
        if isinstance(at, dict):
            if isinstance(at.get("model"), str) and isinstance(at.get(_KEPT), list):
                yield at
            elif depth:
                waiting += ((inner, depth - 1) for inner in at.values() if isinstance(inner, dict))


def _take(span: NormalizedSpan, client: dict[str, object]) -> None:
    """Take models and counts from the last response that a client keeps, where it is that of the request, in place."""
    kept = client[_KEPT]
    last = kept[-1] if isinstance(kept, list) and kept else None
    if not isinstance(last, dict) or not isinstance(last.get("messages"), list):
        return
    asked, answer = parse_request(last).messages, parse_answer(last.get("response") or last)
    said = [message for message in asked if message["role"] != "system"]
    told = [message for message in span.input if message["role"] != "system"]
    if list(map(text_of, said)) != list(map(text_of, told)) or not answer or not agree(answer, span.output):
        return
    used = parse_usage(last.get("response") or last)
    if used.input is None:
        return
    span.response_model = used.model
    span.tokens = TokenUsage(used.input, used.output, used.cached, used.reasoning, used.written)
