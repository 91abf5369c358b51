"""The AI SDK of Vercel: `ai.*` beside a few `gen_ai.*`. The general rules read it whole."""

from __future__ import annotations

from retrospan.ingest.interpret.dialects.dialect import Dialect, Page, Producer, Source, Switch
from retrospan.ingest.interpret.spans.span import Span


def _speaks(span: Span) -> bool:
    return span.scope == "ai"


_RECORDED = "experimental_telemetry: {isEnabled: true, recordInputs: true, recordOutputs: true}"
_PAGE = Page(
    title="Vercel AI SDK",
    recognised="the scope `ai`",
    sources=(
        Source("operation", ("ai.operationId",)),
        Source("agent", ("ai.telemetry.functionId",)),
        Source("conversation", ("ai.telemetry.metadata.*",)),
        Source("provider", ("gen_ai.system", "ai.model.provider")),
        Source("model asked for", ("gen_ai.request.model", "ai.model.id")),
        Source("model that answered", ("gen_ai.response.model", "ai.response.model")),
        Source("input messages", ("ai.prompt.messages", "ai.prompt")),
        Source("output messages", ("ai.response.text", "ai.response.toolCalls")),
        Source("tool definitions", ("ai.prompt.tools",)),
        Source("tool's name and call id", ("ai.toolCall.name", "ai.toolCall.id")),
        Source("arguments and result", ("ai.toolCall.args", "ai.toolCall.result")),
        Source("tokens", ("gen_ai.usage.input_tokens", "ai.usage.inputTokens")),
        Source("finish reasons", ("gen_ai.response.finish_reasons", "ai.response.finishReason")),
        Source("failure", ("the span's status", "the event exception")),
    ),
    producers=(
        Producer(
            "AI SDK",
            "import { NodeSDK } from '@opentelemetry/sdk-node';\n"
            "new NodeSDK().start();  // sends to http://localhost:4318 unless told otherwise\n"
            "await generateText({ model, prompt, experimental_telemetry: { isEnabled: true } });",
            "text",
        ),
    ),
)  # fmt: skip
DIALECT = Dialect(
    name="vercel_ai",
    speaks=_speaks,
    page=_PAGE,
    switches=(
        Switch("messages", _RECORDED),
        Switch("results", _RECORDED),
        Switch("conversation", "experimental_telemetry: {isEnabled: true, metadata: {session_id: '…'}}"),
    ),
)
