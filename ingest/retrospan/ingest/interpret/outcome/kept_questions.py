"""What a run was asked whose requests all failed, and tell no prompt: the transcript that its agent keeps ends with it."""

from __future__ import annotations

from collections.abc import Sequence

from retrospan.ingest.interpret.calls.calls import ModelCall
from retrospan.ingest.interpret.messages.message import Message
from retrospan.ingest.interpret.messages.messages import read_messages
from retrospan.ingest.interpret.tree.tree import Tree
from retrospan.ingest.interpret.unfolding.kept_transcripts import kept_lists


def question_at_end(tree: Tree, models: Sequence[ModelCall]) -> Message | None:
    """Return the message of the user with which the only transcript at the root ends; None where a request was answered or
    tells what it was given, for then the transcript may end with what a program said."""
    if not models or any(call.input or not call.span.failed for call in models):
        return None
    kept = [
        said
        for root in tree.roots()
        if root.operation in ("agent", "workflow")
        for listed in kept_lists(root)
        if (said := [message for each in listed for message in read_messages(each)])
    ]
    if len(kept) != 1:
        return None
    last = kept[0][-1]
    is_text = bool(last["parts"]) and all(part["type"] == "text" for part in last["parts"])
    return last if last["role"] == "user" and is_text else None
