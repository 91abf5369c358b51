"""Whether a request's token has the right that it needs."""

from __future__ import annotations

from retrospan.ingest.access.gate import Gate, clickhouse_token
from retrospan.ingest.access.remote import RemoteGate
from retrospan.ingest.access.tokens import Grant, Right
from retrospan.ingest.http.messages import Request
from retrospan.schemas.errors import Forbidden, Unauthenticated


class Admission:
    """Admits requests by their headers; a token in the address is refused."""

    def __init__(self, gate: Gate | RemoteGate) -> None:
        self._gate = gate

    def admit(self, request: Request, right: Right) -> Grant:
        """Return the grant if the request's token has this right. Raises Unauthenticated and Forbidden."""
        if self._gate.guarded and "password" in request.query:
            # Addresses are kept in histories and logs: a token there is as good as published.
            raise Unauthenticated(
                "a token in the address is refused; send the header Authorization: Bearer TOKEN"
            )
        return self._gate.admit(clickhouse_token(request.headers), right)

    def may_see_details(self, request: Request) -> bool:
        """Return whether details may be shown; a probe without a token is not a failure to count."""
        if self._gate.guarded and clickhouse_token(request.headers) is None:
            return False
        try:
            self.admit(request, "metrics")
        except (Unauthenticated, Forbidden):
            return False
        return True
