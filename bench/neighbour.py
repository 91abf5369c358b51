"""Sends small requests beside an attack: `python -m bench.neighbour HOST:PORT CONNECTIONS SECONDS`.

A process of its own. It prints `ready`, waits for a line on standard input, sends a request of a hundred spans every
50 ms over each connection, again where it is told to come back, and prints one JSON object: the seconds from each
request to its acknowledgement.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time

import grpc

from bench.bomb_shapes import request
from bench.client import METHOD
from retrospan.schemas.wire import delimited

_SPANS = 100
_EVERY_SECONDS = 0.05
_GIVE_UP_SECONDS = 30.0


def main(address: str, connections: str, seconds: str) -> None:
    """Send for a time."""
    print("ready", flush=True)
    sys.stdin.readline()
    until = time.monotonic() + float(seconds)
    latencies: list[float] = []
    again: list[str] = []

    def work() -> None:
        options = [("grpc.use_local_subchannel_pool", 1), ("grpc.enable_retries", 0)]
        export = grpc.insecure_channel(address, options=options).unary_unary(METHOD)
        while time.monotonic() < until:
            body, began = _request(), time.monotonic()
            while True:
                try:
                    export(body, timeout=_GIVE_UP_SECONDS)
                    break
                except grpc.RpcError as error:
                    again.append(error.code().name)
                    if time.monotonic() > began + _GIVE_UP_SECONDS:
                        break
            latencies.append(time.monotonic() - began)
            time.sleep(_EVERY_SECONDS)

    threads = [threading.Thread(target=work) for _ in range(int(connections))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps({"latencies": latencies, "again": len(again)}))


def _request() -> bytes:
    trace = os.urandom(16)
    rest = delimited(5, b"x" * 1000)
    return request(*[delimited(1, trace) + delimited(2, os.urandom(8)) + rest for _ in range(_SPANS)])


if __name__ == "__main__":
    main(*sys.argv[1:])
