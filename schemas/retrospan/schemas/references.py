"""References: how a thing is named in provenance, `kind:id`. In a part `/` and `%` are percent-encoded, nothing else.

The SQL functions `retrospan_reference` and `retrospan_step_reference` write the same. In the id of a document that has a
version `@` is encoded too: the last one that is not stands before the version.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import unquote

#: The role of a document without its version, or its store, in an edge from the one with them.
VERSION_OF = "version of"


def _part(text: str) -> str:
    return text.replace("%", "%25").replace("/", "%2F")


def run_ref(run_id: str) -> str:
    return f"run:{_part(run_id)}"


def span_ref(trace_id: str, span_id: str) -> str:
    return f"span:{trace_id}/{span_id}"


def step_ref(run_id: str, step: int) -> str:
    return f"step:{_part(run_id)}/{step}"


def message_ref(message_hash: str) -> str:
    return f"message:{message_hash}"


def output_ref(output_id: str) -> str:
    return f"output:{_part(output_id)}"


def observation_ref(observation_id: str) -> str:
    return f"observation:{_part(observation_id)}"


def entity_ref(entity_type: str, entity_id: str) -> str:
    return f"entity:{_part(entity_type)}/{_part(entity_id)}"


class DocumentName(NamedTuple):
    """What a reference of a document says: its id, and as far as they are known its store and its version."""

    document_id: str
    store: str | None = None
    version: str | None = None


def document_ref(document_id: str, store: str | None = None, version: str | None = None) -> str:
    """Return `document:<store>/<id>@<version>`; without a store and a version `document:<id>`."""
    if store is None and version is None:
        return f"document:{_part(document_id)}"
    named = "/".join(_part(part).replace("@", "%40") for part in (store, document_id) if part is not None)
    return f"document:{named}" + ("" if version is None else f"@{_part(version).replace('@', '%40')}")


def document_name(reference: str) -> DocumentName | None:
    """Return what a reference of a document says; None for another reference, or one that names no document."""
    kind, _, rest = reference.partition(":")
    named, at, version = rest.rpartition("@")
    if not at:
        named, version = rest, ""
    store, slash, document_id = named.partition("/")
    if not slash:
        store, document_id = "", named
    if kind != "document" or not document_id:
        return None
    return DocumentName(unquote(document_id), unquote(store) or None, unquote(version) or None)


def documents_named(name: DocumentName) -> list[str]:
    """Return by which less exact references a document is known as well: in its store, and by its id alone."""
    exact = document_ref(*name)
    less = [document_ref(name.document_id, name.store)] if name.store is not None else []
    less.append(document_ref(name.document_id))
    return [reference for reference in dict.fromkeys(less) if reference != exact]
