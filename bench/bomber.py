"""Sends bombs: `python -m bench.bomber grpc|http HOST:PORT SHAPE MIB AT_ONCE SECONDS`.

A process of its own. It makes one body, prints `ready`, waits for a line on standard input, then sends it over that
many connections at once, again and again, and prints one JSON object: how often each answer came.
"""

from __future__ import annotations

import http.client
import json
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable

import grpc

from bench.bomb_shapes import BOMBS, LARGE, Bomb

_SERVICES = {"traces": "trace.v1.TraceService", "logs": "logs.v1.LogsService"}
_TIMEOUT_SECONDS = 60.0


def main(protocol: str, address: str, shape: str, mib: str, at_once: str, seconds: str) -> None:
    """Send one shape for a time."""
    bomb = {**BOMBS, **LARGE}[shape]
    body = bomb.make(int(mib) << 20)
    print("ready", flush=True)
    sys.stdin.readline()
    answers: Counter[str] = Counter()
    until = time.monotonic() + float(seconds)
    connect = _grpc if protocol == "grpc" else _http

    def work() -> None:
        send = connect(address, bomb)
        while time.monotonic() < until:
            answers[send(body)] += 1

    threads = [threading.Thread(target=work) for _ in range(int(at_once))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps(answers))


def _grpc(address: str, bomb: Bomb) -> Callable[[bytes], str]:
    options = [("grpc.use_local_subchannel_pool", 1), ("grpc.max_send_message_length", -1)]
    channel = grpc.insecure_channel(address, options=options)
    export = channel.unary_unary(f"/opentelemetry.proto.collector.{_SERVICES[bomb.signal]}/Export")

    def send(body: bytes) -> str:
        try:
            answer = export(body, timeout=_TIMEOUT_SECONDS)
        except grpc.RpcError as error:
            return str(error.code().name)
        return "partial success" if answer else "OK"

    return send


def _http(address: str, bomb: Bomb) -> Callable[[bytes], str]:
    headers = {"Content-Type": bomb.content_type, "Content-Encoding": bomb.encoding or "identity"}

    def send(body: bytes) -> str:
        connection = http.client.HTTPConnection(address, timeout=_TIMEOUT_SECONDS)
        try:
            connection.request("POST", f"/v1/{bomb.signal}", body, headers)
            response = connection.getresponse()
            answer = response.read()
        except OSError as error:
            return type(error).__name__
        finally:
            connection.close()
        return "partial success" if response.status == 200 and b"ejected" in answer else str(response.status)

    return send


if __name__ == "__main__":
    main(*sys.argv[1:])
