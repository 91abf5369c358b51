"""What later acts took from earlier ones, found by content: repeated values of results and of texts, and documents.

Only content that is unlikely to repeat by chance counts. Of a value that stands in several earlier things it is said that
it may be from any of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from retrospan.ingest.interpret.lineage.earlier_texts import EarlierText, EarlierTexts
from retrospan.ingest.interpret.lineage.places import path_of
from retrospan.ingest.interpret.lineage.provenance import Edge
from retrospan.ingest.interpret.lineage.telling_values import TellingValue, telling_values
from retrospan.ingest.interpret.messages.message import Message, Part, parts_of
from retrospan.ingest.interpret.normalize.documents import documents_of
from retrospan.ingest.interpret.steps.run_step import RunStep
from retrospan.ingest.interpret.steps.values import Values
from retrospan.ingest.json_text import read_value
from retrospan.schemas.references import VERSION_OF, document_ref, documents_named, message_ref, step_ref

#: A value with a digit counts from the first length on, any other from the second; what is longer is a text.
SHORTEST_NAME, SHORTEST_WORD, LONGEST_VALUE, LEAST_NUMBER = 4, 12, 300, 10_000
#: A text counts as said again from this length on.
SHORTEST_TEXT = 24
#: Bounds for one run: what is beyond is not looked for.
MOST_VALUES, MOST_TEXTS, MOST_SEARCHED, MOST_READ = 5_000, 1_000, 200_000_000, 200_000


def borrowed_edges(run_id: str, steps: list[RunStep], values: Values, known: list[Edge]) -> list[Edge]:
    """Return the edges that equal content reveals; their evidence is `inferred`, except for documents with an id.

    A retrieval used its documents. A tool call wasInformedBy the call that first returned a value of its arguments, and
    used the documents and the message that hold it. A
    message wasDerivedFrom a document whose text it holds; one that nothing of `known` has generated wasGeneratedBy the
    tool whose result it holds. An answer wasDerivedFrom the message that told of the result it repeats.
    """
    borrowing = _Borrowing(run_id, values)
    asking = {step.model.ordinal: step.number for step in steps if step.model is not None}
    for edge in known:
        if edge.relation == "wasGeneratedBy":
            borrowing.generated.add(edge.subject)
            if edge.role == "result" and edge.step is not None:
                borrowing.told_in.setdefault(edge.step, edge.subject)
    for step in steps:
        if step.model is not None:
            borrowing.hear(step)
            borrowing.answer(step)
        elif step.tool is not None:
            asked = step.tool.asked if step.tool.matched_by_id else None
            decided = step.number if asked is None else asking.get(asked.by, step.number)
            borrowing.call(step, min(decided, step.number))
        borrowing.retrieve(step)
    return list(borrowing.edges)


@dataclass(slots=True)
class _Borrowing:
    """The content so far, in the order of the steps, and the edges found."""

    run_id: str
    messages: Values
    edges: dict[Edge, None] = field(default_factory=dict)
    generated: set[str] = field(default_factory=set)  # messages with a producer
    told_in: dict[int, str] = field(default_factory=dict)  # a tool's step → the message with its result
    heard: set[int] = field(default_factory=set)  # numbers of the messages that were looked at
    given: list[int] = field(default_factory=list)  # those of the last prompt
    values: dict[str, int] = field(default_factory=dict)  # value → the tool's step that said it first
    texts: dict[str, tuple[int, str]] = field(default_factory=dict)  # text → (step, reference of its source)
    of_documents: dict[str, tuple[int, str]] = field(
        default_factory=dict
    )  # those of the texts that are documents
    others: dict[str, None] = field(default_factory=dict)  # what neither a tool nor a model said
    systems: dict[str, tuple[int, list[tuple[int, str]]]] = field(default_factory=dict)
    searched: int = 0
    unread: int = MOST_READ
    results: dict[int, EarlierText] = field(default_factory=dict)  # by the tool's step
    earlier: EarlierTexts = field(default_factory=EarlierTexts)

    def hear(self, step: RunStep) -> None:
        """Take in the messages that a model call was given first, and its system instructions."""
        assert step.model is not None
        given = step.model.input_values
        known = len(self.given) if given[: len(self.given)] == self.given else 0
        new = {*given[known:]} - self.heard
        self.given = given
        self.heard |= new
        for message, number in zip(step.model.input[known:], given[known:], strict=True) if new else ():
            if number in new and message["role"] != "assistant":
                self._message(step, message, message_ref(self.messages.hash(number)))
            new.discard(number)
        for text in (text for part in step.span.system for text in self._texts_of(part).values()):
            is_new = text not in self.systems
            done, found = self.systems.get(text, (0, []))
            found = [*found, *self._held_by(self.texts, [text], step.number, done)]
            self.systems[text] = (len(self.texts), found)
            for _, source in found:
                how = "used" if source.startswith("document:") else "wasInformedBy"
                self._add(step, step_ref(self.run_id, step.number), how, source, "content")
            self.others[text] = None
            if is_new:
                held = {source for _, source in found}
                self.earlier.add(EarlierText("system", None, step.number, text, retells=held))

    def _message(self, step: RunStep, message: Message, reference: str) -> None:
        texts = {
            f"parts[{place}].{name}": text
            for place, part in enumerate(message["parts"])
            for name, text in self._texts_of(part).items()
        }
        held: set[str] = set()
        # Of what is known to be a tool's answer only documents may be the source.
        needles = self.of_documents if reference in self.generated else self.texts
        for number, source in self._held_by(needles, [*texts.values()], step.number):
            held.add(source)
            if source.startswith("document:"):
                self._add(step, reference, "wasDerivedFrom", source, "content")
            elif reference not in self.generated:
                self._add(step, reference, "wasGeneratedBy", source, "content")
                self.told_in.setdefault(number, reference)
        if reference in self.generated:
            return
        if not parts_of(message, "tool_call_response"):
            self.others |= dict.fromkeys(texts.values())
        for inside, text in texts.items():
            self.earlier.add(EarlierText("message", reference, step.number, text, inside, retells=held))

    def answer(self, step: RunStep) -> None:
        """Find what a model's answer repeats of results that it was given, and of documents."""
        assert step.model is not None
        for message, number in zip(step.span.output, step.model.output_values, strict=True):
            self.heard.add(number)
            for text in (str(part.get("content") or "") for part in parts_of(message, "text")):
                if self.earlier.holds_documents:
                    self._repeated_of_documents(step, number, text)
                self.searched += len(self.values) * len(text)
                if self.searched > MOST_SEARCHED:
                    return
                self._repeated_of_results(step, number, text)

    def _repeated_of_documents(self, step: RunStep, number: int, text: str) -> None:
        said = message_ref(self.messages.hash(number))
        for value in self._telling(text):
            origins = self.earlier.origins(value, step.number, None)
            if origins is None:
                continue
            role = origins.role("value")
            for origin in origins.found:
                if origin.reference.startswith("document:"):
                    self._add(step, said, "wasDerivedFrom", origin.reference, role, place=origin.place)

    def _repeated_of_results(self, step: RunStep, number: int, text: str) -> None:
        for source in sorted({at for value, at in self.values.items() if value in text}):
            if source in self.told_in:
                said = message_ref(self.messages.hash(number))
                self._add(step, said, "wasDerivedFrom", self.told_in[source], "value")

    def call(self, step: RunStep, before: int) -> None:
        """Look where the arguments of a tool call come from, and remember what it was the first to return.

        `before` is the step that decided on the call.
        """
        tool = step.tool
        assert tool is not None
        named = tool.arguments.items() if isinstance(tool.arguments, dict) else [("", tool.arguments)]
        for name, argument in named:
            self._argument(step, name, argument, before)
        if tool.status != "ok" or tool.result_source is None:
            return
        result = read_value(tool.result)
        returned = [value for value in _values_in(result) if value not in self.values]
        own = set(_values_in(tool.arguments)) if returned else set[str]()
        size = sum(map(len, self.others)) if returned else 0
        for value in returned:
            if value in self.values or value in own or len(self.values) >= MOST_VALUES:
                continue
            self.searched += size
            if self.searched <= MOST_SEARCHED and not any(value in text for text in self.others):
                self.values[value] = step.number
        told = tool.result if isinstance(tool.result, str) else self.messages.text(tool.result)
        here = step_ref(self.run_id, step.number)
        self._remember(told, step.number, here)
        self.results[step.number] = EarlierText(
            "result", here, step.number, told, given=tool.arguments, value=result
        )
        self.earlier.add(self.results[step.number])

    def _argument(self, step: RunStep, name: str, argument: object, before: int) -> None:
        here = step_ref(self.run_id, step.number)
        returned = {
            value: self.values[value]
            for value in (_values_in(argument) if self.values else ())
            if self.values.get(value, before) < before
        }
        for value in self._telling(argument):
            source = returned.get(value.text)
            first = None if source is None else (source, step_ref(self.run_id, source))
            origins = self.earlier.origins(value, before, first)
            if origins is None:
                continue
            role = f"argument {path_of(read_value(argument), value, name)}".rstrip()
            if first is not None:
                place = self.results[first[0]].place(value)
                self._add(step, here, "wasInformedBy", first[1], origins.role(role), place=place)
                del returned[value.text]
            for reference, place in origins.found:
                how = "wasInformedBy" if reference.startswith("step:") else "used"
                self._add(step, here, how, reference, origins.role(role), place=place)
        for source in sorted({*returned.values()}):
            self._add(step, here, "wasInformedBy", step_ref(self.run_id, source), f"argument {name}".rstrip())

    def _telling(self, said: object) -> list[TellingValue]:
        values, read = telling_values(said, self.unread)
        self.unread -= read
        return values

    def retrieve(self, step: RunStep) -> None:
        """Take in the documents that a retrieval returned."""
        found = documents_of(step.span)
        if not found:
            return
        given = step.span.query if step.tool is None else step.tool.arguments
        for document in found:
            reference = document_ref(*document.name)
            evidence = "matched" if document.named else "inferred"
            self._add(step, step_ref(self.run_id, step.number), "used", reference, "document", evidence)
            for less in documents_named(document.name):
                self._add(step, reference, "wasDerivedFrom", less, VERSION_OF, "matched")
            self._remember(document.content, step.number, reference)
            self.earlier.add(EarlierText("document", reference, step.number, document.content, given=given))

    def _remember(self, text: str, step: int, source: str) -> None:
        text = text.strip()
        if len(text) >= SHORTEST_TEXT and len(self.texts) < MOST_TEXTS:
            known = self.texts.setdefault(text, (step, source))
            if known[1].startswith("document:"):
                self.of_documents[text] = known

    def _texts_of(self, part: Part) -> dict[str, str]:
        """Return the texts of a message's part: its content, and its response as it is said."""
        return {
            name: said if isinstance(said, str) else self.messages.text(said)
            for name in ("content", "response")
            if (said := part.get(name))
        }

    def _held_by(
        self, needles: dict[str, tuple[int, str]], texts: list[str], before: int, done: int = 0
    ) -> Iterator[tuple[int, str]]:
        """Yield the sources, from the given place on, whose whole text is in one of the texts."""
        if not needles:
            return
        size, joined = sum(map(len, texts)), "".join(texts)
        for needle, (number, source) in islice(needles.items(), done, None) if size else ():
            self.searched += size
            if self.searched > MOST_SEARCHED:
                return
            # Most are in none of them; what is in their sum alone lies across two.
            if number < before and needle in joined and any(needle in text for text in texts):
                yield number, source

    def _add(
        self,
        step: RunStep,
        subject: str,
        relation: str,
        source: str,
        role: str,
        evidence: str = "inferred",
        place: str | None = None,
    ) -> None:
        at = step.span.sent.done_at
        self.edges[Edge(subject, relation, source, role, evidence, step.number, at, place)] = None


def _values_in(value: object) -> Iterator[str]:
    """Yield the values inside that can be told again: texts with a digit, long words, large numbers."""
    stack, read = [value], 0
    while stack and read < MOST_VALUES:
        item = stack.pop()
        read += 1
        if isinstance(item, dict):
            stack += reversed(item.values())
        elif isinstance(item, list):
            stack += reversed(item)
        elif isinstance(item, int) and abs(item) >= LEAST_NUMBER:
            yield str(item)
        elif isinstance(item, str) and _is_telling(item):
            yield item


def _is_telling(text: str) -> bool:
    size = len(text)
    if not SHORTEST_NAME <= size <= LONGEST_VALUE:
        return False
    return size >= SHORTEST_WORD or any(map(str.isdigit, text))
