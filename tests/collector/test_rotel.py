"""Another agent's exporter in front of us: rotel, a collector in Rust, from its own package."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from collector.far_end import FarEnd, free_address
from collector.full_spans import (
    SCOPES,
    SPANS,
    assert_whole,
    full_request,
    send_grpc,
    wait_listening,
)
from torture.bounds import small_disk

MIB = 1 << 20
EACH = SCOPES * SPANS


def agent() -> str:
    """The program, or a skip that says what it lacks."""
    found = importlib.util.find_spec("rotel")
    if found is None or found.origin is None:
        pytest.skip("rotel has no wheel for this Python or machine")
    return str(Path(found.origin).with_name("rotel-agent"))


def environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ROTEL_", "OTEL_"))}
    library = sysconfig.get_config_var("LIBDIR") or ""
    return {**kept, "LD_LIBRARY_PATH": f"{library}:{kept.get('LD_LIBRARY_PATH', '')}"}


@contextmanager
def rotel(directory: Path, endpoint: str, protocol: str) -> Iterator[str]:
    """A running agent that exports to the endpoint; gives the address where it takes gRPC."""
    program, address = agent(), free_address()
    probe = subprocess.run(
        [program, "--help"], capture_output=True, text=True, env=environment(), check=False, timeout=60
    )
    if "libpython" in probe.stderr:
        pytest.skip(f"rotel does not start here: {probe.stderr.strip()}")
    command = [
        *(program, "start", "--otlp-grpc-endpoint", address, "--otlp-http-endpoint", free_address()),
        *("--pid-file", str(directory / "rotel.pid"), "--exporter", "otlp"),
        *("--otlp-exporter-endpoint", endpoint, "--otlp-exporter-protocol", protocol),
        *("--otlp-exporter-compression", "gzip", "--otlp-exporter-request-timeout", "30s"),
        *("--otlp-exporter-retry-initial-backoff", "200ms", "--otlp-exporter-retry-max-backoff", "500ms"),
        *("--otlp-exporter-retry-max-elapsed-time", "600s", "--batch-timeout", "100ms"),
    ]
    with (directory / "rotel.txt").open("wb") as said:
        process = subprocess.Popen(command, stdout=said, stderr=said, env=environment())
    try:
        wait_listening(address)
        yield address
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize(
    "protocol",
    [pytest.param("grpc", marks=pytest.mark.long), pytest.param("http", marks=pytest.mark.soak)],
)
def test_spans_arrive_whole_through_an_outage_and_a_refusal(tmp_path: Path, protocol: str) -> None:
    """rotel drops a request whose connection is reset in the middle, so the collector is killed while none is open,
    and its disk is filled and emptied while it runs."""
    far = FarEnd(tmp_path, settings=f"[limits]\nlow_water_bytes = {64 * MIB}\n")
    endpoint = f"http://{far.grpc}" if protocol == "grpc" else f"http://{far.http}"
    log, sent = far.data / "log", [full_request() for _ in range(4)]
    with small_disk(log, f"size={128 * MIB}"):
        far.start()
        try:
            with rotel(tmp_path, endpoint, protocol) as address:
                send_grpc(address, sent[0])
                far.wait_spans(EACH)
                far.kill()
                send_grpc(address, sent[1])
                far.start()
                far.wait_spans(2 * EACH)
                (log / "filler").write_bytes(bytes(80 * MIB))
                # The log looks at the disk with every commit; this one is its last.
                send_grpc(far.grpc, sent[2])
                send_grpc(address, sent[3])
                far.wait_refused()
                (log / "filler").unlink()
                far.wait_spans(4 * EACH)
            far.stop()
        finally:
            far.kill()
        assert_whole(sent, far.kept())
