"""The history a model call saw, rebuilt to the same list whether a producer sends it full, as a delta or by response id.

Where a call says only what is new, the rest is the history and the answer of an earlier call; where that lies in the
conversation's previous run, it comes from that run's final history and is marked inferred.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from retrospan.ingest.interpret.calls.call_ids import CallIds
from retrospan.ingest.interpret.calls.calls import ModelCall
from retrospan.ingest.interpret.messages.message import Message, Part, parts_of, repeated, text_of
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.prompts.earlier_turns import complete_earlier_turns, leaves_out_calls
from retrospan.schemas import semconv


@dataclass(slots=True)
class _Given:
    """The messages of the last prompt, the calls that they ask for, and those that they answer and do not ask for."""

    messages: list[Message]
    spoken: set[str] = field(default_factory=set)
    answered: list[str] = field(default_factory=list)


class History:
    """Rebuilds the inputs of a run's model calls, in their order."""

    def __init__(self, previous_run: Sequence[Message] | None) -> None:
        self._previous_run = previous_run
        self._said: dict[tuple[str, ...], Message] = {}
        self._asked: dict[str, list[Message]] = {}
        self._answers: dict[str, list[Message]] = {}
        self._by_response: dict[str, list[Message]] = {}
        self._last: list[Message] = []
        self._ids = CallIds()
        self._given = _Given([])
        self._remembered: set[int] = set()
        self._told: list[Message] = []
        self._one_by_one: Sequence[Message] = ()
        self._fuller_ones: list[Message] = []
        self.used_previous_run = False
        self.wants_previous_run = False
        self._tells_new_alone = False

    def complete_first(self, calls: Sequence[ModelCall], *, is_stated: bool) -> None:
        """Complete the first prompt of a run that leaves out the calls of earlier turns, or these turns altogether, in
        place, where its conversation is stated: so it is known which run is the one before."""
        if not calls or not is_stated:
            return
        if leaves_out_calls(calls[0].input):
            self.wants_previous_run = True
            if self._previous_run and complete_earlier_turns(calls[0], self._previous_run):
                self.used_previous_run = True
        elif self._tells_new_alone and _is_new(calls[0].input):
            self.wants_previous_run = True
            if self._previous_run:
                self.used_previous_run = True
                _put_before(self._previous_run, calls)

    def rebuild(self, call: NormalizedSpan) -> tuple[list[Message], str]:
        """Return the full input of the next call and how it is known: full, rebuilt, inferred or none."""
        given = [*call.input] if told_in_one_list(call) else self._made_fuller(call.input)
        lost = self._lost(given)
        if lost and given[0] in self._asked[lost[0]][:1]:
            # It begins where the history begins, so nothing stands before it: answers inside it got lost.
            base, given, how = (
                list[Message](),
                self._mended(given, set(lost), is_one_list=told_in_one_list(call)),
                "rebuilt",
            )
        else:
            base, how = self._base(call, given, lost)
        whole = [*base, *given]
        self._remember(call, whole)
        return whole, how if whole else "none"

    def _made_fuller(self, messages: Sequence[Message]) -> list[Message]:
        """Return messages that were told one by one, with the text that stood before calls; what a prompt repeats of the one
        before is as it was there."""
        known = repeated(self._one_by_one, messages)
        given = [*self._fuller_ones] if known else []
        for message in messages[known:]:
            fuller = self._fuller(message)
            if fuller is not message and given and given[-1] == _without_calls(fuller):
                given.pop()  # its text stands by itself, before its calls
            given.append(fuller)
        self._one_by_one, self._fuller_ones = messages, [*given]
        return given

    def _lost(self, given: list[Message]) -> list[str]:
        """Return the ids of calls whose results are given, and that an earlier call asked for, but that are not repeated."""
        before = self._given.messages
        if given[: len(before)] != before:
            self._given = _Given([])
            before = []
        for message in given[len(before) :]:
            self._given.spoken.update(self._ids.asked(message))
            self._given.answered += self._ids.answered(message)
        # What a prompt repeats of the one before is not counted again.
        spoken = self._given.spoken
        self._given.answered = [call_id for call_id in self._given.answered if call_id not in spoken]
        self._given.messages = given
        return [call_id for call_id in self._given.answered if call_id in self._asked]

    def _mended(self, given: list[Message], lost: set[str], *, is_one_list: bool) -> list[Message]:
        """Return the messages with the answers that asked for the lost calls, each before its first result.

        A producer may leave such an answer out, or repeat it with other ids: that repetition makes room.
        """
        whole: list[Message] = []
        placed: set[int] = set()
        for message in given:
            for call_id in self._ids.answered(message):
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
                    elif whole and answer and is_one_list:
                        # The list says all texts: this one was not told again.
                        answer = [{**answer[0], "parts": parts_of(answer[0], "tool_call")}, *answer[1:]]
                    whole += answer
            whole.append(message)
        return whole

    def _base(self, call: NormalizedSpan, given: list[Message], lost: list[str]) -> tuple[list[Message], str]:
        if call.previous_response_id in self._by_response:
            return self._by_response[call.previous_response_id or ""], "rebuilt"
        if lost:
            if told_in_one_list(call) and given[0]["role"] == "tool":
                self._tells_new_alone = True
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
        for message in after[repeated(self._told, after) :]:
            if id(message) in self._remembered:
                continue
            self._remembered.add(id(message))
            if ids := tuple(self._ids.asked(message)):
                self._said.setdefault(ids, message)
        self._told = after
        for message in call.output:
            for call_id in self._ids.asked(message):
                self._asked[call_id] = after
                self._answers[call_id] = call.output
        if call.response_id and call.output:
            self._by_response[call.response_id] = after
        if call.output:
            self._last = after

    def _fuller(self, message: Message) -> Message:
        """Return the version of a message that was said earlier with its text, where this one repeats only its calls."""
        ids = tuple(self._ids.asked(message))
        earlier = self._said.get(ids) if ids else None
        return earlier if earlier is not None and text_of(earlier) and not text_of(message) else message


def _is_new(prompt: Sequence[Message]) -> bool:
    """Tell whether a prompt holds nothing but what a user says: no turn before it."""
    return [message["role"] for message in prompt if message["role"] != "system"] == ["user"]


def _put_before(previous: Sequence[Message], calls: Sequence[ModelCall]) -> None:
    """Begin the prompts that begin as the first one does with what the run before came to, in place."""
    first = [*calls[0].input]
    for call in calls:
        if call.input[: len(first)] == first and call.span.agent_name == calls[0].span.agent_name:
            call.input, call.history = [*previous, *call.input], "inferred"


def told_in_one_list(call: NormalizedSpan) -> bool:
    """Tell whether the input is one list, which says of each message all that was sent; one that is told by an event
    for each message may leave out the text that stood before calls."""
    return semconv.INPUT_MESSAGES in call.sent.attributes


def _without_calls(message: Message) -> Message:
    return {**message, "parts": [part for part in message["parts"] if part["type"] != "tool_call"]}


def _call(part: Part) -> tuple[object, object]:
    return part.get("name"), part.get("arguments")
