"""What must have come before what in a run of several machines, whatever their clocks say: by parents, by the ids of calls,
and by answers that the caller returned.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import NamedTuple

from retrospan.ingest.interpret.messages.message import Message, Part, parts_of
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.normalize.qualified_ids import is_unique
from retrospan.ingest.interpret.spans.span import CLIENT, SERVER

#: Characters of an answer by which it is known again.
_SHORTEST = 8

#: A machine, and the id of a call that is told there.
_Call = tuple[Hashable, str | None]


class Order(NamedTuple):
    """Something of the `first` span was at `first_at` by its own clock, before something of another was at `then_at`."""

    first: NormalizedSpan
    first_at: int
    then: NormalizedSpan
    then_at: int
    first_until: int = 0  # when the first was done, most likely before that as well


class Causes:
    """The spans of a run, each with the machine that it is of, and what follows from what they hold for two of them."""

    def __init__(self, machines: Mapping[NormalizedSpan, Hashable]) -> None:
        self._of = machines
        self._spans = sorted(
            (span for span in machines if span.sent.started_at), key=lambda span: span.sent.order
        )
        known = {(span.sent.trace_id, span.sent.span_id): span for span in self._spans}
        self._outer = {
            span: outer
            for span in self._spans
            if (
                outer := known.get(
                    (span.sent.parent_trace_id or span.sent.trace_id, span.sent.parent_span_id)
                )
            )
            not in (None, span)
        }

        #: The first prompt on a machine that tells what a call returned, by its id.
        self._told: dict[_Call, tuple[NormalizedSpan, Part]] = {}

    def orders(self) -> Iterator[Order]:
        """Yield what is certain, of spans of two machines each."""
        nested = [*self._nested()]
        if nested:
            yield from nested
            for span in self._spans:
                for part in _parts(span.input, "tool_call_response") if span.operation == "inference" else ():
                    self._told.setdefault((self._of[span], part.get("id")), (span, part))
            yield from self._called()
            yield from self._returned()

    def _nested(self) -> Iterator[Order]:
        """Yield that nothing begins before what it lies in, nor a server after its client was answered."""
        for span, outer in self._outer.items():
            if self._of[span] == self._of[outer]:
                continue
            own, around = span.sent, outer.sent
            yield Order(outer, around.started_at, span, own.started_at)
            if (own.kind, around.kind) == (SERVER, CLIENT) and around.ended_at and not outer.failed:
                yield Order(span, own.started_at, outer, around.ended_at, own.ended_at)

    def _called(self) -> Iterator[Order]:
        """Yield that a model asked before a tool ran, and that this had begun before a model was told what it returned."""
        asked: dict[_Call, NormalizedSpan] = {}
        for span in self._spans:
            if span.operation == "inference":
                for part in _parts(span.output, "tool_call"):
                    asked.setdefault((self._of[span], part.get("id")), span)
        machines: dict[str | None, set[Hashable]] = {}
        for machine, call_id in (*asked, *self._told):
            machines.setdefault(call_id, set()).add(machine)
        for span in self._spans:
            call_id = span.tool_call_id
            if span.operation != "tool" or not call_id or not is_unique(call_id):
                continue
            for machine in machines.get(call_id, set()) - {self._of[span]}:
                asking, told = asked.get((machine, call_id)), self._told.get((machine, call_id))
                if asking is not None:
                    yield Order(asking, asking.sent.started_at, span, span.sent.started_at)
                if told is not None:
                    own, prompt = span.sent, told[0]
                    yield Order(span, own.started_at, prompt, prompt.sent.started_at, own.ended_at)

    def _returned(self) -> Iterator[Order]:
        """Yield that an answer was begun before the call from another machine ended that returned it, or a prompt told it."""
        for span in self._spans:
            texts = {*_texts(span.output)} if span.operation in ("inference", "agent") else set[str]()
            outer = self._caller(span) if texts else None
            if outer is None:
                continue
            own = span.sent
            if texts & {*_texts([outer.result, outer.output])}:
                yield Order(span, own.started_at, outer, outer.sent.ended_at, own.ended_at)
            prompt, told = self._told.get((self._of[outer], outer.tool_call_id), (outer, None))
            if told is not None and texts & {*_texts(told.get("response"))}:
                yield Order(span, own.started_at, prompt, prompt.sent.started_at, own.ended_at)

    def _caller(self, span: NormalizedSpan) -> NormalizedSpan | None:
        """Return the innermost call of a tool or an agent around a span that is of another machine, and ended."""
        seen = {span}
        outer = self._outer.get(span)
        while outer is not None and outer not in seen:
            seen.add(outer)
            is_call = outer.operation in ("tool", "agent") and self._of[outer] != self._of[span]
            if is_call:
                return outer if outer.sent.ended_at else None
            outer = self._outer.get(outer)
        return None


def _parts(messages: Iterable[Message], kind: str) -> Iterator[Part]:
    return (part for message in messages for part in parts_of(message, kind))


def _texts(value: object) -> Iterator[str]:
    """Yield the texts in a value that are long enough to be known again."""
    if isinstance(value, str):
        text = value.strip()
        if len(text) >= _SHORTEST:
            yield text
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)
