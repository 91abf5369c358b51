"""What later acts took from earlier ones, found by content: repeated values of tool results, and documents.

Only content that is unlikely to repeat by chance counts, and only if a tool or a retrieval was the first to return it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from retrospan.ingest.interpret.assembly.run_step import RunStep
from retrospan.ingest.interpret.assembly.values import Values
from retrospan.ingest.interpret.lineage.provenance import Edge
from retrospan.ingest.interpret.normalize.documents import documents_of
from retrospan.ingest.interpret.normalize.message import Message, Part, parts_of
from retrospan.ingest.json_text import read_value, write_json
from retrospan.schemas.references import document_ref, message_ref, step_ref

#: A value with a digit counts from the first length on, any other from the second; what is longer is a text.
SHORTEST_NAME, SHORTEST_WORD, LONGEST_VALUE, LEAST_NUMBER = 4, 12, 300, 10_000
#: A text counts as said again from this length on.
SHORTEST_TEXT = 24
#: Bounds for one run: what is beyond is not looked for.
MOST_VALUES, MOST_TEXTS, MOST_SEARCHED = 5_000, 1_000, 200_000_000


def borrowed_edges(run_id: str, steps: list[RunStep], values: Values, known: list[Edge]) -> list[Edge]:
    """Return the edges that equal content reveals; their evidence is `inferred`, except for documents with an id.

    A retrieval used its documents. A tool call wasInformedBy the call that first returned a value of its arguments. A
    message wasDerivedFrom a document whose text it holds; one that nothing of `known` has generated wasGeneratedBy the
    tool whose result it holds. An answer wasDerivedFrom the message that told of the result it repeats.
    """
    borrowing = _Borrowing(run_id, values)
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
            borrowing.call(step)
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
    values: dict[str, int] = field(default_factory=dict)  # value → the tool's step that said it first
    texts: dict[str, tuple[int, str]] = field(default_factory=dict)  # text → (step, reference of its source)
    others: dict[str, None] = field(default_factory=dict)  # what neither a tool nor a model said
    systems: dict[str, tuple[int, list[tuple[int, str]]]] = field(default_factory=dict)
    searched: int = 0

    def hear(self, step: RunStep) -> None:
        """Take in the messages that a model call was given first, and its system instructions."""
        assert step.model is not None
        new = {*step.model.input_values} - self.heard
        self.heard |= new
        for message, number in zip(step.model.input, step.model.input_values, strict=True) if new else ():
            if number in new and message["role"] != "assistant":
                self._message(step, message, message_ref(self.messages.hash(number)))
            new.discard(number)
        for text in (text for part in step.span.system for text in _texts_of(part)):
            done, found = self.systems.get(text, (0, []))
            found = [*found, *self._held_by([text], step.number, done)]
            self.systems[text] = (len(self.texts), found)
            for _, source in found:
                how = "used" if source.startswith("document:") else "wasInformedBy"
                self._add(step, step_ref(self.run_id, step.number), how, source, "content")
            self.others[text] = None

    def _message(self, step: RunStep, message: Message, reference: str) -> None:
        texts = [text for part in message["parts"] for text in _texts_of(part)]
        for number, source in self._held_by(texts, step.number, 0):
            if source.startswith("document:"):
                self._add(step, reference, "wasDerivedFrom", source, "content")
            elif reference not in self.generated:
                self._add(step, reference, "wasGeneratedBy", source, "content")
                self.told_in.setdefault(number, reference)
        if reference not in self.generated and not parts_of(message, "tool_call_response"):
            self.others |= dict.fromkeys(texts)

    def answer(self, step: RunStep) -> None:
        """Find what a model's answer repeats of results that it was given."""
        assert step.model is not None
        for message, number in zip(step.span.output, step.model.output_values, strict=True):
            self.heard.add(number)
            for text in (str(part.get("content") or "") for part in parts_of(message, "text")):
                self.searched += len(self.values) * len(text)
                if self.searched > MOST_SEARCHED:
                    return
                for source in sorted({at for value, at in self.values.items() if value in text}):
                    if source in self.told_in:
                        said = message_ref(self.messages.hash(number))
                        self._add(step, said, "wasDerivedFrom", self.told_in[source], "value")

    def call(self, step: RunStep) -> None:
        """Look where the arguments of a tool call come from, and remember what it was the first to return."""
        tool = step.tool
        assert tool is not None
        named = tool.arguments.items() if isinstance(tool.arguments, dict) else [("", tool.arguments)]
        for name, argument in named:
            sources = {self.values[value] for value in _values_in(argument) if value in self.values}
            for source in sorted(sources):
                role, earlier = f"argument {name}".rstrip(), step_ref(self.run_id, source)
                self._add(step, step_ref(self.run_id, step.number), "wasInformedBy", earlier, role)
        if tool.status != "ok" or tool.result_source is None:
            return
        own = set(_values_in(tool.arguments))
        size = sum(map(len, self.others))
        for value in _values_in(read_value(tool.result)):
            if value in self.values or value in own or len(self.values) >= MOST_VALUES:
                continue
            self.searched += size
            if self.searched <= MOST_SEARCHED and not any(value in text for text in self.others):
                self.values[value] = step.number
        told = tool.result if isinstance(tool.result, str) else self.messages.text(tool.result)
        self._remember(told, step.number, step_ref(self.run_id, step.number))

    def retrieve(self, step: RunStep) -> None:
        """Take in the documents that a retrieval returned."""
        for document in documents_of(step.span):
            reference = document_ref(document.document_id)
            evidence = "matched" if document.named else "inferred"
            self._add(step, step_ref(self.run_id, step.number), "used", reference, "document", evidence)
            self._remember(document.content, step.number, reference)

    def _remember(self, text: str, step: int, source: str) -> None:
        text = text.strip()
        if len(text) >= SHORTEST_TEXT and len(self.texts) < MOST_TEXTS:
            self.texts.setdefault(text, (step, source))

    def _held_by(self, texts: list[str], before: int, done: int) -> Iterator[tuple[int, str]]:
        """Yield the sources, from the given place on, whose whole text is in one of the texts."""
        size, joined = sum(map(len, texts)), "".join(texts)
        for needle, (number, source) in islice(self.texts.items(), done, None) if size else ():
            self.searched += size
            if self.searched > MOST_SEARCHED:
                return
            # Most are in none of them; what is in their sum alone lies across two.
            if number < before and needle in joined and any(needle in text for text in texts):
                yield number, source

    def _add(
        self, step: RunStep, subject: str, relation: str, source: str, role: str, evidence: str = "inferred"
    ) -> None:
        at = step.span.sent.done_at
        self.edges[Edge(subject, relation, source, role, evidence, step.number, at)] = None


def _text_of(value: object) -> str:
    return value if isinstance(value, str) else write_json(value)


def _texts_of(part: Part) -> list[str]:
    """Return the texts of a message's part: its content, and its response as it is said."""
    return [_text_of(said) for said in (part.get("content"), part.get("response")) if said]


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
    if not SHORTEST_NAME <= len(text) <= LONGEST_VALUE:
        return False
    return len(text) >= SHORTEST_WORD or any(map(str.isdigit, text))
