"""Sends a load as fast as it is acknowledged: `python -m bench.client grpc|http|gzip HOST:PORT[/PATH] FILE CONNECTIONS`.

A process of its own, so that it shares no interpreter lock with what it measures. It reads the requests, opens its
connections, prints `ready`, waits for a line on standard input, sends, and prints one JSON object. Times are those of
CLOCK_MONOTONIC, which all processes of a machine share. Anything but an acknowledgement of everything ends it.
"""

from __future__ import annotations

import gzip
import http.client
import json
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from types import MappingProxyType

import grpc

from bench.load import Request, read_load

METHOD = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
_TIMEOUT_SECONDS = 60.0
#: An empty answer, or one that says with a part of its own that nothing was rejected.
_ALL_ACCEPTED = (b"", b"\n\x00")
Send = Callable[[bytes], bytes]


def main(protocol: str, address: str, path: str, connections: str) -> None:
    """Send the file's requests over that many connections, one request at a time on each."""
    requests = read_load(Path(path))
    if protocol == "gzip":
        requests = [Request(request.spans, gzip.compress(request.body, 1)) for request in requests]
    connect = {"grpc": _grpc, "http": _http, "gzip": _gzip}[protocol]
    senders = [connect(address) for _ in range(int(connections))]
    print("ready", flush=True)
    sys.stdin.readline()
    latencies, began, ended = _send_all(requests, senders)
    spans = sum(request.spans for request in requests)
    print(json.dumps({"began": began, "ended": ended, "spans": spans, "latencies": latencies}))


def _send_all(requests: list[Request], senders: list[Send]) -> tuple[list[float], float, float]:
    """Return every request's seconds to its acknowledgement, the time of the first send, and of the last answer."""
    left = iter(requests)
    taking = threading.Lock()
    results: list[list[float]] = [[] for _ in senders]
    failures: list[Exception] = []

    def take() -> Iterator[Request]:
        while not failures:
            with taking:
                request = next(left, None)
            if request is None:
                return
            yield request

    def work(send: Send, latencies: list[float]) -> None:
        try:
            for request in take():
                sent = time.monotonic()
                answer = send(request.body)
                latencies.append(time.monotonic() - sent)
                if answer not in _ALL_ACCEPTED:
                    raise RuntimeError(f"not everything was accepted: {answer[:200]!r}")
        except Exception as cause:  # noqa: BLE001 (the main thread raises it)
            failures.append(cause)

    threads = [threading.Thread(target=work, args=pair) for pair in zip(senders, results, strict=True)]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ended = time.monotonic()
    if failures:
        raise failures[0]
    return list(chain.from_iterable(results)), began, ended


def _grpc(address: str) -> Send:
    # Without a pool of its own every channel to one address would share one connection.
    options = [("grpc.use_local_subchannel_pool", 1), ("grpc.enable_retries", 0)]
    channel = grpc.insecure_channel(address, options=options)
    grpc.channel_ready_future(channel).result(timeout=_TIMEOUT_SECONDS)
    export = channel.unary_unary(METHOD)

    def send(body: bytes) -> bytes:
        answer: bytes = export(body, timeout=_TIMEOUT_SECONDS)
        return answer

    return send


def _gzip(address: str) -> Send:
    return _http(address, {"Content-Encoding": "gzip"})


def _http(address: str, headers: Mapping[str, str] = MappingProxyType({})) -> Send:
    host, _, path = address.partition("/")
    connection = http.client.HTTPConnection(host, timeout=_TIMEOUT_SECONDS)
    connection.connect()

    def send(body: bytes) -> bytes:
        connection.request(
            "POST", f"/{path or 'v1/traces'}", body, {"Content-Type": "application/x-protobuf", **headers}
        )
        response = connection.getresponse()
        answer = response.read()
        return answer if response.status == 200 else f"HTTP {response.status} ".encode() + answer

    return send


if __name__ == "__main__":
    main(*sys.argv[1:])
