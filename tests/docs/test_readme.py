"""What the README shows is what one gets: the demo's output, the queries, the Python interface."""

from __future__ import annotations

import re

import pytest
from docs.demo import cut_like, on_a_terminal, plain, sections, shown
from docs.pages import PAGES

from retrospan.ingest.warehouse.embedded import EmbeddedStore
from retrospan.queries import catalogue, connect

README = next(page for page in PAGES if page.name == "README.md")


@pytest.mark.long
def test_the_output_shown_is_the_output_of_the_demo() -> None:
    answers = sections(on_a_terminal(["demo"]))
    blocks = shown(README.text)
    assert len(blocks) >= 4
    for block in blocks:
        now = cut_like(block, answers[block[0]])
        assert list(map(plain, block)) == list(map(plain, now)), "run tests/docs/demo.py to renew the README"


def test_queries_shown_run(store: EmbeddedStore) -> None:
    catalogue.install(store)
    found = [query for _, text in README.blocks for query in re.findall(r'"(SELECT [^"]+)"', text)]
    assert len(found) >= 3
    for query in found:
        store.rows(query)


def test_methods_shown_exist() -> None:
    warehouse = connect("http://127.0.0.1:8123")
    named = {name for _, text in README.blocks for name in re.findall(r"\bwarehouse\.(\w+)\(", text)}
    assert named
    assert {name for name in named if not callable(getattr(warehouse, name, None))} == set()
