"""What a server did for a caller elsewhere that asked it as one asks a model: a gateway, whose caller may tell the same."""

from __future__ import annotations

import re
from collections.abc import Iterator

from retrospan.ingest.interpret.invariants.assembled_run import AROUND, AssembledRun
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.parse_issues import ParseIssue, issue
from retrospan.ingest.interpret.spans.span import SERVER
from retrospan.schemas import semconv

#: What a run that is nothing but such answers does not have.
_ACTS = (*AROUND, "tool")
#: How the paths of model APIs end, whatever stands before: an application has others.
_OF_MODELS = re.compile(
    r"/chat/completions\Z|/v\d+/(?:completions|responses|messages)\Z|:(?:generate|streamGenerate)Content\Z"
    r"|/model/[^/]+/(?:converse|converse-stream|invoke|invoke-with-response-stream)\Z"
)


def requests_served(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield the servers of a run that is nothing but answers to requests of others to a model's API."""
    servers = {span: path for span in run.tree.roots() if (path := _served(span)) is not None}
    if not servers or any(span.operation in _ACTS for span in run.tree.spans):
        return
    around = run.tree.around(call.span for call in run.calls.models)
    inside = run.tree.nearest(servers.__contains__)
    if all(call.span in inside for call in run.calls.models):
        for span, path in servers.items():
            if span in around:
                reason = (
                    "a server answered this request to a model: its caller may tell the same in another run"
                )
                yield issue(span.sent.span_id, "model_calls", path, reason)


def _served(span: NormalizedSpan) -> str | None:
    """Return the path of the model API that a server's span answered."""
    sent = span.sent
    if sent.kind != SERVER or sent.parent_span_id:
        return None
    told = (
        sent.attributes.get(semconv.URL_PATH),
        sent.attributes.get(semconv.HTTP_ROUTE),
        sent.name.rpartition(" ")[2],
    )
    return next((path for path in told if isinstance(path, str) and _OF_MODELS.search(path)), None)
