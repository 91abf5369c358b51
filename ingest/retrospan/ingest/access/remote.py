"""The gate of the process of the warehouse: it asks the process that receives, which knows the tokens.

So the process that runs other people's queries never has the file of tokens, and no token but those presented to it.
"""

from __future__ import annotations

from datetime import datetime
from typing import cast

from retrospan.ingest.access.gate import Gate
from retrospan.ingest.access.tokens import Grant, Right
from retrospan.ingest.channel import Arguments, Channel


class RemoteGate:
    """Lets requests in, or raises, as `Gate` does in the other process."""

    def __init__(self, channel: Channel, *, guarded: bool) -> None:
        """`guarded`: a token is asked for."""
        self.guarded = guarded
        self._channel = channel
        self._everyone: Grant | None = None
        """Of an open port, which lets all in alike."""

    def admit(self, token: str | None, right: Right) -> Grant:
        """Return the grant of a token that has this right now.

        Raises:
            Unauthenticated: no token, or none that is in force.
            Forbidden: the token may not do this here.
            WarehouseUnavailable: the other process has ended, and this one soon will.
        """
        if self._everyone is not None:
            return self._everyone
        found = self._channel.call("admit", {"token": token, "right": right})
        until = found["expires"]
        grant = Grant(
            found["name"],
            found["tenant"],
            frozenset(found["rights"]),
            datetime.fromisoformat(until) if until is not None else None,
            found["apart"],
        )
        if not self.guarded:
            self._everyone = grant
        return grant


def admitted(gate: Gate, asked: Arguments) -> dict[str, object]:
    """Return what the process that receives answers to `RemoteGate.admit`."""
    token = asked["token"]
    if asked["right"] not in ("read", "admin", "metrics") or not isinstance(token, str | None):
        raise ValueError("not a request of the SQL port")
    grant = gate.admit(token, cast(Right, asked["right"]))
    return {
        "name": grant.name,
        "tenant": grant.tenant,
        "rights": sorted(grant.rights),
        "expires": grant.expires.isoformat() if grant.expires is not None else None,
        "apart": grant.apart,
    }
