"""The one place that decides who is let in. Every port asks it before it does anything for a request.

The tenant of a request is that of its token and nothing else: no header and no attribute can name another. Without a
file of tokens anyone who can reach a port may do everything, as the tenant whose data the directory holds.
"""

from __future__ import annotations

import base64
import binascii
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from retrospan.ingest.access.quotas import Meter
from retrospan.ingest.access.tenancy import Tenancy
from retrospan.ingest.access.tokens import DEFAULT_TENANT, Grant, Right, TokenFile
from retrospan.schemas.errors import Forbidden, OverQuota, Unauthenticated

_LONGEST_TOKEN = 4096
_DOES = {
    "write": "send",
    "read": "ask",
    "admin": "run the commands that change the warehouse",
    "metrics": "see what the collector counts, which is of all its tenants together",
}


@dataclass(slots=True)
class AccessCounters:
    """Since the start of the process."""

    unauthenticated: int = 0
    forbidden: int = 0
    over_quota: int = 0


class Gate:
    """Lets requests in, or raises. Shared by all threads and all ports."""

    def __init__(
        self,
        tokens: TokenFile | None = None,
        tenancy: Tenancy | None = None,
        *,
        meter: Meter | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Without `tokens` everybody is let in."""
        self._tokens = tokens
        self._tenancy = tenancy or Tenancy()
        self._meter = meter or Meter()
        self._now = now
        self._counting = threading.Lock()
        self._counters = AccessCounters()
        self._turned_away_at_intake = 0

    @property
    def guarded(self) -> bool:
        """Whether a token is asked for."""
        return self._tokens is not None

    @property
    def complaint(self) -> str:
        """Why the file of tokens, as it is now, is not in force; '' when it is, or there is none."""
        if self._tokens is None:
            return ""
        self._tokens.current()
        return self._tokens.fault

    @property
    def counters(self) -> AccessCounters:
        """A copy, consistent in itself."""
        with self._counting:
            return replace(self._counters)

    @property
    def turned_away_at_intake(self) -> int:
        """How many requests that send something were refused since the start; questions are not among them."""
        with self._counting:
            return self._turned_away_at_intake

    def admit(self, token: str | None, right: Right) -> Grant:
        """Return the grant of a token that has this right now.

        Where all is of one tenant, `read` will do for `metrics`.

        Raises:
            Unauthenticated: no token, or none that is in force.
            Forbidden: the token may not do this here.
        """
        try:
            return self._admitted(token, right)
        except Unauthenticated:
            with self._counting:
                self._counters.unauthenticated += 1
                self._turned_away_at_intake += right == "write"
            raise
        except Forbidden:
            with self._counting:
                self._counters.forbidden += 1
                self._turned_away_at_intake += right == "write"
            raise

    def enter(self, grant: Grant, size: int) -> None:
        """Let the bytes of a request of an admitted writer in; from here on the directory is its tenant's.

        Raises:
            Forbidden: another tenant was first.
            OverQuota: the tenant sends more than it may.
            LogFull: the disk takes nothing now.
        """
        try:
            self._tenancy.claim(grant.tenant)
            if self._tokens is not None:
                self._meter.enter(grant.tenant, self._tokens.current().quotas.get(grant.tenant), size)
        except (Forbidden, OverQuota) as error:
            with self._counting:
                self._counters.forbidden += isinstance(error, Forbidden)
                self._counters.over_quota += isinstance(error, OverQuota)
                self._turned_away_at_intake += 1
            raise

    def note_taken(self, grant: Grant, members: int) -> None:
        """Charge the spans or log records that were in a request."""
        if self._tokens is not None:
            self._meter.charge_spans(grant.tenant, self._tokens.current().quotas.get(grant.tenant), members)

    def _admitted(self, token: str | None, right: Right) -> Grant:
        if self._tokens is None:
            return Grant("", self._tenancy.tenant or DEFAULT_TENANT)
        if not token:
            raise Unauthenticated(
                "a token is needed: send the header Authorization: Bearer TOKEN", missing=True
            )
        tokens = self._tokens.current()
        grant = tokens.find(token) if len(token) <= _LONGEST_TOKEN else None
        if grant is None:
            raise Unauthenticated("this token is not known")
        if grant.expires is not None and grant.expires <= self._now():
            raise Unauthenticated(f"the token {grant.name!r} expired at {grant.expires:%Y-%m-%dT%H:%M:%SZ}")
        several = self._tenancy.shared and tokens.is_of_several
        also = "read" if right == "metrics" and not several else right
        if grant.rights.isdisjoint((right, also)):
            raise Forbidden(f"the token {grant.name!r} may not {_DOES[right]}: it lacks the right {right!r}")
        self._tenancy.check(grant.tenant)
        return replace(grant, apart=True) if several and "metrics" not in grant.rights else grant


def bearer(authorization: str | None) -> str | None:
    """Return the token of an Authorization header; None when it holds none."""
    scheme, _, token = (authorization or "").strip().partition(" ")
    return token.strip() or None if scheme.casefold() == "bearer" else None


def clickhouse_token(headers: Mapping[str, str]) -> str | None:
    """Return the token in any of the ways in which clients of ClickHouse send a password; header names are folded.

    The user name is ignored: the token identifies the client.
    """
    authorization = headers.get("authorization", "")
    scheme, _, value = authorization.strip().partition(" ")
    if scheme.casefold() == "basic":
        try:
            return base64.b64decode(value, validate=True).decode().partition(":")[2] or None
        except (binascii.Error, UnicodeDecodeError):
            return None
    return bearer(authorization) or headers.get("x-clickhouse-key") or None
