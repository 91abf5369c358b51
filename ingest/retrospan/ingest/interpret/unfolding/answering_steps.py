"""Model calls of a run that has no span for any: steps that hand messages on to each other.

Where one step returns the messages of a prompt, and a later one beside it the message of an assistant, the later one asked
a model: it was given what the step before it returned.
"""

from __future__ import annotations

from retrospan.ingest.interpret.messages.message import Message, parts_of
from retrospan.ingest.interpret.messages.messages import read_message
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.tree.tree import Tree
from retrospan.ingest.json_text import read_value


def find_answering_steps(tree: Tree) -> None:
    """Mark the steps that asked a model, in a run without spans or transcripts of model calls, in place.

    Only where a model must have answered: it asks for a tool somewhere, or is instructed.
    """
    if any(span.operation == "inference" for span in tree.spans):
        return
    prompts: dict[NormalizedSpan | None, list[Message]] = {}
    said: dict[NormalizedSpan | None, _Chain] = {}
    found: list[tuple[NormalizedSpan, list[Message], Message]] = []
    for span in tree.spans:
        returned = _returned_by(span) if span.operation in ("step", "other") else None
        if returned is None:
            continue
        parent = tree.parent(span)
        prompt, answer = _prompt_in(returned), _answer_in(returned)
        if prompt:
            prompts[parent] = prompt
        elif answer is not None and parent in prompts:
            chain = said.setdefault(parent, _Chain())
            found.append((span, chain.goes_on(prompts.pop(parent), answer), answer))
        elif parent in said:
            said[parent].note_result(returned)
    if not any(_is_of_model(prompt, answer) for _, prompt, answer in found):
        return
    for span, prompt, answer in found:
        leading = next((at for at, message in enumerate(prompt) if message["role"] != "system"), len(prompt))
        span.operation = "inference"
        span.system = [part for message in prompt[:leading] for part in message["parts"]]
        span.input, span.output = prompt[leading:], [answer]


class _Chain:
    """The answers to one prompt that is handed on again and again: what their tools returned is handed on apart."""

    def __init__(self) -> None:
        self._prompt: list[Message] = []
        self._asked: set[str] = set()
        self._results: list[Message] = []

    def goes_on(self, prompt: list[Message], answer: Message) -> list[Message]:
        """Return the prompt, with the results that its answers have asked for so far."""
        if prompt != self._prompt:
            self._prompt, self._asked, self._results = prompt, set(), []
        self._asked |= {part["id"] for part in parts_of(answer, "tool_call") if "id" in part}
        return [*prompt, *self._results]

    def note_result(self, returned: object) -> None:
        """Take in what a step returned, where it is the output of a tool that was asked for."""
        if isinstance(returned, dict) and isinstance(output := returned.get("tool_output"), dict):
            call_id = returned.get("tool_id", returned.get("tool_call_id"))
            if call_id in self._asked:
                message = read_message({**output, "role": "tool", "tool_call_id": call_id})
                self._results += [message] if message is not None else []


def _returned_by(span: NormalizedSpan) -> object:
    """Return what a step returned: what its instrumentation calls so, else the last object among its attributes."""
    if span.framework_output is not None:
        return span.framework_output
    texts = [text for text in span.sent.attributes.values() if isinstance(text, str) and text[:1] == "{"]
    objects = [value for text in texts if isinstance(value := read_value(text), dict)]
    return objects[-1] if objects else None


def _values(returned: object) -> list[object]:
    return [returned, *returned.values()] if isinstance(returned, dict) else [returned]


def _prompt_in(returned: object) -> list[Message]:
    """Return the messages that a step hands on: a list of them which does not end with an answer."""
    for value in _values(returned):
        if (
            isinstance(value, list)
            and value
            and all(isinstance(item, dict) and "role" in item for item in value)
        ):
            messages = [message for item in value if (message := read_message(item)) is not None]
            if messages and messages[-1]["role"] != "assistant":
                return messages
    return []


def _answer_in(returned: object) -> Message | None:
    """Return the one message of an assistant that a step returned."""
    said = [
        value for value in _values(returned) if isinstance(value, dict) and value.get("role") == "assistant"
    ]
    return read_message(said[0], "assistant") if len(said) == 1 else None


def _is_of_model(prompt: list[Message], answer: Message) -> bool:
    return bool(parts_of(answer, "tool_call")) or prompt[0]["role"] == "system"
