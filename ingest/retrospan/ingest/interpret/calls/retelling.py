"""What the next prompt of the same agent retells of an answer: the answer itself, its calls with their ids, their results.

An answer is aligned with the prompt that follows it: what that prompt holds after all that the call was given begins with
the answer. Only what follows in this way is read: a transcript that somebody quotes, or an older turn, retells nothing.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import takewhile

from retrospan.ingest.interpret.calls.calls import ModelCall
from retrospan.ingest.interpret.calls.doubled_ids import results_by_id
from retrospan.ingest.interpret.calls.observed_results import observed_results
from retrospan.ingest.interpret.messages.completion import completed, has_gaps
from retrospan.ingest.interpret.messages.finish_reasons import FOR_TOOLS
from retrospan.ingest.interpret.messages.message import Message, Part, act_of, parts_of, text_of
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan

#: Prompts after an answer among which the one that retells it is looked for: agents of one name may take turns.
NEAR = 8


class Retelling:
    """The model calls of a run, each with the prompts after it that may retell its answer."""

    def __init__(self, calls: Sequence[ModelCall]) -> None:
        self._calls = calls
        self._own: dict[str | None, list[int]] = {}
        for place, call in enumerate(calls):
            self._own.setdefault(call.span.agent_name, []).append(place)
        self._known = {part.get("id") for call in calls for part in _calls(call.span.output)}

    def complete_answers(self) -> None:
        """Complete answers that lack their calls, the ids of these, or everything, in place."""
        for place, call in enumerate(self._calls):
            if not call.span.failed and _may_lack(call.span):
                call.span.output = self._completed(place)

    def results(self, place: int) -> list[Part | None]:
        """Return what each call of an answer returned, as the next prompt says: by id, else by position.

        Calls of one id have as many results in order, or none is known. By position alone only where no result has an
        id, and each call has one. Else what it is told to have observed.
        """
        asked = _calls(self._calls[place].span.output)
        after = self._after(place) or ()
        retold, said = _told(after)
        if observed := observed_results(asked, after):
            return [*observed]
        if len(asked) > len(said) and (apart := _told_apart(after)) is not None:
            retold, said = apart
        if any("id" in part for part in said):
            return results_by_id(asked, said)
        is_same = list(map(act_of, _calls(retold))) == list(map(act_of, asked))
        return [*said] if is_same and len(said) == len(asked) else [None for _ in asked]

    def unasked(self, place: int) -> list[Part]:
        """Return the results that the next prompt holds right after an answer, where neither of them tells a call."""
        call = self._calls[place]
        if call.span.failed or _calls(call.span.output):
            return []
        retold, results = _told(self._after(place) or ())
        return [] if _calls(retold) else results

    def retold_calls(self, place: int) -> list[str] | None:
        """Return the names of all calls that the next prompt holds after what a call was given; None where none fits."""
        after = self._after(place)
        return None if after is None else [part.get("name", "") for part in _calls(after)]

    def between(self, place: int) -> range:
        """Return the times from the end of a call to the next one of its agent."""
        later = self._near(place, after=True)
        return range(
            self._calls[place].span.sent.done_at, later[0].span.sent.started_at if later else sys.maxsize
        )

    def _completed(self, place: int) -> list[Message]:
        answer = self._calls[place].span.output
        after = self._after(place) or ()
        retold, results = (None if answer else self._apart(place, after)) or _told(after)
        if retold and _calls(answer):
            return _with_text(completed(answer, retold), retold)
        asked = _calls(retold)
        have_results = bool(results) and _ids(asked) <= _ids(results)
        if not answer:
            # Of several messages each may be an answer of its own, unless what they ask for is answered together.
            return retold if len(retold) < 2 or have_results else []
        ended = self._calls[place].span.finish_reasons
        if any(part.get("id") for part in asked) and ended and not any(map(FOR_TOOLS.search, ended)):
            return answer  # it did not end for them; APIs whose calls have no ids may have one reason for every end
        if asked and have_results and _texts(answer) == _texts(retold):
            return [*answer[:-1], {**answer[-1], "parts": [*answer[-1]["parts"], *asked]}]
        return answer

    def _apart(self, place: int, after: Sequence[Message]) -> tuple[list[Message], list[Part]] | None:
        """Return the answer that is told call by call before the very next prompt, with its results: no other answer, of a
        span that is there or of one that was lost, may have asked for one of them."""
        later = self._near(place, after=True)
        found = (
            _told_apart(after)
            if later and len(later[0].input) == len(self._calls[place].input) + len(after)
            else None
        )
        return found if found is not None and not _ids(_calls(found[0])) & self._known else None

    def _after(self, place: int) -> list[Message] | None:
        """Return what the next prompt of the agent holds after all that a call was given; None where none fits.

        Old messages may have been left out of it, but what it repeats it repeats in order, to the last; such a prompt
        only counts where the answer says something that it can be known by.
        """
        call, later = self._calls[place], self._near(place, after=True)
        given = call.input
        if not given or not later or self._has_double(place, later):
            return None
        for each in later:
            if each.input[: len(given)] == given:
                return each.input[len(given) :]
        if not (_texts(call.span.output) or _calls(call.span.output)):
            return None
        said = later[0].input
        end = next((n for n in range(len(said), 0, -1) if said[n - 1] == given[-1]), 0)
        rest = iter(given)
        is_shorter = end and all(any(message == each for each in rest) for message in said[:end])
        return said[end:] if is_shorter else None

    def _near(self, place: int, *, after: bool) -> list[ModelCall]:
        """Return the next calls, or those before, of the same agent or of one that is not known, in order."""
        agent = self._calls[place].span.agent_name
        if agent is None:
            own = range(place + 1, len(self._calls)) if after else range(place)
            return [self._calls[each] for each in (own[:NEAR] if after else own[-NEAR:])]
        found: list[int] = []
        for name in (agent, None):
            own_places = self._own.get(name, [])
            at = bisect_left(own_places, place)
            found += own_places[at : at + NEAR + 1] if after else own_places[max(at - NEAR, 0) : at]
        return [self._calls[each] for each in sorted(found) if each != place]

    def _has_double(self, place: int, later: Sequence[ModelCall]) -> bool:
        """Tell whether another call near was given the very same: it could not be known whose answer is retold."""
        given = self._calls[place].input
        return any(
            len(call.input) == len(given) and call.input == given and not call.span.failed
            for call in (*self._near(place, after=False), *later)
        )


def _with_text(answer: list[Message], retold: Sequence[Message]) -> list[Message]:
    """Return an answer of calls alone with the text that stands before just these calls where it is retold."""
    texts = [part for message in retold for part in parts_of(message, "text")]
    ids = [part.get("id") for part in _calls(answer)]
    if not texts or _texts(answer) or None in ids or ids != [part.get("id") for part in _calls(retold)]:
        return answer
    return [{**answer[0], "parts": [*texts, *answer[0]["parts"]]}, *answer[1:]]


def _may_lack(span: NormalizedSpan) -> bool:
    """Tell whether an answer may lack something: it holds no calls, or calls alone."""
    return not span.output or not _calls(span.output) or has_gaps(span.output) or not _texts(span.output)


def _told(after: Sequence[Message]) -> tuple[list[Message], list[Part]]:
    """Return the answer that messages begin with, and the results that come right after it."""
    answer = [*takewhile(lambda message: message["role"] == "assistant", after)]
    results: list[Part] = []
    for message in after[len(answer) :]:
        said = parts_of(message, "tool_call_response")
        if not said:
            break
        results += said
    return answer, results


def _told_apart(after: Sequence[Message]) -> tuple[list[Message], list[Part]] | None:
    """Return the calls that messages tell one by one, each with its result right after it, as one answer, and the results.

    None where they are anything else, or end with what no tool said.
    """
    pairs = [*zip(after[::2], after[1::2], strict=False)]
    if len(pairs) < 2 or len(after) % 2:
        return None
    asked: list[Part] = []
    said: list[Part] = []
    for asking, telling in pairs:
        calls, results = parts_of(asking, "tool_call"), parts_of(telling, "tool_call_response")
        is_whole = len(calls) == len(asking["parts"]) == len(results) == len(telling["parts"]) == 1
        if not is_whole or calls[0].get("id") in (None, "") or calls[0].get("id") != results[0].get("id"):
            return None
        asked += calls
        said += results
    return [{**after[0], "parts": asked}], said


def _calls(messages: Sequence[Message]) -> list[Part]:
    return [part for message in messages for part in parts_of(message, "tool_call")]


def _texts(messages: Sequence[Message]) -> list[str]:
    return [text for message in messages if (text := text_of(message).strip())]


def _ids(parts: Iterable[Part]) -> set[str | None]:
    return {part.get("id") for part in parts}
