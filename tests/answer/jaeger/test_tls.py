"""TLS at the port of Jaeger's API: the certificates of the other ports."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path

import pytest
from certificates import make_certificates

from retrospan.ingest.answer.jaeger.port import JaegerPort
from retrospan.ingest.http.site import Site
from retrospan.ingest.settings.config import Limits, TlsSettings
from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse

from .conftest import ANY, Asking


def test_it_speaks_tls_and_nothing_else(warehouse: EmbeddedWarehouse, tmp_path: Path) -> None:
    made = make_certificates(tmp_path)
    tls = TlsSettings(made.server.certificate, made.server.key, made.authority)
    port = JaegerPort(Site(ANY, tls), limits=Limits(), reader_of=lambda tenant: warehouse.connect())
    address = f"localhost:{port.start()}"
    try:
        context = ssl.create_default_context(cafile=str(made.authority))
        with pytest.raises(OSError, match=r"certificate|closed|reset|EOF"):
            Asking(address, context)("/api/services")
        context.load_cert_chain(made.client.certificate, made.client.key)
        assert Asking(address, context)("/api/services").status == 200
        assert Asking(address, context)("/api/v3/services").body == {"services": []}
        with pytest.raises(ssl.SSLCertVerificationError):
            Asking(address, ssl.create_default_context())("/api/services")
        with socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2])), timeout=60) as plain:
            plain.sendall(b"GET /api/services HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b"200" not in plain.recv(4096)
    finally:
        port.stop(5)
