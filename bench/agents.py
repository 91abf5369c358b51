"""Made-up agent runs as OTLP spans, in the manner of the OpenTelemetry GenAI conventions.

    invoke_agent <agent>          the question and the answer
      step <n>
        chat <model>              gen_ai.input.messages holds the whole history so far, so it grows from step to step
        execute_tool <tool>       arguments and result; the result is part of the next chat's history

One run is one trace. Spans come in the order in which they end, the root last, as an SDK exports them.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass

from opentelemetry.proto.trace.v1.trace_pb2 import Span

from bench.words import Words

AGENTS = ("support", "researcher", "coder", "billing")
MODELS = (("openai", "gpt-4o-mini"), ("anthropic", "claude-sonnet-4-5"), ("gcp.vertex_ai", "gemini-2.5-pro"))
TOOLS = ("search_docs", "lookup_order", "read_file", "run_query", "get_weather")
FAILING = 0.03
"""Share of tool calls that fail."""
BASE_NS = 1_790_000_000_000_000_000
_MS = 1_000_000

Value = str | int | float | list[str]


@dataclass(frozen=True, slots=True)
class Style:
    """How runs look. `unit` is the length in characters that every text of a run is a share of."""

    steps: tuple[int, int]
    unit: float


class Agents:
    """Deals runs, all different, the same ones for the same seed and style."""

    def __init__(self, seed: int, style: Style) -> None:
        self._random = random.Random(seed)
        self._words = Words(seed + 1)
        self._style = style
        self._now = BASE_NS + seed * 86_400_000 * _MS

    def run(self) -> list[Span]:
        """Return the spans of one more run."""
        return _Run(self._random, self._words, self._style, self._started()).spans()

    def _started(self) -> int:
        self._now += self._random.randint(1, 60) * _MS
        return self._now


class _Run:
    def __init__(self, dice: random.Random, words: Words, style: Style, now: int) -> None:
        self._random, self._words, self._style, self._now = dice, words, style, now
        self._trace_id, self._root_id = dice.randbytes(16), dice.randbytes(8)
        self._agent = dice.choice(AGENTS)
        self._provider, self._model = dice.choice(MODELS)
        self._common: dict[str, Value] = {
            "gen_ai.conversation.id": f"conversation-{dice.randbytes(6).hex()}",
            "gen_ai.agent.name": self._agent,
        }
        self._history: list[str] = []  # messages, written as JSON already
        self._done: list[Span] = []

    def spans(self) -> list[Span]:
        began = self._now
        question = _message("user", {"type": "text", "content": self._text(0.6)})
        self._history.append(question)
        last = self._random.randint(*self._style.steps)
        answer = ""
        for number in range(1, last + 1):
            answer = self._step(number, final=number == last)
        self._end(
            self._root_id,
            b"",
            f"invoke_agent {self._agent}",
            began,
            {
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.provider.name": self._provider,
                "gen_ai.input.messages": f"[{question}]",
                "gen_ai.output.messages": f"[{answer}]",
            },
        )
        return self._done

    def _step(self, number: int, *, final: bool) -> str:
        """One model call and the tool calls it asks for; returns the model's message as JSON."""
        step_id, began = self._random.randbytes(8), self._now
        asked = [] if final else [self._ask() for _ in range(self._random.choice((1, 1, 1, 2)))]
        answer = self._chat(step_id, asked)
        for call in asked:
            self._tool(step_id, call)
        self._now += _MS
        kind = "answer" if final else "act"
        self._end(step_id, self._root_id, f"step {number}", began, {"step.index": number, "step.kind": kind})
        return answer

    def _ask(self) -> dict[str, object]:
        arguments = {
            "query": self._text(0.1),
            "limit": self._random.choice((5, 10)),
            "page": self._random.randrange(99),
        }
        return {
            "type": "tool_call",
            "id": f"call_{self._random.randbytes(9).hex()}",
            "name": self._random.choice(TOOLS),
            "arguments": arguments,
        }

    def _chat(self, step_id: bytes, asked: list[dict[str, object]]) -> str:
        began = self._now
        self._now += self._random.randint(200, 3000) * _MS
        answer = _message("assistant", {"type": "text", "content": self._text(0.3)}, *asked)
        given = f"[{','.join(self._history)}]"
        reason = "tool_calls" if asked else "stop"
        self._end(
            self._random.randbytes(8),
            step_id,
            f"chat {self._model}",
            began,
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": self._provider,
                "gen_ai.request.model": self._model,
                "gen_ai.request.temperature": 0.2,
                "gen_ai.response.model": f"{self._model}-2026-05-01",
                "gen_ai.response.id": f"resp_{self._random.randbytes(12).hex()}",
                "gen_ai.response.finish_reasons": [reason],
                "gen_ai.usage.input_tokens": len(given) // 4,
                "gen_ai.usage.output_tokens": len(answer) // 4,
                "gen_ai.input.messages": given,
                "gen_ai.output.messages": f'[{answer[:-1]},"finish_reason":"{reason}"}}]',
            },
            kind=Span.SPAN_KIND_CLIENT,
        )
        self._history.append(answer)
        return answer

    def _tool(self, step_id: bytes, call: dict[str, object]) -> None:
        began = self._now
        self._now += self._random.randint(5, 800) * _MS
        failed = self._random.random() < FAILING
        result = {"error": "took too long"} if failed else {"hits": [self._text(0.2) for _ in range(3)]}
        attributes: dict[str, Value] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": str(call["name"]),
            "gen_ai.tool.call.id": str(call["id"]),
            "gen_ai.tool.call.arguments": json.dumps(call["arguments"]),
            "gen_ai.tool.call.result": json.dumps(result),
        }
        span = self._end(
            self._random.randbytes(8), step_id, f"execute_tool {call['name']}", began, attributes
        )
        if failed:
            _fail(span, "TimeoutError", "took too long")
        response = {"type": "tool_call_response", "id": call["id"], "response": result}
        self._history.append(_message("tool", response))

    def _text(self, share: float) -> str:
        # Lengths vary by half of their mean, as texts do.
        return self._words.text(round(self._style.unit * share * self._random.uniform(0.5, 1.5)))

    def _end(
        self,
        span_id: bytes,
        parent_id: bytes,
        name: str,
        began: int,
        attributes: dict[str, Value],
        kind: Span.SpanKind.ValueType = Span.SPAN_KIND_INTERNAL,
    ) -> Span:
        span = Span(
            trace_id=self._trace_id,
            span_id=span_id,
            parent_span_id=parent_id,
            name=name,
            kind=kind,
            flags=0x101,
            start_time_unix_nano=began,
            end_time_unix_nano=self._now,
        )
        for key, value in {**attributes, **self._common}.items():
            set_attribute(span, key, value)
        self._done.append(span)
        return span


def _message(role: str, *parts: dict[str, object]) -> str:
    return json.dumps({"role": role, "parts": parts})


def set_attribute(span: Span, key: str, value: Value) -> None:
    """Add an attribute."""
    attribute = span.attributes.add(key=key)
    if isinstance(value, str):
        attribute.value.string_value = value
    elif isinstance(value, int):
        attribute.value.int_value = value
    elif isinstance(value, float):
        attribute.value.double_value = value
    else:
        for item in value:
            attribute.value.array_value.values.add(string_value=item)


def _fail(span: Span, kind: str, message: str) -> None:
    span.status.code = span.status.STATUS_CODE_ERROR
    span.status.message = message
    set_attribute(span, "error.type", kind)
    event = span.events.add(name="exception", time_unix_nano=span.end_time_unix_nano)
    event.attributes.add(key="exception.type").value.string_value = kind
    event.attributes.add(key="exception.message").value.string_value = message
