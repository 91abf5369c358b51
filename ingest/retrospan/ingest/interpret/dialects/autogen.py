"""AutoGen's own spans: agents exchange messages, and each exchange is a span in a trace of its own.

Of its own: there is no span for a model call. What the model said is the message that the agent publishes: one that
counts tokens is one answer of a model, told of when the message is delivered to the team's manager. What was asked of the
model is on no span. The manager that is handed the task is the workflow.
"""

from __future__ import annotations

from retrospan.ingest.interpret.dialects.dialect import Dialect, Page, Producer, Source
from retrospan.ingest.interpret.normalize.messages import Message, read_message
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan, TokenUsage
from retrospan.ingest.interpret.spans.span import Span
from retrospan.ingest.interpret.spans.span_fields import whole
from retrospan.ingest.json_text import read_value


def _speaks(span: Span) -> bool:
    return span.scope == "autogen-core" or span.scope.startswith("autogen ")


def _refine(reading: NormalizedSpan) -> None:
    attributes = reading.span.attributes
    if reading.operation != "other" or attributes.get("messaging.operation") != "process":
        return
    told = read_value(attributes.get("message"))
    if not isinstance(told, dict):
        return
    published, task = told.get("message"), told.get("messages")
    if isinstance(published, dict):
        _read_published(published, reading)
    elif isinstance(task, list):
        said = [_message(item, "user") for item in task if isinstance(item, dict)]
        reading.input = [message for message in said if message is not None]
        if str(attributes.get("recipient_agent_class")).endswith("GroupChatManager"):
            reading.operation = "workflow"


def _read_published(published: dict[str, object], reading: NormalizedSpan) -> None:
    used = published.get("models_usage")
    message = _message(published, "assistant" if isinstance(used, dict) else "tool")
    if message is None:
        return
    if not isinstance(used, dict):
        reading.input = [message]
        return
    source = published.get("source")
    reading.operation, reading.is_told = "inference", True
    reading.agent_name = source if isinstance(source, str) else reading.agent_name
    reading.output = [message]
    reading.tokens = TokenUsage(whole(used.get("prompt_tokens")), whole(used.get("completion_tokens")))


def _message(published: dict[str, object], role: str) -> Message | None:
    content = published.get("content")
    return read_message({"role": role, "content": content}, role) if content else None


_PAGE = Page(
    title="AutoGen's own spans",
    recognised="a scope that is `autogen-core` or begins with `autogen `",
    sources=(
        Source("operation, agent, answer, tokens", ("message",)),
        Source("the task", ("message", "recipient_agent_class")),
    ),
    producers=(
        Producer(
            "AutoGen (AgentChat)",
            "from autogen_agentchat.teams import RoundRobinGroupChat\n"
            "from autogen_core import SingleThreadedAgentRuntime\n\n"
            "team = RoundRobinGroupChat(agents, runtime=SingleThreadedAgentRuntime(tracer_provider=provider))",
            "python",
            ("what was asked of the model", "a span for each model call", "failed model calls"),
        ),
    ),
    own="There is no span for a model call: what the model said is the message that an agent publishes with its "
    "count of tokens. The manager that is handed the task is the workflow.",
    is_recorded=False,
)
DIALECT = Dialect(name="autogen", speaks=_speaks, page=_PAGE, refine=_refine)
