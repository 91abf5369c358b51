"""A run names the run it descends from by a link."""

from __future__ import annotations

import pytest
from spans import read_run

from retrospan.ingest.interpret.rows.rows import rows_of
from retrospan.ingest.interpret.spans.span import Attributes, Link, Span
from retrospan.schemas.canonical import RunRow

_PARENT = "b" * 32


def _row(*links: Attributes, **attributes: object) -> RunRow:
    """The row of a run whose agent has these links to one trace, and whose model call has none."""
    spans = [
        Span(
            trace_id="a" * 32,
            span_id=f"{number:016x}",
            parent_span_id="" if number == 1 else f"{1:016x}",
            name=operation,
            kind=1,
            flags=0,
            started_at=number,
            ended_at=10 - number,
            status="ok",
            status_message="",
            scope="test",
            scope_version="",
            attributes={
                "gen_ai.operation.name": operation,
                **{key.replace("__", "."): value for key, value in attributes.items()},
            },
            resource={},
            links=[Link(trace_id=_PARENT, span_id="c" * 16, attributes=link) for link in links]
            if number == 1
            else [],
        )
        for number, operation in enumerate(("invoke_agent", "chat"), start=1)
    ]
    (row,) = rows_of(read_run("a" * 32, spans), "default", 1, None).runs
    return row


@pytest.mark.parametrize(
    ("kind", "origin"),
    [("forks", "a" * 32), ("replays", "a" * 32), ("retries", _PARENT), ("resumes", _PARENT)],
    ids=["forks", "replays", "retries", "resumes"],
)
def test_a_link_says_how_a_run_descends(kind: str, origin: str) -> None:
    row = _row({"retrospan.link.type": kind})
    assert (row.parent_run_id, row.parent_link, row.origin_run_id) == (_PARENT, kind, origin)


def test_a_stated_origin_holds() -> None:
    row = _row({"retrospan.link.type": "resumes"}, retrospan__run__origin="first")
    assert (row.parent_run_id, row.origin_run_id) == (_PARENT, "first")


def test_a_parent_that_is_not_a_trace_is_named_by_the_link() -> None:
    row = _row({"retrospan.link.type": "retries", "retrospan.run.id": "job-7"})
    assert (row.parent_run_id, row.origin_run_id) == ("job-7", "job-7")


def test_other_links_make_no_parent() -> None:
    row = _row({}, {"retrospan.link.type": "derived_from"}, {"retrospan.link.type": "begets"})
    assert (row.parent_run_id, row.parent_link, row.origin_run_id) == (None, None, "a" * 32)
