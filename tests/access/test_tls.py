"""TLS on every port, with certificates made for the test and sockets that are real."""

from __future__ import annotations

import socket
import ssl
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from urllib.request import urlopen

import grpc
import otlp_requests as make
import pyarrow
import pyarrow.ipc
import pytest
from certificates import Certificates, Pair
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter

from retrospan.ingest.access.certificate_end import certificate_end
from retrospan.ingest.access.tls import grpc_credentials, server_context
from retrospan.ingest.cli.client.collector_client import CollectorClient
from retrospan.ingest.doctor.settings import check_tls
from retrospan.ingest.http.messages import Receive, Response, Scope, Send, send_response, text
from retrospan.ingest.http.server import HttpServer
from retrospan.ingest.http.site import Site
from retrospan.ingest.settings.config import Config, TlsSettings
from retrospan.ingest.settings.setting_values import Address
from retrospan.queries import connect
from retrospan.schemas.errors import CollectorUnreachable, ConfigError

from .conftest import TRACES, Door

BODY = make.traces(make.span()).SerializeToString()
TOKEN = (("authorization", "Bearer Writer-1"),)
PORTS = ("grpc", "http", "sql")


@cache
def arrow() -> bytes:
    table = pyarrow.table({"a": [1]})
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue())


async def answer(scope: Scope, receive: Receive, send: Send) -> None:
    asked = scope["query_string"] + (await receive())["body"]
    await send_response(scope, send, Response(200, arrow()) if b"Arrow" in asked else text(200, "1\n"))


async def refuse(scope: Scope, send: Send, status: int, message: str) -> None:
    await send_response(scope, send, text(status, message))


def settings(pair: Pair, client_ca: Path | None = None) -> TlsSettings:
    return TlsSettings(pair.certificate, pair.key, client_ca)


@dataclass
class Secured:
    """The three ports with one certificate."""

    door: Door
    tls: TlsSettings
    sql: int

    def port(self, name: str) -> int:
        return {
            "grpc": lambda: self.door.grpc_port,
            "http": lambda: self.door.http_port,
            "sql": lambda: self.sql,
        }[name]()

    def speaks(self, name: str, context: ssl.SSLContext) -> bool:
        """Whether a client with this context gets an answer of the port."""
        if name == "grpc":
            context.set_alpn_protocols(["h2"])
        with socket.create_connection(("127.0.0.1", self.port(name)), timeout=30) as plain:
            try:
                with context.wrap_socket(plain, server_hostname="localhost") as client:
                    # In TLS 1.3 a server refuses a client's certificate after the client's handshake is done.
                    client.sendall(
                        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"
                        if name == "grpc"
                        else b"GET /ping HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
                    )
                    return bool(client.recv(1))
            except (ssl.SSLError, ConnectionError):
                return False


@pytest.fixture
def secured(door: Door) -> Iterator[Callable[[TlsSettings], Secured]]:
    servers: list[HttpServer] = []

    def start(tls: TlsSettings) -> Secured:
        door.tls = tls
        address = Address("127.0.0.1", 0)
        server = HttpServer(answer, Site(address, tls), refuse, flag="--sql", name="test")
        servers.append(server)
        return Secured(door, tls, server.start())

    yield start
    for server in servers:
        server.stop(5)


def client(authority: Path, pair: Pair | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=authority)
    if pair is not None:
        context.load_cert_chain(pair.certificate, pair.key)
    return context


@pytest.mark.parametrize("name", PORTS)
@pytest.mark.requirement("R36")
def test_a_port_with_a_certificate_speaks_tls_to_who_trusts_it(
    secured: Callable[[TlsSettings], Secured], certificates: Certificates, name: str
) -> None:
    ports = secured(settings(certificates.server))
    assert ports.speaks(name, client(certificates.authority))
    assert not ports.speaks(name, client(certificates.other_authority))


@pytest.mark.parametrize("name", PORTS)
@pytest.mark.requirement("R36")
def test_a_certificate_for_another_name_is_not_trusted(
    secured: Callable[[TlsSettings], Secured], certificates: Certificates, name: str
) -> None:
    assert not secured(settings(certificates.elsewhere)).speaks(name, client(certificates.authority))


