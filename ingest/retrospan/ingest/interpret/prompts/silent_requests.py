"""Requests without content, and a later one of the same turn that has a prompt: it repeats what they were given and
answered.

A program that sends no contents may still send one prompt, such as that of a request that was refused. If as many requests
came before it, one after the other, as the prompt has answers since a person spoke, each answer is that of one of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.unfolding.untold_answers import take_turns


def complete_silent(requests: Sequence[NormalizedSpan]) -> Sequence[NormalizedSpan]:
    """Give requests that tell nothing what the first prompt that is told retells of them, in place; return these."""
    number = next((place for place, span in enumerate(requests) if span.input or span.output), 0)
    if not number or not requests[number].input:
        return ()
    silent, telling = requests[:number], requests[number]
    if any(span.failed or span.agent_name != telling.agent_name for span in silent):
        return ()
    prompt = telling.input
    spoke = max((at for at, message in enumerate(prompt) if message["role"] == "user"), default=-1)
    places = [at for at in range(spoke + 1, len(prompt)) if prompt[at]["role"] == "assistant"]
    if len(places) != number or places[-1] == len(prompt) - 1 or not take_turns(requests[: number + 1]):
        return ()
    for span, at in zip(silent, places, strict=True):
        span.input, span.output, span.is_unsaid = [*prompt[:at]], [prompt[at]], True
        span.system = span.system or telling.system
    return silent
