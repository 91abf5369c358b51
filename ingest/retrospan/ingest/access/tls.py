"""TLS for every port: one certificate and, if configured, the authority that must have signed clients' certificates."""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from retrospan.ingest.machine.operating_system import make_nameless_file, path_of
from retrospan.ingest.settings.config import TlsSettings
from retrospan.ingest.settings.trusted_file import require_trusted
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


def read_pem(settings: TlsSettings | None) -> dict[str, str]:
    """Return what the files hold now, by the name of the setting, for a process that begins later; {} for plain text.

    Raises:
        ConfigError: as `server_context`.
    """
    if server_context(settings) is None or settings is None:
        return {}
    files = {"certificate": settings.certificate, "key": settings.key, "client_ca": settings.client_ca}
    return {name: _read(path).decode("latin-1") for name, path in files.items() if path is not None}


def context_of(pem: Mapping[str, str]) -> ssl.SSLContext | None:
    """Return what the ports speak by what `read_pem` returned, whatever the files hold since."""
    if not pem:
        return None
    with ExitStack() as stack:
        paths = {name: stack.enter_context(_in_memory(text)) for name, text in pem.items()}
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(paths["certificate"], paths["key"], password=_no_password)
        if "client_ca" in pem:
            context.load_verify_locations(cadata=pem["client_ca"])
            context.verify_mode = ssl.CERT_REQUIRED
    return context


@contextmanager
def _in_memory(text: str) -> Iterator[str]:
    """Return a path of a file without a name: certificate and key are taken from files only."""
    with open(make_nameless_file("retrospan-pem"), "wb", buffering=0) as file:
        file.write(text.encode("latin-1"))
        file.seek(0)
        yield path_of(file.fileno())


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
