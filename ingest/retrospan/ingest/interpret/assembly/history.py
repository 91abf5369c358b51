"""The history a model call saw, rebuilt to the same list whether a producer sends it full, as a delta or by response id.

Where a call says only what is new, the rest is the history and the answer of an earlier call; where that lies in the
conversation's previous run, it comes from that run's final history and is marked inferred.
"""

from __future__ import annotations

from collections.abc import Sequence

from retrospan.ingest.interpret.normalize.message import Message, Part, parts_of, text_of
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.schemas import semconv


class History:
    """Rebuilds the inputs of a run's model calls, in their order."""

    def __init__(self, previous_run: Sequence[Message] | None) -> None:
        self._previous_run = previous_run
        self._said: dict[tuple[str, ...], Message] = {}
        self._asked: dict[str, list[Message]] = {}
        self._answers: dict[str, list[Message]] = {}
        self._by_response: dict[str, list[Message]] = {}
        self._last: list[Message] = []
        self._read: dict[int, tuple[Message, list[str], list[str]]] = {}
        self._remembered: set[int] = set()
        self.used_previous_run = False
        self.wants_previous_run = False

    def rebuild(self, call: NormalizedSpan) -> tuple[list[Message], str]:
        """Return the full input of the next call and how it is known: full, rebuilt, inferred or none."""
        given = list[Message]()
        lists = told_in_one_list(call)
        for message in call.input:
            fuller = message if lists else self._fuller(message)
            if fuller is not message and given and given[-1] == _without_calls(fuller):
                given.pop()  # its text stands by itself, before its calls
            given.append(fuller)
        lost = self._lost(given)
        if lost and given[0] in self._asked[lost[0]][:1]:
            # It begins where the history begins, so nothing stands before it: answers inside it got lost.
            base, given, how = list[Message](), self._mended(given, set(lost)), "rebuilt"
        else:
            base, how = self._base(call, given, lost)
        whole = [*base, *given]
        self._remember(call, whole)
        return whole, how if whole else "none"

    def _lost(self, given: list[Message]) -> list[str]:
        """Return the ids of calls whose results are given, and that an earlier call asked for, but that are not repeated."""
        spoken = {call_id for message in given for call_id in self._ids(message)[0]}
        answered = [call_id for message in given for call_id in self._ids(message)[1]]
        return [call_id for call_id in answered if call_id not in spoken and call_id in self._asked]

    def _mended(self, given: list[Message], lost: set[str]) -> list[Message]:
        """Return the messages with the answers that asked for the lost calls, each before its first result.

        A producer may leave such an answer out, or repeat it with other ids: that repetition makes room.
        """
        whole: list[Message] = []
        placed: set[int] = set()
        for message in given:
            for call_id in self._ids(message)[1]:
                answer = self._answers[call_id] if call_id in lost else []
                if answer and id(answer) not in placed:
                    placed.add(id(answer))
                    said = [_call(part) for each in answer for part in parts_of(each, "tool_call")]
                    while whole and (calls := parts_of(whole[-1], "tool_call")):
                        if any(_call(part) not in said for part in calls):
                            break
                        whole.pop()
                    if whole and answer[:1] and whole[-1] == _without_calls(answer[0]):
                        whole.pop()  # its text stood there without its calls
                    whole += answer
            whole.append(message)
        return whole

    def _base(self, call: NormalizedSpan, given: list[Message], lost: list[str]) -> tuple[list[Message], str]:
        if call.previous_response_id in self._by_response:
            return self._by_response[call.previous_response_id or ""], "rebuilt"
        if lost:
            return self._asked[lost[0]], "rebuilt"
        if not (call.stores_history or call.previous_response_id):
            return [], "full"
        if not given or any(message["role"] in ("assistant", "tool") for message in given):
            return [], "full"
        if self._last:
            return ([], "full") if self._last[: len(given)] == given else (self._last, "inferred")
        self.wants_previous_run = True
        if self._previous_run:
            self.used_previous_run = True
            return [*self._previous_run], "inferred"
        return [], "full"

    def _remember(self, call: NormalizedSpan, whole: list[Message]) -> None:
        after = [*whole, *call.output]
        for message in after:
            if id(message) in self._remembered:
                continue
            self._remembered.add(id(message))
            if ids := tuple(self._ids(message)[0]):
                self._said.setdefault(ids, message)
        for message in call.output:
            for call_id in self._ids(message)[0]:
                self._asked[call_id] = after
                self._answers[call_id] = call.output
        if call.response_id and call.output:
            self._by_response[call.response_id] = after
        if call.output:
            self._last = after

    def _fuller(self, message: Message) -> Message:
        """Return the version of a message that was said earlier with its text, where this one repeats only its calls."""
        ids = tuple(self._ids(message)[0])
        earlier = self._said.get(ids) if ids else None
        return earlier if earlier is not None and text_of(earlier) and not text_of(message) else message

    def _ids(self, message: Message) -> tuple[list[str], list[str]]:
        """Return the ids of the calls that a message asks for, and of those it answers; each message is looked at once."""
        read = self._read.get(id(message))
        if read is None:
            read = (message, _ids(message, "tool_call"), _ids(message, "tool_call_response"))
            self._read[id(message)] = read
        return read[1], read[2]


def told_in_one_list(call: NormalizedSpan) -> bool:
    """Tell whether the input is one list, which says of each message all that was sent; one that is told by an event
    for each message may leave out the text that stood before calls."""
    return semconv.INPUT_MESSAGES in call.sent.attributes


def _without_calls(message: Message) -> Message:
    return {**message, "parts": [part for part in message["parts"] if part["type"] != "tool_call"]}


def _ids(message: Message, kind: str) -> list[str]:
    return [part["id"] for part in parts_of(message, kind) if "id" in part]


def _call(part: Part) -> tuple[object, object]:
    return part.get("name"), part.get("arguments")
