"""The ids of the calls that messages ask for and answer. Prompts repeat their messages: each is looked at once."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from retrospan.ingest.interpret.messages.message import Message, repeated


class CallIds:
    """What messages of one run say of calls; they must not change meanwhile."""

    def __init__(self) -> None:
        self._read: dict[int, tuple[Message, list[str], list[str]]] = {}
        self._prompt: list[Message] = []
        self._answered: set[str] = set()

    def asked(self, message: Message) -> list[str]:
        """Return the ids of the calls that a message asks for."""
        return self._ids(message)[1]

    def answered(self, message: Message) -> list[str]:
        """Return the ids of the calls whose results a message tells."""
        return self._ids(message)[2]

    def answered_in(self, prompt: list[Message]) -> AbstractSet[str]:
        """Return the ids of the calls whose results a prompt tells, good until the next is asked for."""
        known = repeated(self._prompt, prompt)
        if not known:
            self._answered = set()
        for message in prompt[known:]:
            self._answered.update(self.answered(message))
        self._prompt = [*prompt]
        return self._answered

    def _ids(self, message: Message) -> tuple[Message, list[str], list[str]]:
        read = self._read.get(id(message))
        if read is None:
            # Kept with its object: an id is only good as long as that lives.
            read = (message, _ids(message, "tool_call"), _ids(message, "tool_call_response"))
            self._read[id(message)] = read
        return read


def _ids(message: Message, kind: str) -> list[str]:
    return [part["id"] for part in message["parts"] if part["type"] == kind and "id" in part]
