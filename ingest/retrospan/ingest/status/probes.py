"""The status pages of a collector: `/health`, its probes and `/metrics`, as the receiving process answers them.

`/health/live`        this process lives; nothing else is asked, so that nothing can hold it up
`/health/ready`       what is sent now is kept
`/health/answering`   questions are answered as well
`/health`             all of it, for whoever may see what is counted; else its status alone
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from retrospan.ingest.access.gate import Gate
from retrospan.ingest.http.messages import Response
from retrospan.ingest.status.collector_status import CollectorStatus
from retrospan.schemas.errors import Forbidden, Unauthenticated

JSON, TEXT = "application/json", "text/plain; charset=utf-8"
METRICS_TEXT = "text/plain; version=0.0.4; charset=utf-8"


class Probes:
    """Answers from any thread, without waiting for the engine."""

    def __init__(self, observed: CollectorStatus, gate: Gate) -> None:
        self._observed = observed
        self._gate = gate

    def live(self) -> Response:
        return Response(200, b"live\n", TEXT)

    def ready(self, *, answers: bool = False) -> Response:
        """200 when what is sent is kept, and, where it is asked for, questions are answered; else 503."""
        found = self._observed.ready()
        ready = found["receiving"] and (found["answering"] or not answers)
        return Response(200 if ready else 503, json.dumps(found).encode() + b"\n", JSON)

    def health(self, token: str | None, fresh: Mapping[str, object] | None = None) -> Response:
        """Return the whole page for a token that may see what is counted, else the status alone."""
        state: Mapping[str, object] = self._observed.health(fresh)
        if not self._may_see(token):
            state = {"status": state["status"]}
        return Response(
            503 if state["status"] == "failing" else 200, json.dumps(state, indent=2).encode() + b"\n", JSON
        )

    def metrics(self, token: str | None) -> Response:
        """Return the page of metrics. Raises Unauthenticated and Forbidden."""
        self._gate.admit(token, "metrics")
        return Response(200, self._observed.metrics().encode(), METRICS_TEXT)

    def page(self, path: str, query: Mapping[str, str], token: str | None) -> Response | None:
        """Return the page of a path; None when there is none. Raises Unauthenticated and Forbidden."""
        match path.rstrip("/"):
            case "/health/live":
                return self.live()
            case "/health/ready":
                return self.ready()
            case "/health/answering":
                return self.ready(answers=True)
            case "/health":
                return self.health(token)
            case "/metrics":
                return self.metrics(token)
            case _:
                return None

    def _may_see(self, token: str | None) -> bool:
        """Return whether details may be shown; a probe without a token is not a failure to count."""
        if self._gate.guarded and token is None:
            return False
        try:
            self._gate.admit(token, "metrics")
        except (Unauthenticated, Forbidden):
            return False
        return True
