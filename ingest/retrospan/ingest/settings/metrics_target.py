"""Where the collector's own metrics may go: to any OTLP/HTTP receiver but itself, which refuses metrics."""

from __future__ import annotations

from urllib.parse import urlsplit

from retrospan.ingest.settings.config import Config
from retrospan.ingest.settings.setting_values import Address
from retrospan.schemas.errors import ConfigError

_ANY_HOST = ("0.0.0.0", "::")


def endpoint(target: str) -> str:
    """Return the URL that metrics are posted to: with `/v1/metrics` where the target has no path."""
    return target if urlsplit(target).path.strip("/") else f"{target.rstrip('/')}/v1/metrics"


def require_foreign(config: Config) -> None:
    """Return if `metrics_to` can be used.

    Raises:
        ConfigError: it is not a URL, or a port of this collector; or the interval is 0.
    """
    if config.metrics_to is None:
        return
    target = _address(config.metrics_to)
    ports = {"grpc": config.grpc, "http": config.http, "sql": config.sql, "jaeger": config.jaeger}
    for name, own in ports.items():
        if own is None:
            continue
        here = (
            target.loopback or target.host in _ANY_HOST
        )  # to connect to any address is to connect to this machine
        both_here = here and (own.loopback or own.host in _ANY_HOST)
        if own.port == target.port and (both_here or own.host == target.host):
            raise ConfigError(
                f"metrics_to: {config.metrics_to} is this collector's own port ({name}), which does not accept "
                "metrics. Name another collector."
            )
    if not config.metrics_seconds:
        raise ConfigError("metrics_seconds: 0 is not an interval. Give a number of seconds above 0.")


def _address(url: str) -> Address:
    parts = urlsplit(url)
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        port = 0
    if parts.scheme not in ("http", "https") or not parts.hostname or not port or parts.username is not None:
        # Not shown: what stands there may be a password.
        raise ConfigError(
            "metrics_to: the value is not a URL such as http://127.0.0.1:4318, without a user in it."
        )
    return Address(parts.hostname, port)
