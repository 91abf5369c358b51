"""What was read stays as it is: the same spans interpreted twice give the same rows."""

from __future__ import annotations

import pytest
from recordings.kept_rows import cases

from retrospan.ingest.interpret.grouping.grouping import groups_of, join_turns, runs_of, trace_of
from retrospan.ingest.interpret.rows.rows import rows_of
from retrospan.ingest.interpret.run import interpret, read_spans
from retrospan.ingest.interpret.spans.parse_issues import ParseIssues
from retrospan.ingest.interpret.spans.span import Span

CASES = cases()
#: Runs in which much has to be mended, by what the run itself knows.
MENDED = (
    "agent-framework/loop~2",
    "google-adk/normal~3",
    "llama-index/normal~4",
    "mlflow/loop~3",
    "groq-openinference/loop~4",
    "litellm-otel.request-span/loop~4",
    "bedrock-botocore/loop~1",
)
DAMAGED = [name for name in CASES if "+" not in name and name.endswith("~4")]


@pytest.mark.parametrize("name", [*MENDED, *DAMAGED[::5]])
def test_interpreting_twice_gives_the_same(name: str) -> None:
    sent: dict[str, list[Span]] = {}
    for span in CASES[name]():
        sent.setdefault(span.trace_id, []).append(span)
    traces = {
        trace_id: trace_of(trace_id, own, read_spans(own, ParseIssues())) for trace_id, own in sent.items()
    }
    joined = join_turns(traces)
    for group in groups_of(joined):
        runs = runs_of(group)
        assert runs_of(group).keys() == runs.keys()
        for run_id, spans in runs.items():
            first, second = (
                rows_of(interpret(run_id, spans, ParseIssues(), None), "default", 1, None) for _ in range(2)
            )
            assert first == second
