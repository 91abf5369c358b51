"""The OpenTelemetry Collector in front of us, with the settings that docs/collector.md gives."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from certificates import Certificates, make_certificates
from collector.far_end import TOKEN, FarEnd
from collector.full_spans import SCOPES, SPANS, assert_whole, full_request, send_grpc, send_http
from collector.otelcol import Otelcol, blocks, build

EACH = SCOPES * SPANS


def test_the_page_has_a_block_for_each_way() -> None:
    grpc, http, local = blocks()
    assert "otlp_grpc/retrospan" in grpc and "receivers:" in grpc
    assert "otlp_http/retrospan" in http and "receivers:" not in http
    assert "insecure: true" in local


@pytest.fixture(scope="module")
def program() -> Path:
    return build()


@pytest.fixture
def certificates(tmp_path: Path) -> Certificates:
    (tmp_path / "certificates").mkdir()
    return make_certificates(tmp_path / "certificates")


@contextmanager
def ended(far: FarEnd, near: Otelcol) -> Iterator[None]:
    try:
        yield
    finally:
        near.kill()
        far.kill()


@pytest.mark.soak
@pytest.mark.parametrize("way", ["grpc", "http"])
def test_spans_arrive_whole_through_an_outage_a_kill_and_a_refusal(
    program: Path, tmp_path: Path, certificates: Certificates, way: str
) -> None:
    far = FarEnd(tmp_path, certificates)
    token = tmp_path / "token"
    token.write_text(TOKEN)
    over_grpc, over_http, _ = blocks()
    near = Otelcol(
        program,
        tmp_path,
        [over_grpc] if way == "grpc" else [over_grpc, over_http],
        {
            "retrospan.example:4317": far.grpc,
            "retrospan.example:4318": far.http,
            "/etc/otelcol/ca.pem": str(certificates.authority),
            "/etc/otelcol/retrospan.token": str(token),
            "/var/lib/otelcol/retrospan": str(tmp_path / "queue"),
        },
    )
    sent = [full_request() for _ in range(4)]
    with ended(far, near):
        far.start()
        near.start()
        send_grpc(near.grpc, sent[0])
        far.wait_spans(EACH)
        far.kill()
        send_http(near.http, sent[1])
        # What the agent was told is in the queue outlives the collector itself.
        near.kill()
        near.start()
        send_grpc(near.grpc, sent[2])
        far.start(refusing=True)
        send_http(near.http, sent[3])
        far.wait_refused()
        far.kill()
        far.start()
        far.wait_spans(4 * EACH)
        far.stop()
    assert_whole(sent, far.kept())


@pytest.mark.soak
def test_on_one_machine_it_needs_neither_tls_nor_tokens(program: Path, tmp_path: Path) -> None:
    far = FarEnd(tmp_path)
    over_grpc, _, local = blocks()
    near = Otelcol(
        program,
        tmp_path,
        [over_grpc, local],
        {"endpoint: 127.0.0.1:14317": f"endpoint: {far.grpc}", "/var/lib/otelcol": str(tmp_path)},
    )
    sent = [full_request()]
    with ended(far, near):
        far.start()
        near.start()
        send_grpc(near.grpc, sent[0])
        far.wait_spans(EACH)
        far.stop()
    assert_whole(sent, far.kept())
