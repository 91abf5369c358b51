"""One agent run of any length as OTLP spans: an agent that keeps the last messages and forgets what lies before.

    invoke_agent <agent>          the question and the answer
      step <n>                    every third span
        chat <model>              gen_ai.input.messages holds the question and the last messages
        execute_tool <tool>       arguments and result; the result is in the next chats

The bytes grow linearly with the number of spans, as they do in agents that work for hours. Spans come in the order in
which they end, the root last, and are made one by one, so a long run costs its maker no memory.
"""

from __future__ import annotations

import json
import random
from collections import deque
from collections.abc import Generator, Iterable, Iterator

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import ScopeSpans, Span

from bench.agents import BASE_NS, TOOLS, Value, set_attribute
from bench.words import STREAM_WORDS, Words

#: Messages that a chat repeats.
WINDOW = 20
#: Characters of a message's text: such a run has about 3 KB per span.
TEXT = 250
#: Of the stream that the texts are cut from: a hundred times what they take.
LEAST_WORDS, WORDS_PER_SPAN = 10_000, 2_000
_MS = 1_000_000


class LongRun:
    """The run of a seed: the same spans each time. `odd_step` says something else there than the same run without it."""

    def __init__(self, spans: int, seed: int, *, odd_step: int = 0, big_result: int = 0) -> None:
        """A run of about `spans` spans. `big_result` is the length in characters of what the tool of step 2 returns."""
        self._steps = max(1, (spans - 1) // 3)
        self._odd_step, self._big_result = odd_step, big_result
        # Runs of one seed say the same; only their ids differ.
        ids = random.Random(seed * 2 + bool(odd_step))
        self.trace_id, self._root_id = ids.randbytes(16), ids.randbytes(8)
        self._ids = ids
        self._words = Words(seed, min(STREAM_WORDS, LEAST_WORDS + WORDS_PER_SPAN * spans))
        self._now = BASE_NS + seed * 86_400_000 * _MS
        self._recent: deque[str] = deque(maxlen=WINDOW)

    @property
    def run_id(self) -> str:
        return self.trace_id.hex()

    def spans(self) -> Iterator[Span]:
        """Yield the spans. Call once."""
        began = self._now
        question = _message("user", {"type": "text", "content": self._words.text(TEXT)})
        answer = ""
        for number in range(1, self._steps + 1):
            answer = yield from self._step(number, question)
        yield self._end(
            self._root_id,
            b"",
            "invoke_agent worker",
            began,
            {
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.input.messages": f"[{question}]",
                "gen_ai.output.messages": f"[{answer}]",
            },
        )

    def _step(self, number: int, question: str) -> Generator[Span, None, str]:
        step_id, began = self._ids.randbytes(8), self._now
        last = number == self._steps
        call: dict[str, object] = {
            "type": "tool_call",
            "id": f"call_{number}",
            "name": TOOLS[number % len(TOOLS)],
            "arguments": {"query": self._words.text(60), "page": number},
        }
        said: dict[str, object] = {"type": "text", "content": self._words.text(TEXT)}
        answer = _message("assistant", said) if last else _message("assistant", said, call)
        self._now += 500 * _MS
        yield self._end(
            self._ids.randbytes(8),
            step_id,
            "chat gpt-4o-mini",
            began,
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": "openai",
                "gen_ai.request.model": "gpt-4o-mini",
                "gen_ai.response.model": "gpt-4o-mini",
                "gen_ai.usage.input_tokens": WINDOW * TEXT // 4,
                "gen_ai.usage.output_tokens": TEXT // 4,
                "gen_ai.input.messages": f"[{','.join((question, *self._recent))}]",
                "gen_ai.output.messages": f"[{answer}]",
            },
        )
        self._recent.append(answer)
        if not last:
            yield self._tool(step_id, number, call)
        self._now += _MS
        yield self._end(step_id, self._root_id, f"step {number}", began, {"step.index": number})
        return answer

    def _tool(self, step_id: bytes, number: int, call: dict[str, object]) -> Span:
        began = self._now
        self._now += 100 * _MS
        text = self._words.text(TEXT)
        if number == self._odd_step:
            text = f"something else: {text}"
        if number == 2 and self._big_result:
            text = (text * (self._big_result // len(text) + 1))[: self._big_result]
        response = {"type": "tool_call_response", "id": call["id"], "response": {"found": text}}
        # What is too long for a prompt is cut in it, as agents do.
        cut = {**response, "response": {"found": text[:TEXT]}}
        self._recent.append(_message("tool", cut))
        return self._end(
            self._ids.randbytes(8),
            step_id,
            f"execute_tool {call['name']}",
            began,
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": str(call["name"]),
                "gen_ai.tool.call.id": str(call["id"]),
                "gen_ai.tool.call.arguments": json.dumps(call["arguments"]),
                "gen_ai.tool.call.result": json.dumps(response["response"]),
            },
        )

    def _end(
        self, span_id: bytes, parent_id: bytes, name: str, began: int, attributes: dict[str, Value]
    ) -> Span:
        span = Span(
            trace_id=self.trace_id,
            span_id=span_id,
            parent_span_id=parent_id,
            name=name,
            kind=Span.SPAN_KIND_INTERNAL,
            start_time_unix_nano=began,
            end_time_unix_nano=self._now,
        )
        for key, value in {**attributes, "gen_ai.agent.name": "worker"}.items():
            set_attribute(span, key, value)
        return span


def requests_of(spans: Iterable[Span], spans_each: int) -> Iterator[bytes]:
    """Yield export requests of so many spans each, the last with what is left."""
    request = ExportTraceServiceRequest()
    scope = _scope(request)
    for span in spans:
        scope.spans.append(span)
        if len(scope.spans) == spans_each:
            yield request.SerializeToString()
            request = ExportTraceServiceRequest()
            scope = _scope(request)
    if scope.spans:
        yield request.SerializeToString()


def _scope(request: ExportTraceServiceRequest) -> ScopeSpans:
    resource = request.resource_spans.add()
    resource.resource.attributes.add(key="service.name").value.string_value = "worker"
    return resource.scope_spans.add()


def _message(role: str, *parts: dict[str, object]) -> str:
    return json.dumps({"role": role, "parts": parts})
