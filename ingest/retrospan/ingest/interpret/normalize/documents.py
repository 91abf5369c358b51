"""The documents that retrievals returned, from whichever place an instrumentation puts them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import cast

from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.span_fields import SpanFields
from retrospan.ingest.interpret.spans.unflatten import unflatten
from retrospan.ingest.json_text import read_value, write_json
from retrospan.schemas.hashing import hash_of
from retrospan.schemas.references import DocumentName
from retrospan.schemas.semconv import DATA_SOURCE_ID

#: Documents of one retrieval that are read.
MOST_DOCUMENTS = 1_000
_IDS = ("id", "document_id", "doc_id", "document.id")
_TOOL_IDS = ("doc_id", "document_id")
_METADATA_IDS = ("id", "document_id", "doc_id", "chunk_id", "doc_uri", "source", "url")
#: What retrievers call what they look for.
_QUERIES = ("query", "query_text", "query_str", "question", "input")
_CONTENTS = ("content", "page_content", "text", "document.content")


@dataclass(frozen=True, slots=True)
class Document:
    """A document as one retrieval returned it. `named` is false where its id is the hash of its content.

    `store` is where it was looked for. Its version is the hash of the content that was returned.
    """

    document_id: str
    content: str
    named: bool
    store: str | None = None

    @property
    def name(self) -> DocumentName:
        """What it is known by, as far as that is said."""
        if not self.named:
            return DocumentName(self.document_id)
        return DocumentName(self.document_id, self.store, hash_of(self.content) if self.content else None)


def documents_of(span: NormalizedSpan) -> list[Document]:
    """Return the documents that a retrieval, rerank or tool returned, each content of an id once.

    What a tool returned counts as documents only where each is called one: by `doc_id` or `document_id`.
    """
    found: dict[tuple[str, str], Document] = {}
    if span.operation == "tool":
        for element in _of_result(span.result)[:MOST_DOCUMENTS]:
            value = read_value(element)
            if isinstance(value, dict) and any(value.get(name) for name in _TOOL_IDS):
                document = _document(value)
                if document is not None:
                    found.setdefault((document.document_id, document.content), document)
    elif span.operation in ("retrieval", "rerank"):
        for listed in _lists(span):
            for element in listed[:MOST_DOCUMENTS]:
                document = _document(element)
                if document is not None:
                    found.setdefault((document.document_id, document.content), document)
            if found:
                break
    store = _store_of(span) if found else None
    return [replace(each, store=store) for each in found.values()] if store else list(found.values())


def _store_of(span: NormalizedSpan) -> str | None:
    return span.data_source or span.fields.text(DATA_SOURCE_ID)


def read_query(places: SpanFields) -> str | None:
    """Return the text that was looked for: on its own, or named in an object of what a retrieval was given."""
    said = places.value(*places.names.queries)
    if isinstance(said, dict):
        said = next((said[name] for name in _QUERIES if said.get(name)), None)
    return said if isinstance(said, str) and said else None


def _of_result(result: object) -> list[object]:
    value: object = read_value(result)
    if isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        value = next((inner for inner in fields.values() if isinstance(inner, list)), [fields])
    return cast("list[object]", value) if isinstance(value, list) else []


def _lists(span: NormalizedSpan) -> Iterator[list[object]]:
    places = span.fields
    for prefix in places.names.indexed_documents:
        for attributes in places.all:
            yield [*unflatten(attributes, prefix)]
    for key in places.names.documents:
        value = places.value(key)
        while isinstance(value, dict):
            # Frameworks wrap the list once or twice: {"output": {"documents": […]}}.
            value = next(
                (
                    inner
                    for name in ("documents", "output", "outputs")
                    if (inner := read_value(value.get(name)))
                ),
                None,
            )
        if isinstance(value, list):
            yield value


def _document(element: object) -> Document | None:
    value = read_value(element)
    if isinstance(value, dict):
        inner = next(
            (value[key] for key in ("document", "node", "kwargs") if isinstance(value.get(key), dict)), None
        )
        value = {**value, **inner} if isinstance(inner, dict) else value
        content = next((value[key] for key in _CONTENTS if value.get(key)), None)
        metadata = read_value(value.get("metadata", value.get("document.metadata")))
        named = _text(value, _IDS) or (_text(metadata, _METADATA_IDS) if isinstance(metadata, dict) else None)
    else:
        content, named = value, None
    text = content if isinstance(content, str) else write_json(content) if content is not None else ""
    if named is None and not text:
        return None
    return Document(named or hash_of(text), text, named is not None)


def _text(value: dict[str, object], names: tuple[str, ...]) -> str | None:
    for name in names:
        found = value.get(name)
        if isinstance(found, int) and not isinstance(found, bool):
            return str(found)
        if isinstance(found, str) and found:
            return found
    return None
