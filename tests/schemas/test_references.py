"""References of documents: written, read, and the less exact ones by which the same is known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrospan.schemas.references import DocumentName, document_name, document_ref, documents_named

_TEXT = st.text(st.characters(codec="utf-8"), min_size=1)


@given(_TEXT, st.none() | _TEXT, _TEXT)
def test_what_is_written_is_read(document_id: str, store: str | None, version: str) -> None:
    name = DocumentName(document_id, store, version)
    assert document_name(document_ref(*name)) == name


@pytest.mark.parametrize(
    ("reference", "name"),
    [
        ("document:kb-17", ("kb-17", None, None)),
        ("document:a%2Fb", ("a/b", None, None)),
        ("document:manuals/returns@v7", ("returns", "manuals", "v7")),
        ("document:policy@v2", ("policy", None, "v2")),
        ("document:kb/a%2Fb%40c@d%2525", ("a/b@c", "kb", "d%25")),
        ("document:kb/a/b@c@d", ("a/b@c", "kb", "d")),
        ("document:", None),
        ("document:kb/@v", None),
        ("output:kb/a@v", None),
        ("", None),
    ],
)
def test_references_that_programs_write_are_read(
    reference: str, name: tuple[str, str | None, str | None] | None
) -> None:
    assert document_name(reference) == name


def test_a_document_is_known_by_less_as_well() -> None:
    assert document_ref("a@b/c") == "document:a@b%2Fc", "as it was before there were stores and versions"
    assert documents_named(DocumentName("a", "kb", "v")) == ["document:kb/a", "document:a"]
    assert documents_named(DocumentName("a", None, "v")) == ["document:a"]
    assert documents_named(DocumentName("a", "kb")) == ["document:a"]
    assert documents_named(DocumentName("a")) == []
