"""Questions of no words: a person may send one, and it is known what was said.

An empty message of a user's is one only where a prompt begins with it. Later ones stand for what was not told: results of
tools, pictures.
"""

from __future__ import annotations

from collections.abc import Sequence

from retrospan.ingest.interpret.messages.message import Message


def is_empty_question(message: Message) -> bool:
    """Tell whether a user said an empty text, and nothing else."""
    parts = message["parts"]
    return message["role"] == "user" and len(parts) == 1 and parts[0].get("content") == ""


def begins(messages: Sequence[Message]) -> bool:
    """Tell whether what follows these messages is what a prompt begins with."""
    return all(message["role"] == "system" for message in messages)


def only_questions(messages: list[Message]) -> list[Message]:
    """Return the messages of a prompt without the empty ones that are not questions."""
    if not any(map(is_empty_question, messages)):
        return messages
    found: list[Message] = []
    for message in messages:
        if not is_empty_question(message) or begins(found):
            found.append(message)
    return found
