"""AutoGen's own spans: agents exchange messages, and each exchange is a span in a separate trace.

Particular to it: model calls have no span. A model's answer is the message that the agent publishes, recognised by its
token counts and recorded when it is delivered to the team's manager. The model's input is on no span. The manager that
is given the task is the workflow.
"""

from __future__ import annotations

from retrospan.ingest.interpret.dialects.dialect import Dialect
from retrospan.ingest.interpret.messages.message import Message
from retrospan.ingest.interpret.messages.messages import read_message
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.normalize.token_usage import TokenUsage
from retrospan.ingest.interpret.spans.span import Span
from retrospan.ingest.interpret.spans.span_fields import whole
from retrospan.ingest.json_text import read_value


def _speaks(span: Span) -> bool:
    return span.scope == "autogen-core" or span.scope.startswith("autogen ")


def _refine(span: NormalizedSpan) -> None:
    attributes = span.sent.attributes
    if span.operation != "other" or attributes.get("messaging.operation") != "process":
        return
    told = read_value(attributes.get("message"))
    if not isinstance(told, dict):
        return
    published, task = told.get("message"), told.get("messages")
    if isinstance(published, dict):
        _read_published(published, span)
    elif isinstance(task, list):
        said = [_message(item, "user") for item in task if isinstance(item, dict)]
        span.input = [message for message in said if message is not None]
        if str(attributes.get("recipient_agent_class")).endswith("GroupChatManager"):
            span.operation = "workflow"


def _read_published(published: dict[str, object], span: NormalizedSpan) -> None:
    used = published.get("models_usage")
    source = published.get("source")
    if isinstance(published.get("content"), str) and not isinstance(used, dict):
        # No result: those are lists. What the model said before its calls is an event of its own.
        thought = _message(published, "assistant") if published.get("type") == "ThoughtEvent" else None
        if thought is not None and isinstance(source, str):
            span.output, span.is_thought, span.agent_name = [thought], True, source
        return
    message = _message(published, "assistant" if isinstance(used, dict) else "tool")
    if message is None:
        return
    if not isinstance(used, dict):
        span.input = [message]
        return
    span.operation, span.is_told = "inference", True
    span.agent_name = source if isinstance(source, str) else span.agent_name
    span.output = [message]
    span.tokens = TokenUsage(whole(used.get("prompt_tokens")), whole(used.get("completion_tokens")))


def _message(published: dict[str, object], role: str) -> Message | None:
    content = published.get("content")
    return read_message({"role": role, "content": content}, role) if content else None


DIALECT = Dialect(name="autogen", speaks=_speaks, refine=_refine)
