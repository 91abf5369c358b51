"""Guardrails and evaluations: what judges what an agent was asked or answered. The models in them answer nobody.

Some say so by their kind; some by their name; some by what the agent around them failed with, which names them; and some
by what they do: a step of an agent gives a model the agent's answer alone, and gets a verdict.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from retrospan.ingest.interpret.calls.calls import ModelCall
from retrospan.ingest.interpret.messages.message import parts_of, text_of
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.tree.tree import Tree
from retrospan.ingest.json_text import read_value

#: Operations of spans that judge.
_JUDGING = ("guardrail", "evaluation")
#: A guardrail by its name, alone or among other words. What is called guardrails may be all that a program does.
_GUARDRAIL = re.compile(r"(?:(?<![A-Za-z])[Gg]|(?<=[a-z])G)uardrail(?![a-z])")
#: Operations of spans that may be a guardrail which only its name, or another's error, tells.
_MAY_JUDGE = ("agent", "workflow", "step", "other")


def judging_spans(tree: Tree, models: Sequence[ModelCall]) -> AbstractSet[NormalizedSpan]:
    """Return the spans that judge, and all inside them; none where nothing else is in the run that could be judged."""
    found = {span for span in tree.spans if span.operation in _JUDGING or _is_guardrail(span, tree)}
    found |= _verdicts(tree, models, found)
    if not found:
        return found
    inside = tree.nearest(found.__contains__)
    judging = {span for span in tree.spans if span in found or span in inside}
    is_judged = any(span.operation in ("agent", "inference") and span not in judging for span in tree.spans)
    return judging if is_judged else set()


def answering_calls(
    tree: Tree, models: Sequence[ModelCall], judging: AbstractSet[NormalizedSpan]
) -> list[ModelCall]:
    """Return the model calls that may answer the run: those of no span that judges.

    A guardrail may also be put around a request of the agent itself: that goes on from an earlier prompt of the agent, or
    is all that there is of an agent that did not fail.
    """
    own: list[ModelCall] = []
    for call in models:
        if call.span not in judging or any(_goes_on(call, earlier) for earlier in own):
            own.append(call)
    if own or any(above.failed for call in models[-1:] for above in tree.ancestors(call.span)):
        return own
    return [*models]


def _goes_on(call: ModelCall, earlier: ModelCall) -> bool:
    """Tell whether a call was given a prompt that begins with all of an earlier one."""
    given = len(earlier.input)
    return (
        0 < given < len(call.input)
        and call.span.system == earlier.span.system
        and call.input[:given] == earlier.input
    )


def _is_guardrail(span: NormalizedSpan, tree: Tree) -> bool:
    """Tell whether a span inside others is called a guardrail, or the agent around it failed with an error that is about
    one and names it."""
    parent = tree.parent(span)
    if parent is None or span.operation not in _MAY_JUDGE:
        return False
    if _GUARDRAIL.search(span.sent.name):
        return True
    told = parent.error_message if parent.failed and parent.operation == "agent" else None
    return told is not None and "guardrail" in told.lower() and _quotes(told, span.sent.name)


def _quotes(text: str, name: str) -> bool:
    return bool(name) and (f"'{name}'" in text or f'"{name}"' in text)


def _verdicts(
    tree: Tree, models: Sequence[ModelCall], known: AbstractSet[NormalizedSpan]
) -> set[NormalizedSpan]:
    """Return the steps of an agent that began after it had answered, and gave a model nothing but that answer, which the
    model answered with a verdict."""
    if len(models) < 2:
        return set()
    agents = tree.nearest(lambda span: span.operation == "agent")
    answers: dict[NormalizedSpan, ModelCall] = {}
    found: set[NormalizedSpan] = set()
    for call in models:
        step = _step_around(tree, call.span)
        agent = tree.parent(step) if step is not None else None
        if step is None or agent is None or agent.operation != "agent":
            if (own := agents.get(call.span)) is not None:
                answers[own] = call
            continue
        answer = answers.get(agent)
        if step not in known and answer is not None and _judges(call, answer, step):
            found.add(step)
    return found


def _step_around(tree: Tree, span: NormalizedSpan) -> NormalizedSpan | None:
    """Return the step that a request is made in, by itself or by one agent."""
    above = tree.parent(span)
    if above is not None and above.operation == "agent":
        above = tree.parent(above)
    return above if above is not None and above.operation in ("step", "other") and not above.is_node else None


def _judges(call: ModelCall, answer: ModelCall, step: NormalizedSpan) -> bool:
    """Tell whether a call in a step was given an answer alone, and said a verdict on it: an object of truth values and
    words."""
    said = [text for message in answer.span.output if (text := text_of(message))]
    asks = any(parts_of(message, "tool_call") for message in answer.span.output)
    if len(said) != 1 or asks or step.sent.started_at < answer.span.sent.done_at:
        return False
    given = [text_of(message) for message in call.input if message["role"] != "system"]
    told = [read_value(text_of(message)) for message in call.span.output]
    if given != said or len(told) != 1 or not isinstance(told[0], dict):
        return False
    values = [*told[0].values()]
    return any(isinstance(value, bool) for value in values) and all(
        isinstance(value, bool | str) for value in values
    )
