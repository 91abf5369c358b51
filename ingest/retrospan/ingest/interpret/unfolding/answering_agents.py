"""Model calls of a run that has no span for any: agents that are each given what was said, and return the next message.

Where an agent asked for a tool so, a model answers for it: what it was given is a prompt, and what it returned the answer.
Agents that never did may be a person, or a program that executes tools, and are told for themselves. When the model was
asked is not known: while the agent worked.
"""

from __future__ import annotations

from retrospan.ingest.interpret.messages.message import Message, parts_of
from retrospan.ingest.interpret.messages.messages import read_message, read_messages
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.exchange import are_messages
from retrospan.ingest.interpret.tree.tree import Tree
from retrospan.ingest.interpret.unfolding.transcripts import told_call


def find_answering_agents(tree: Tree) -> None:
    """Add the model calls of agents to a run without spans or transcripts of model calls, in place."""
    if any(span.operation == "inference" for span in tree.spans):
        return
    agents = [span for span in tree.spans if span.operation == "agent"]
    around = tree.around(iter(agents))
    answers = {
        span: answer
        for span in agents
        if span not in around and not span.failed and (answer := _answer(span)) is not None
    }
    asking = {(span.sent.scope, span.agent_name) for span, answer in answers.items() if _asks(answer)}
    tree.add(
        [
            (span, _told(span, answer))
            for span, answer in answers.items()
            if span.agent_name and (span.sent.scope, span.agent_name) in asking
        ]
    )


def _asks(answer: Message) -> bool:
    return any(part.get("id") for part in parts_of(answer, "tool_call"))


def _answer(span: NormalizedSpan) -> Message | None:
    """Return the message that an agent returned to those it was given; None where it is not an assistant's."""
    given, returned = span.framework_input, span.framework_output
    if not isinstance(given, list) or not given or not are_messages(given):
        return None
    if isinstance(returned, str):
        return {"role": "assistant", "parts": [{"type": "text", "content": returned}]} if returned else None
    if not isinstance(returned, dict) or returned.get("role") != "assistant":
        return None
    return read_message(returned)


def _told(span: NormalizedSpan, answer: Message) -> NormalizedSpan:
    prompt = read_messages(span.framework_input)
    leading = next((at for at, message in enumerate(prompt) if message["role"] != "system"), len(prompt))
    system = [part for message in prompt[:leading] for part in message["parts"]]
    call = told_call(span, span.sent.started_at, system, prompt[leading:], answer, span.framework_output)
    call.agent_name = span.agent_name
    return call
