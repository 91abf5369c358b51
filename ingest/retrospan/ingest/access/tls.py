"""TLS for every port: one certificate and, if configured, the authority that must have signed clients' certificates."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

from retrospan.ingest.config import TlsSettings
from retrospan.ingest.trusted_file import require_trusted
from retrospan.schemas.errors import ConfigError


def server_context(settings: TlsSettings | None) -> ssl.SSLContext | None:
    """Return what the HTTP and SQL ports speak; None for plain text. TLS 1.2 or later.

    Raises:
        ConfigError: a file cannot be used; the message names it.
    """
    if settings is None or settings.certificate is None or settings.key is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    _read(settings.key)
    _read(settings.certificate)
    try:
        context.load_cert_chain(settings.certificate, settings.key, password=_no_password)
    except (ssl.SSLError, ValueError) as error:
        raise ConfigError(
            f"tls: {settings.certificate} and {settings.key} are not a certificate and its key without a password "
            f"in PEM ({getattr(error, 'reason', None) or error})."
        ) from error
    if settings.client_ca is not None:
        _read(settings.client_ca)
        try:
            context.load_verify_locations(settings.client_ca)
        except ssl.SSLError as error:
            raise ConfigError(
                f"tls: {settings.client_ca} holds no certificates in PEM ({error.reason})."
            ) from error
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def grpc_credentials(settings: TlsSettings | None) -> Any:
    """Return what the gRPC port speaks, as the library wants it; None for plain text.

    Raises:
        ConfigError: as `server_context`.
    """
    if server_context(settings) is None or settings is None:
        return None
    assert settings.key is not None and settings.certificate is not None
    import grpc

    authority = None if settings.client_ca is None else _read(settings.client_ca)
    return grpc.ssl_server_credentials(
        [(_read(settings.key), _read(settings.certificate))],
        root_certificates=authority,
        require_client_auth=authority is not None,
    )


def _read(path: Path) -> bytes:
    try:
        require_trusted(path)
        return path.read_bytes()
    except ConfigError as error:
        raise ConfigError(f"tls: {error}") from error
    except OSError as error:
        raise ConfigError(f"tls: cannot read {path}: {error.strerror}.") from error


def _no_password() -> str:
    """Instead of a question on the terminal."""
    raise ValueError("it has a password")