@pytest.mark.parametrize("name", PORTS)
@pytest.mark.requirement("R36")
def test_old_versions_of_tls_are_refused(
    secured: Callable[[TlsSettings], Secured], certificates: Certificates, name: str
) -> None:
    context = client(certificates.authority)
    context.set_ciphers("DEFAULT:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning):
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    assert not secured(settings(certificates.server)).speaks(name, context)


@pytest.mark.parametrize("name", PORTS)
@pytest.mark.requirement("R36")
def test_plain_text_gets_no_answer_and_holds_up_nobody(
    secured: Callable[[TlsSettings], Secured], certificates: Certificates, name: str
) -> None:
    ports = secured(settings(certificates.server))
    with socket.create_connection(("127.0.0.1", ports.port(name)), timeout=30) as silent:
        with socket.create_connection(("127.0.0.1", ports.port(name)), timeout=30) as plain:
            plain.sendall(b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
            try:
                answer = plain.recv(1000)
            except ConnectionError:
                answer = b""
        assert not answer.startswith(b"HTTP/")
        assert ports.speaks(name, client(certificates.authority))
        silent.close()


@pytest.mark.parametrize("name", PORTS)
@pytest.mark.parametrize("shown", ["none", "expired", "stranger", "client"])
@pytest.mark.requirement("R36")
def test_where_clients_need_a_certificate_only_one_in_force_of_the_authority_will_do(
    secured: Callable[[TlsSettings], Secured], certificates: Certificates, name: str, shown: str
) -> None:
    ports = secured(settings(certificates.server, certificates.authority))
    pair = {"expired": certificates.expired, "stranger": certificates.stranger, "client": certificates.client}
    assert ports.speaks(name, client(certificates.authority, pair.get(shown))) == (shown == "client")


@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_stock_exporters_send_over_mutual_tls(
    secured: Callable[[TlsSettings], Secured],
    certificates: Certificates,
    protocol: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ports = secured(settings(certificates.server, certificates.authority))
    for variable in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(variable, raising=False)  # stands before the exporter's own
    for variable, value in (
        ("HEADERS", "authorization=Bearer Writer-1"),
        ("CERTIFICATE", certificates.authority),
        ("CLIENT_CERTIFICATE", certificates.client.certificate),
        ("CLIENT_KEY", certificates.client.key),
    ):
        monkeypatch.setenv(f"OTEL_EXPORTER_OTLP_{variable}", str(value))
    exporter: SpanExporter
    if protocol == "grpc":
        exporter = GrpcExporter(endpoint=f"https://localhost:{ports.port('grpc')}")
    else:
        exporter = HttpExporter(endpoint=f"https://localhost:{ports.port('http')}/v1/traces")
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with provider.get_tracer("stock").start_as_current_span("sent"):
        pass
    provider.shutdown()
    assert ports.door.intake.counters.spans_acknowledged == 1


def test_a_token_is_asked_for_over_tls_too(
    secured: Callable[[TlsSettings], Secured], certificates: Certificates
) -> None:
    ports = secured(settings(certificates.server))
    credentials = grpc.ssl_channel_credentials(certificates.authority.read_bytes())
    with grpc.secure_channel(f"localhost:{ports.port('grpc')}", credentials) as channel:
        with pytest.raises(grpc.RpcError) as refused:
            channel.unary_unary(TRACES)(BODY, timeout=30)
        assert refused.value.code().name == "UNAUTHENTICATED"
        channel.unary_unary(TRACES)(BODY, timeout=30, metadata=TOKEN)


def test_our_clients_trust_the_authority_of_their_variable(
    secured: Callable[[TlsSettings], Secured], certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    ports = secured(settings(certificates.server, certificates.authority))
    url = f"https://localhost:{ports.sql}"
    environ = {
        "RETROSPAN_URL": url,
        "RETROSPAN_CA": str(certificates.authority),
        "RETROSPAN_CERTIFICATE": str(certificates.client.certificate),
        "RETROSPAN_KEY": str(certificates.client.key),
    }
    assert CollectorClient.from_environ(environ).fetch("SELECT 1", "CSV")[0] == b"1\n"
    with pytest.raises(CollectorUnreachable, match="RETROSPAN_CA"):
        CollectorClient.from_environ({**environ, "RETROSPAN_CA": str(certificates.other_authority)}).ask(
            "SELECT 1"
        )
    with pytest.raises(ConfigError, match="RETROSPAN_CA"):
        CollectorClient.from_environ({**environ, "RETROSPAN_CA": str(certificates.server.key)}).ask(
            "SELECT 1"
        )
    with pytest.raises(ConfigError, match="RETROSPAN_CERTIFICATE"):
        CollectorClient.from_environ({**environ, "RETROSPAN_KEY": str(certificates.stranger.key)}).ask(
            "SELECT 1"
        )
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert connect().sql("SELECT 1 AS a")["a"].to_list() == [1]
    monkeypatch.setenv("RETROSPAN_CA", str(certificates.other_authority))
    with pytest.raises(CollectorUnreachable, match="RETROSPAN_URL"):
        connect().sql("SELECT 1")


def test_a_probe_over_tls(secured: Callable[[TlsSettings], Secured], certificates: Certificates) -> None:
    ports = secured(settings(certificates.server))
    with urlopen(
        f"https://127.0.0.1:{ports.sql}/ping", context=client(certificates.authority), timeout=30
    ) as answer:
        assert answer.read() == b"1\n"


@pytest.mark.parametrize("broken", ["missing", "no certificate", "another key", "no authority"])
def test_files_that_cannot_be_used_are_named(certificates: Certificates, tmp_path: Path, broken: str) -> None:
    nothing = tmp_path / "nothing.pem"
    nothing.write_text("nothing\n")
    server = certificates.server
    tls, named = {
        "missing": (TlsSettings(tmp_path / "gone.pem", server.key), tmp_path / "gone.pem"),
        "no certificate": (TlsSettings(nothing, server.key), nothing),
        "another key": (TlsSettings(server.certificate, certificates.client.key), certificates.client.key),
        "no authority": (TlsSettings(server.certificate, server.key, nothing), nothing),
    }[broken]
    for use in (server_context, grpc_credentials):
        with pytest.raises(ConfigError) as refused:
            use(tls)
        assert str(named) in str(refused.value)
    assert server_context(TlsSettings()) is None and grpc_credentials(None) is None


def test_the_end_of_a_certificate_is_told(certificates: Certificates) -> None:
    for pair in (certificates.server, certificates.expired):
        said = subprocess.run(
            ["openssl", "x509", "-enddate", "-noout", "-in", str(pair.certificate)],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        end = certificate_end(pair.certificate.read_text())
        assert end == datetime.strptime(said, "notAfter=%b %d %H:%M:%S %Y GMT\n").replace(tzinfo=UTC)
    for spoilt in (
        "",
        "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----",
        certificates.server.key.read_text(),
    ):
        assert certificate_end(spoilt) is None


def test_the_doctor_fails_a_certificate_that_has_ended(certificates: Certificates) -> None:
    results = [
        check_tls(Config(tls=TlsSettings(certificate=pair.certificate, key=pair.key)))
        for pair in (certificates.expired, certificates.server)
    ]
    assert [found and (found.result, "end" in found.said) for found in results] == [
        ("failed", True),
        ("warning", True),  # in two days
    ]
