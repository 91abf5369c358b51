"""Where a ClickHouse server is: `clickhouse://user:password@host:8123/retrospan`, `clickhouses://` over TLS. Pure.

A user or password with other than letters and digits is percent-encoded there, or given by itself
(`server.user`, `server.password`). No message and no repr shows the password.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from retrospan.schemas.errors import ConfigError
from retrospan.schemas.migrate import DATABASE

_PORTS = {"clickhouse": 8123, "clickhouses": 8443}
_FORM = "clickhouse://user:password@host:8123/retrospan"


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """One ClickHouse server's HTTP interface, and as whom to speak to it."""

    host: str
    port: int
    secure: bool = False
    user: str = "default"
    password: str = field(default="", repr=False)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'clickhouses' if self.secure else 'clickhouse'}://{self.user}@{host}:{self.port}/{DATABASE}"


def parse_server(text: str, *, user: str = "", password: str = "") -> ServerAddress:
    """Read an address; `user` and `password`, where given, go before those in it.

    Raises:
        ConfigError: it is not an address; the message never holds the password.
    """
    try:
        parts = urlsplit(text)
        port = parts.port
        host = parts.hostname
    except ValueError as cause:
        # The cause may quote what stands for the port, which is part of a password with a bare '/' or '@'.
        raise ConfigError(_refusal("its host or port cannot be read")) from cause.with_traceback(None)
    if parts.scheme not in _PORTS:
        raise ConfigError(_refusal(f"it does not begin with {' or '.join(f'{name}://' for name in _PORTS)}"))
    if not host:
        raise ConfigError(_refusal("it has no host"))
    if parts.query or parts.fragment:
        raise ConfigError(_refusal("nothing may follow the database"))
    if parts.path.strip("/") not in ("", DATABASE):
        raise ConfigError(_refusal(f"the database is always called {DATABASE}"))
    return ServerAddress(
        host=host,
        port=port or _PORTS[parts.scheme],
        secure=parts.scheme == "clickhouses",
        user=user or unquote(parts.username or "") or "default",
        password=password or unquote(parts.password or ""),
    )


def _refusal(reason: str) -> str:
    return (
        f"warehouse: this is not an address of a ClickHouse server: {reason}. Write {_FORM}; in a user or password "
        "percent-encode what is not a letter or digit, or give them separately (server.user, server.password)."
    )
