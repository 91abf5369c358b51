"""A whole collector with tokens and TLS, as a process: who gets in, and what it says about it."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import clickhouse_connect
import grpc
import otlp_requests as make
import pytest
from certificates import Certificates

from .conftest import TRACES, entry

SERVE = [sys.executable, "-m", "retrospan.ingest.cli.main", "serve"]
WRITER, READER, ADMIN = "Wr1ter-5d0f6c0e2b", "Re4der-9a7be11c03", "Adm1n-77aa21d0fe"
UNKNOWN = "Unkn0wn-1f2e3d4c5b"
EVERY = (WRITER, READER, ADMIN, UNKNOWN)


@dataclass
class Guarded:
    """A running collector that asks for tokens and speaks TLS."""

    process: subprocess.Popen[str]
    data: Path
    tokens: Path
    log: Path
    ports: Mapping[str, int]
    certificates: Certificates

    def export(self, token: str, body: bytes) -> str:
        """One export over gRPC; the code's name."""
        credentials = grpc.ssl_channel_credentials(self.certificates.authority.read_bytes())
        with grpc.secure_channel(f"localhost:{self.ports['grpc']}", credentials) as channel:
            try:
                channel.unary_unary(TRACES)(
                    body, timeout=30, metadata=(("authorization", f"Bearer {token}"),)
                )
            except grpc.RpcError as error:
                return str(error.code().name)
        return "OK"

    def ask(
        self, path: str, token: str | None = None, body: bytes | None = None, port: str = "sql"
    ) -> tuple[int, str]:
        context = ssl.create_default_context(cafile=self.certificates.authority)
        connection = http.client.HTTPSConnection("localhost", self.ports[port], timeout=60, context=context)
        try:
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            if port == "http":
                headers["Content-Type"] = "application/x-protobuf"
            connection.request("GET" if body is None else "POST", path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode(errors="replace")
        finally:
            connection.close()

    def environ(self, token: str) -> dict[str, str]:
        return {
            **os.environ,
            "RETROSPAN_URL": f"https://localhost:{self.ports['sql']}",
            "RETROSPAN_CA": str(self.certificates.authority),
            "RETROSPAN_TOKEN": token,
        }


@pytest.fixture
def guarded(tmp_path: Path, certificates: Certificates) -> Iterator[Guarded]:
    tokens, log = tmp_path / "tokens.toml", tmp_path / "stderr.txt"
    tokens.write_text(
        entry(WRITER, name="writer") + entry(READER, name="reader", rights='"read"')
        + entry(ADMIN, name="admin", rights='"admin", "read"')
    )  # fmt: skip
    file = tmp_path / "retrospan.toml"
    server = certificates.server
    file.write_text(
        f'tokens = "{tokens}"\n[tls]\ncertificate = "{server.certificate}"\nkey = "{server.key}"\n'
    )
    addresses = ["--grpc", "0.0.0.0:0", "--http", "0.0.0.0:0", "--sql", "0.0.0.0:0"]
    with (
        log.open("w") as errors,
        subprocess.Popen(
            [*SERVE, "--config", str(file), "--data", str(tmp_path / "data"), *addresses],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        assert process.stdout is not None
        words = process.stdout.readline().split()
        assert words[:1] == ["ready"], log.read_text()
        ports = {
            name: int(address.rpartition(":")[2])
            for name, _, address in (w.partition("=") for w in words[1:])
        }
        yield Guarded(process, tmp_path / "data", tokens, log, ports, certificates)
        process.send_signal(signal.SIGTERM)
        assert process.wait(90) == 0


def doctor(guarded: Guarded, token: str) -> tuple[int, dict[str, dict[str, str]]]:
    """The exit code of the doctor, and its findings by check."""
    done = subprocess.run(
        [sys.executable, "-m", "retrospan.ingest.cli.main", "doctor", "--json"],
        capture_output=True, text=True, timeout=120, env=guarded.environ(token), check=False,
    )  # fmt: skip
    return done.returncode, {
        finding["check"]: finding for finding in map(json.loads, done.stdout.splitlines())
    }


@pytest.mark.long
def test_the_doctor_tells_what_the_collector_asks_for(guarded: Guarded) -> None:
    guarded.tokens.chmod(0o600)
    assert guarded.ask("/?query=SELECT+1")[0] == 401
    assert guarded.ask("/?query=SELECT+1", WRITER)[0] == 403
    code, found = doctor(guarded, READER)
    # That questions were refused says nothing of what is sent.
    assert (code, found["intake"]["said"]) == (0, "nothing was ever received")
    assert found["tokens"]["said"] == f"3 in force from {guarded.tokens}"
    code, found = doctor(guarded, UNKNOWN)
    assert (code, found["tokens"]["result"]) == (1, "failed")
    assert "this token is not known" in found["tokens"]["said"]
    assert "those of the collector are for who may read" in found["settings"]["said"]
    assert not found["settings"].get("settings")
    code, found = doctor(guarded, "")
    assert (code, found["tokens"]["said"]) == (
        0, "the collector asks for them, and RETROSPAN_TOKEN is not set"
    )  # fmt: skip
    body = make.traces(make.span("refused")).SerializeToString()
    assert guarded.ask("/v1/traces", UNKNOWN, body, "http")[0] == 401
    code, found = doctor(guarded, READER)
    assert (code, found["intake"]["result"]) == (1, "failed")
    assert found["intake"]["said"] == "1 requests were refused for their token, none was accepted"


@pytest.mark.long
@pytest.mark.requirement("R35")
def test_only_who_has_the_right_gets_in_and_no_token_is_ever_shown(guarded: Guarded) -> None:
    body = make.traces(make.span("guarded")).SerializeToString()
    assert [guarded.export(token, body) for token in (UNKNOWN, READER)] == [
        "UNAUTHENTICATED",
        "PERMISSION_DENIED",
    ]
    assert guarded.export(WRITER, body) == "OK"
    posts = [guarded.ask("/v1/traces", token, body, "http")[0] for token in (None, UNKNOWN, READER, WRITER)]
    assert posts == [401, 401, 403, 200]
    assert guarded.ask(f"/v1/traces/{UNKNOWN}", UNKNOWN, body, "http")[0] == 404
    assert guarded.ask("/?query=SELECT+1", WRITER)[0] == 403
    assert (guarded.data / "tenant").read_text() == "default\n"

    deadline = time.monotonic() + 300
    while json.loads(guarded.ask("/health", READER)[1])["loaded_sequence"] < 2:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    count = "SELECT count() FROM spans WHERE tenant = 'default'"
    client = clickhouse_connect.get_client(
        host="localhost", port=guarded.ports["sql"], secure=True, password=READER,
        ca_cert=str(guarded.certificates.authority), database="retrospan",
    )  # fmt: skip
    assert client.query(count).result_rows == [(1,)]
    client.close()

    shown = [guarded.ask(path, READER)[1] for path in ("/metrics", "/health")]
    assert "retrospan_access_unauthenticated_total 3" in shown[0]
    assert "retrospan_access_forbidden_total 3" in shown[0]
    refused = [
        guarded.ask(path, token)[1]
        for path in ("/?query=SELECT+1", "/metrics", "/admin/v1/rebuild", "/?query=" + "SELEKT")
        for token in (None, UNKNOWN, WRITER)
    ]
    told = subprocess.run(
        [sys.executable, "-m", "retrospan.ingest.cli.main", "sql", count, "--format", "csv"],
        capture_output=True, text=True, timeout=120, env=guarded.environ(READER), check=True,
    )  # fmt: skip
    assert told.stdout.split() == ['"count()"', "1"]
    failed = subprocess.run(
        [sys.executable, "-m", "retrospan.ingest.cli.main", "rebuild"],
        capture_output=True, text=True, timeout=120, env=guarded.environ(UNKNOWN), check=False,
    )  # fmt: skip
    assert failed.returncode == 2 and "token" in failed.stderr
    rebuilt = subprocess.run(
        [sys.executable, "-m", "retrospan.ingest.cli.main", "rebuild"],
        capture_output=True, text=True, timeout=120, env=guarded.environ(ADMIN), check=True,
    )  # fmt: skip
    assert rebuilt.stdout.startswith("rebuilt")

    texts = [*shown, *refused, failed.stdout, failed.stderr, told.stderr, rebuilt.stderr]
    bytes_kept = [path.read_bytes() for path in (guarded.log, *guarded.data.rglob("*")) if path.is_file()]
    assert len(bytes_kept) > 10
    for token in EVERY:
        digest = hashlib.sha256(token.encode())
        for secret in (token, digest.hexdigest()):
            assert not [text for text in texts if secret in text]
            assert not [data for data in bytes_kept if secret.encode() in data or digest.digest() in data]


@pytest.mark.long
def test_a_change_of_the_tokens_counts_without_a_restart(guarded: Guarded) -> None:
    body = make.traces(make.span()).SerializeToString()
    assert guarded.export(WRITER, body) == "OK"
    guarded.tokens.write_text(entry(UNKNOWN, name="newcomer"))
    assert [guarded.export(token, body) for token in (WRITER, UNKNOWN)] == ["UNAUTHENTICATED", "OK"]
    guarded.tokens.write_text("[[token]\n")
    assert '"degraded"' in guarded.ask("/health", port="http")[1]
    assert [guarded.export(token, body) for token in (WRITER, UNKNOWN)] == ["UNAUTHENTICATED", "OK"]
    said = guarded.log.read_text()
    assert said.count("the previous tokens stay in force") == 1 and "tokens in force from" in said
    assert all(written.startswith("time=") for written in said.splitlines()), said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--grpc", "0.0.0.0:0"), "grpc 0.0.0.0:0: reachable from other machines"),
        (
            ("--http", "0.0.0.0:0", "--sql", "[::]:0"),
            "http 0.0.0.0:0, sql [::]:0: reachable from other machines",
        ),
        (("--tokens", "gone.toml"), "cannot read the tokens in gone.toml"),
    ],
)
@pytest.mark.requirement("R36")
def test_a_collector_that_would_be_open_by_mistake_does_not_start(
    tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    done = subprocess.run(
        [*SERVE, "--data", str(tmp_path / "data"), "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0",
         "--sql", "127.0.0.1:0", *words],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 2 and done.stdout == ""
    assert said in done.stderr
    assert not (tmp_path / "data" / "warehouse").exists()
