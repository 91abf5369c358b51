"""Which traces and spans make a run, from what the spans say: the rules alone, without a warehouse."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations
from typing import Any

import pytest
from made_spans import make_span
from spans import rows_of_spans

from retrospan.ingest.interpret.dialects.vocabulary import EVERY_FAMILY
from retrospan.ingest.interpret.grouping.grouping import (
    Trace,
    groups_of,
    joined_trace,
    key_of,
    runs_of,
    trace_of,
)
from retrospan.ingest.interpret.run import read_spans
from retrospan.ingest.interpret.spans.parse_issues import ParseIssues
from retrospan.ingest.interpret.spans.span import Link, Span
from retrospan.schemas.attributes import LINK_TYPE, RUN_ID
from retrospan.schemas.canonical import RunRow

A, B, C, D = ("a" * 32, "b" * 32, "c" * 32, "d" * 32)
AGENT = {"gen_ai.operation.name": "invoke_agent"}
CHAT = {"gen_ai.operation.name": "chat"}


def link(trace_id: str, span_id: str = "1" * 16, kind: str = "") -> Link:
    return Link(trace_id=trace_id, span_id=span_id, attributes={LINK_TYPE: kind} if kind else {})


def span(trace_id: str, attributes: Mapping[str, object] | None = None, **more: Any) -> Span:
    return make_span(dict(attributes or CHAT), trace_id=trace_id, **more)


def traces(*spans: Span) -> dict[str, Trace]:
    own: dict[str, list[Span]] = {}
    for each in spans:
        own.setdefault(each.trace_id, []).append(each)
    return {
        trace_id: trace_of(trace_id, sent, read_spans(sent, ParseIssues())) for trace_id, sent in own.items()
    }


def runs(*spans: Span) -> dict[str, list[str]]:
    """Return the span ids of each run, over all groups."""
    found: dict[str, list[str]] = {}
    for group in groups_of(traces(*spans)):
        for run_id, own in runs_of(group).items():
            assert run_id not in found
            found[run_id] = sorted(each.sent.span_id for each in own)
    return found


def test_a_trace_is_a_run_and_one_without_an_operation_is_none() -> None:
    one, two = span(A), span(B)
    assert runs(one, two, span(C, {"http.route": "/"})) == {A: [one.span_id], B: [two.span_id]}


def test_a_root_that_begins_nothing_of_its_own_joins_the_trace_that_it_links_to() -> None:
    target = span(A, AGENT)
    assert joined_trace([span(B, links=[link(A, target.span_id)])], EVERY_FAMILY) == A
    assert joined_trace([span(B, AGENT, links=[link(A, target.span_id)])], EVERY_FAMILY) == ""
    assert (
        joined_trace([span(B, {"gen_ai.operation.name": "invoke_workflow"}, links=[link(A)])], EVERY_FAMILY)
        == ""
    )
    assert joined_trace([span(B, links=[link(B)])], EVERY_FAMILY) == ""
    assert joined_trace([span(B, links=[link(A, kind="retries")])], EVERY_FAMILY) == ""
    assert joined_trace([span(B, links=[link(A, kind="retries"), link(C)])], EVERY_FAMILY) == C


def test_a_link_that_continues_joins_wherever_it_stands() -> None:
    root = span(B, AGENT)
    below = span(B, parent_span_id=root.span_id, links=[link(A, kind="continues")])
    assert joined_trace([root, below], EVERY_FAMILY) == joined_trace([below, root], EVERY_FAMILY) == A
    assert joined_trace([root, span(B, parent_span_id=root.span_id, links=[link(A)])], EVERY_FAMILY) == ""
    # The earliest of several.
    later = span(B, parent_span_id=root.span_id, links=[link(C, kind="continues")])
    assert joined_trace([later, below, root], EVERY_FAMILY) == A
    assert (
        joined_trace(
            [span(B, AGENT, links=[link(B, kind="continues"), link(C, kind="continues")])], EVERY_FAMILY
        )
        == C
    )


def test_a_span_whose_parent_never_came_joins_nothing() -> None:
    assert joined_trace([span(B, parent_span_id="9" * 16, links=[link(A)])], EVERY_FAMILY) == ""


def test_the_run_of_joined_traces_has_the_id_of_the_first_with_operations() -> None:
    first = span(A, AGENT)
    second = span(B, links=[link(A, first.span_id)])
    third = span(C, links=[link(B, second.span_id)])
    for order in permutations((first, second, third)):
        assert runs(*order) == {A: sorted([first.span_id, second.span_id, third.span_id])}
    empty = span(D, {"http.route": "/"})
    joins_empty = span(B, links=[link(D, empty.span_id)])
    assert runs(empty, joins_empty) == {B: [joins_empty.span_id]}


def test_a_joined_root_hangs_under_the_span_that_it_links_to() -> None:
    first = span(A, AGENT)
    second = span(B, links=[link(A, "9" * 16), link(A, first.span_id)])
    lost = span(C, links=[link(A, "9" * 16)])
    (group,) = groups_of(traces(first, second, lost))
    (run,) = runs_of(group).values()
    above = {each.sent.span_id: (each.sent.parent_trace_id, each.sent.parent_span_id) for each in run}
    assert above == {
        first.span_id: ("", ""),
        second.span_id: (A, first.span_id),
        lost.span_id: ("", ""),
    }
    assert second.parent_span_id == ""  # what was sent stays as it is


def test_traces_that_join_each_other_are_the_run_of_the_least() -> None:
    one, two, three = span(A), span(B), span(C)
    one.links, two.links, three.links = [link(B)], [link(A)], [link(B)]
    for order in permutations((one, two, three)):
        assert runs(*order) == {A: sorted([one.span_id, two.span_id, three.span_id])}
    one.attributes = {"http.route": "/"}
    assert runs(one, two, three) == {B: sorted([one.span_id, two.span_id, three.span_id])}


def test_a_trace_that_is_not_there_is_not_joined() -> None:
    one = span(B, links=[link(A)])
    assert runs(one) == {B: [one.span_id]}


def test_spans_are_of_the_run_that_they_or_the_nearest_above_name() -> None:
    root = span(A, {**AGENT, RUN_ID: "run-1"})
    below = span(A, parent_span_id=root.span_id)
    deeper = span(A, parent_span_id=below.span_id)
    other = span(A, {**CHAT, RUN_ID: "run-2"}, parent_span_id=below.span_id)
    under_other = span(A, parent_span_id=other.span_id)
    beside = span(A)
    empty = span(A, {**CHAT, RUN_ID: ""})
    number = span(A, {**CHAT, RUN_ID: 7})
    for order in permutations((root, below, deeper, other, under_other)):
        assert runs(*order, beside, empty, number) == {
            "run-1": sorted([root.span_id, below.span_id, deeper.span_id]),
            "run-2": sorted([other.span_id, under_other.span_id]),
            A: sorted([beside.span_id, empty.span_id, number.span_id]),
        }


def test_a_cycle_of_parents_ends() -> None:
    one, two = span(A), span(A)
    one.parent_span_id, two.parent_span_id = two.span_id, one.span_id
    assert runs(one, two) == {A: sorted([one.span_id, two.span_id])}


def test_traces_that_name_one_run_belong_together() -> None:
    one, two = span(A, {**CHAT, RUN_ID: "run-1"}), span(B, {**CHAT, RUN_ID: "run-1"})
    three = span(C, {**CHAT, RUN_ID: "run-2"})
    for order in permutations((one, two, three)):
        groups = groups_of(traces(*order))
        assert sorted(sorted(group) for group in groups) == [[A, B], [C]]
        assert sorted(key_of(group) for group in groups) == ["run-1", "run-2"]


@pytest.mark.parametrize("named", ["run-1", ""])
def test_the_key_of_a_group_is_the_least_run_that_it_names_else_that_of_its_home(named: str) -> None:
    first = span(B, {**AGENT, **({RUN_ID: named} if named else {})})
    second = span(A, links=[link(B, first.span_id)])
    (group,) = groups_of(traces(first, second))
    assert key_of(group) == (named or B)


@pytest.mark.parametrize("backwards", [False, True])
def test_a_run_lists_its_other_traces_and_why_each_is_part_of_it(backwards: bool) -> None:
    spans = [
        span(A, AGENT),
        span(B, links=[link(A, kind="continues")]),
        span(C, links=[link(B)]),
        span(D),
    ]
    found = {row.run_id: (row.aliases, row.joined_by) for row in rows_of(spans[:: -1 if backwards else 1])}
    assert found == {A: ([B, C], ["link", "link"]), D: ([], [])}


def test_a_stated_run_has_each_of_its_traces_as_an_alias() -> None:
    named = CHAT | {RUN_ID: "job-7"}
    (row,) = rows_of([span(A, named), span(B, named)])
    assert (row.run_id, row.aliases, row.joined_by) == ("job-7", [A, B], ["run_id", "run_id"])
    (row,) = rows_of([span(A), span(B, CHAT | {RUN_ID: A})])
    assert (row.run_id, row.aliases, row.joined_by) == (A, [B], ["run_id"])


def rows_of(spans: list[Span]) -> list[RunRow]:
    return [row for rows in rows_of_spans(spans) for row in rows.runs]
