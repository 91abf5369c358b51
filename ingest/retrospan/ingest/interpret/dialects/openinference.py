"""OpenInference: `openinference.span.kind`, indexed `llm.*` attributes, `input.value` and `output.value`."""

from __future__ import annotations

from retrospan.ingest.interpret.dialects.dialect import Dialect, Page, Source, Switch, of_package
from retrospan.ingest.interpret.spans.span import Span


def speaks(span: Span) -> bool:
    return "openinference.span.kind" in span.attributes


_HIDDEN = (
    "OPENINFERENCE_HIDE_INPUTS, OPENINFERENCE_HIDE_OUTPUTS, OPENINFERENCE_HIDE_INPUT_MESSAGES and "
    "OPENINFERENCE_HIDE_OUTPUT_MESSAGES must not be true"
)
SWITCHES = (
    Switch("messages", _HIDDEN),
    Switch("results", _HIDDEN, "openinference.instrumentation."),
    Switch(
        "conversation", "with using_session(session_id=…) of openinference.instrumentation around the loop"
    ),
)
#: What every OpenInference instrumentation writes.
SOURCES = (
    Source("operation", ("openinference.span.kind",)),
    Source("conversation", ("session.id",)),
    Source(
        "provider, model, parameters",
        ("llm.provider", "llm.system", "llm.model_name", "llm.invocation_parameters"),
    ),
    Source("input messages", ("llm.input_messages.N.message.*", "input.value")),
    Source("output messages", ("llm.output_messages.N.message.*", "output.value")),
    Source("tool definitions", ("llm.tools.N.tool.json_schema",)),
    Source("tool's name, arguments, result", ("tool.name", "input.value", "output.value")),
    Source("tokens", ("llm.token_count.prompt", "llm.token_count.completion")),
    Source("finish reasons", ("llm.finish_reason",)),
    Source("failure", ("the span's status", "the event exception")),
)
NO_CALL_ID = "the id of a tool call on the tool's span: it is found by name, arguments and order"
_ONE_MODEL = "two models: with the Responses API only the one that answered, with chat only the one asked for"
_PAGE = Page(
    title="OpenInference",
    recognised="the attribute `openinference.span.kind`",
    sources=SOURCES,
    producers=(
        of_package(
            "OpenAI's client", "openinference-instrumentation-openai",
            "the tools and the loop: it sees the requests only",
        ),
        of_package(
            "Anthropic's client", "openinference-instrumentation-anthropic",
            "the tools and the loop: it sees the requests only",
        ),
        of_package(
            "OpenAI Agents SDK", "openinference-instrumentation-openai-agents", NO_CALL_ID, _ONE_MODEL,
            "the session: group_id and session of the run are not on the spans",
            "the text of a tool's exception: the SDK itself replaces it",
        ),
        of_package(
            "smolagents", "openinference-instrumentation-smolagents", NO_CALL_ID, "a conversation",
            "the prompt of a request that failed; and, when the model fails, the root span",
        ),
    ),
)  # fmt: skip
DIALECT = Dialect(name="openinference", speaks=speaks, page=_PAGE, switches=SWITCHES)
