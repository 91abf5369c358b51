"""A collector's settings: its addresses, the file of tokens, TLS; and where exporters in this environment send."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

from retrospan.ingest.access.certificate_end import certificate_end
from retrospan.ingest.access.tls import server_context
from retrospan.ingest.access.tokens import read_tokens
from retrospan.ingest.doctor.finding import Finding, failed, ok, warning
from retrospan.ingest.machine.port import bind
from retrospan.ingest.settings.config import KEYS, Config
from retrospan.ingest.settings.metrics_target import require_foreign
from retrospan.ingest.settings.setting_sources import PAGE, unknown_variables
from retrospan.ingest.settings.setting_values import Address, is_loopback, parse_address
from retrospan.ingest.settings.trusted_file import readable_by_others
from retrospan.schemas.errors import ConfigError, PermanentError, PortInUse

CONNECT_SECONDS = 2.0
SOON = timedelta(days=14)
_PORTS = ("grpc", "http", "sql", "jaeger")


def check_free_ports(config: Config) -> Finding:
    """Return whether a collector with these settings could listen."""
    for name in _PORTS:
        address: Address | None = getattr(config, name)
        if address is None:
            continue
        try:
            bind(address, flag=f"--{name}").close()
        except PortInUse as error:
            said, _, todo = str(error).partition(". ")
            return failed("ports", said, todo)
        except OSError as error:
            return failed(
                "ports",
                f"{address} cannot be listened on: {error.strerror or error}",
                f"choose another: retrospan serve --{name} 127.0.0.1:0",
            )
    return ok(
        "ports",
        "free: " + " ".join(f"{name}={getattr(config, name)}" for name in _PORTS if getattr(config, name)),
    )


def check_open_ports(page: Mapping[str, object]) -> Finding:
    """Return whether the ports of a collector on this machine answer."""
    told = {name: str(page[name]) for name in _PORTS if page.get(name)}
    for name, text in told.items():
        address = parse_address(text)
        if not _answers("127.0.0.1" if address.host in ("0.0.0.0", "::") else address.host, address.port):
            return failed(
                "ports", f"{name}={text} does not answer", "restart the collector, or check the firewall"
            )
    return ok("ports", "answer: " + " ".join(f"{name}={text}" for name, text in told.items()))


def check_exporters(environ: Mapping[str, str], page: Mapping[str, object]) -> Finding | None:
    """Return whether what exporters here would use leads somewhere; None when no variable names an endpoint."""
    name = next(
        (
            name
            for name in ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
            if environ.get(name, "").strip()
        ),
        None,
    )
    if name is None:
        return None
    url = environ[name].strip()
    parts = urlsplit(url if "//" in url else f"//{url}")
    try:
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        host, port = "", 0
    if not host:
        return failed("exporters", f"{name}={url} is not an address", f"export {name}=http://127.0.0.1:4318")
    protocol = environ.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") or environ.get(
        "OTEL_EXPORTER_OTLP_PROTOCOL", ""
    )
    is_port = {
        kind: page.get(kind) and parse_address(str(page[kind])).port == port for kind in ("grpc", "http")
    }
    if is_port["grpc"] and protocol.startswith("http"):
        return failed(
            "exporters", f"{name}={url} is the gRPC port, and {protocol} is spoken", "use the HTTP port, 4318"
        )
    if is_port["http"] and protocol == "grpc":
        return failed(
            "exporters", f"{name}={url} is the HTTP port, and gRPC is spoken", "use the gRPC port, 4317"
        )
    if not _answers(host, port):
        return failed(
            "exporters",
            f"nothing listens on {name}={url}",
            "compare it with the ready line of retrospan serve",
        )
    return ok("exporters", f"{name}={url} answers")


def check_tokens(config: Config) -> Finding:
    """Return whether the file of tokens can be used and only its owner can change it."""
    if config.tokens is None:
        if config.open:
            return warning(
                "tokens",
                "none, and --open: anyone who can reach a port may send and read everything",
                "name a file: --tokens FILE",
            )
        return ok("tokens", "none: anyone on this machine may send and query")
    try:
        found = read_tokens(config.tokens)
        readable = readable_by_others(config.tokens)
    except (ConfigError, OSError) as error:
        return failed("tokens", f"no collector of this user starts with this file: {error}", "mend the file")
    if readable:
        return warning(
            "tokens",
            f"{config.tokens} can be read by others (mode {readable}): it holds hashes and quotas",
            f"chmod 600 {config.tokens}",
        )
    now = datetime.now(UTC)
    ended = [grant.name for _, grant in found.entries if grant.expires is not None and grant.expires <= now]
    ending = [
        grant.name
        for _, grant in found.entries
        if grant.expires is not None and now < grant.expires <= now + SOON
    ]
    if ended or ending:
        said = [f"expired: {', '.join(ended)}"] if ended else []
        said += [f"expire within 14 days: {', '.join(ending)}"] if ending else []
        return warning("tokens", f"{config.tokens}: {'; '.join(said)}", "renew or remove them")
    return ok("tokens", f"{len(found.entries)} in force from {config.tokens}")


def check_tokens_of(page: Mapping[str, object], *, is_near: bool) -> Finding:
    """Return the same of the collector whose `page` it is; its file is read only where it `is_near`: on this machine."""
    running = page["settings"]
    assert isinstance(running, dict), "the page of a collector has its settings"
    file = running["tokens"]["value"]
    if file is None:
        return check_tokens(Config(open=bool(running["open"]["value"])))
    if is_near and os.path.isabs(file) and os.access(file, os.R_OK):
        return check_tokens(Config(tokens=Path(file)))
    return ok("tokens", f"the collector asks for them, by its file {file}")


def check_own_token(ask: Callable[[], object], *, has_token: bool) -> Finding:
    """Return whether a collector that shows nothing of itself takes the token of this environment."""
    if not has_token:
        return ok("tokens", "the collector asks for them, and RETROSPAN_TOKEN is not set")
    try:
        ask()
    except PermanentError as error:
        return failed(
            "tokens", str(error), "correct RETROSPAN_TOKEN: docs/access.md says what a token may do"
        )
    return ok("tokens", "the collector takes the one of RETROSPAN_TOKEN")


def check_tls(config: Config) -> Finding | None:
    """Return whether certificate and key can be used; None without TLS."""
    if config.tls.key is None:
        return None
    try:
        server_context(config.tls)
        readable = readable_by_others(config.tls.key)
    except (ConfigError, OSError) as error:
        return failed(
            "tls", str(error), "name files in PEM that belong together, and that only you can write"
        )
    if readable:
        return warning(
            "tls",
            f"{config.tls.key} can be read by others (mode {readable})",
            f"chmod 600 {config.tls.key}",
        )
    assert config.tls.certificate is not None, "a key is used with its certificate"
    now, end = datetime.now(UTC), certificate_end(config.tls.certificate.read_text("latin-1"))
    if end is not None and end <= now:
        said = f"{config.tls.certificate} ended on {end:%Y-%m-%d}: clients refuse it"
        return failed("tls", said, "renew it, and restart the collector")
    if end is not None and end <= now + SOON:
        said = f"{config.tls.certificate} ends on {end:%Y-%m-%d}"
        return warning("tls", said, "renew it, and restart the collector")
    return ok("tls", f"{config.tls.certificate} and its key can be used")


def check_settings(
    read: Callable[[], Config], environ: Mapping[str, str], page: Mapping[str, object]
) -> tuple[Config, Finding]:
    """Return the settings given here, or the default ones when those cannot be used; and what is wrong with them.

    The finding holds the settings in force: those of the collector whose `page` it is, or those that one would start
    with here.
    """
    config, found = Config(), ok("settings", "flags, variables and file can be used")
    running = page.get("settings")
    try:
        config = read()
        require_foreign(config)
    except ConfigError as error:
        config = Config()
        found = failed("settings", str(error), "fix them; until then no collector starts")
    else:
        if unknown := unknown_variables(environ, KEYS):
            said = f"nothing reads {', '.join(unknown)}"
            found = warning("settings", said, f"remove them, or see {PAGE}")
    if page and running is None:
        return config, replace(found, said=f"{found.said}; those of the collector are for who may read")
    if isinstance(running, dict):
        return config, replace(found, said=f"{found.said}; the collector runs with:", settings=running)
    if found.result == "failed":
        return config, found
    return config, replace(
        found, said=f"{found.said}; a collector would start with:", settings=config.in_force()
    )


def _answers(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), CONNECT_SECONDS):
            return True
    except OSError:
        return False


def is_here(url: str) -> bool:
    """Return whether a URL leads to this machine by a loopback address."""
    return is_loopback(urlsplit(url).hostname or "")
