"""Sends a load again and again at a rate: `python -m bench.stream HOST:PORT FILE SPANS_PER_SECOND SECONDS`.

Each time round every trace gets an id of its own, so that nothing is a repetition. A refusal that asks for another try
gets one, as from an exporter. Prints what became of it, in lines for a person.
"""

from __future__ import annotations

import statistics
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from bench.client import METHOD
from bench.load import read_load

CONNECTIONS = 4
_RETRY_SECONDS = 0.5
_TIMEOUT_SECONDS = 60.0
_ID_FIELD = b"\x0a\x10"  # field 1 of a span, 16 bytes


@dataclass(slots=True)
class Template:
    """A request and where its trace ids stand."""

    spans: int
    body: bytearray
    places: list[int]

    def numbered(self, number: int) -> bytes:
        """The request with other trace ids."""
        tag = number.to_bytes(4, "big")
        for place in self.places:
            self.body[place : place + 4] = tag
        return bytes(self.body)


@dataclass(slots=True)
class Sent:
    spans: int = 0
    refused: int = 0
    late_seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)


def main(address: str, path: str, rate: str, seconds: str) -> None:
    """Send until the time is over."""
    templates = [_template(request.body) for request in read_load(Path(path))]
    shares = [templates[number::CONNECTIONS] for number in range(CONNECTIONS)]
    print("ready", flush=True)
    sys.stdin.readline()
    began = time.monotonic()
    results = [Sent() for _ in shares]
    threads = [
        threading.Thread(
            target=_work, args=(address, share, float(rate) / CONNECTIONS, began, float(seconds), sent)
        )
        for share, sent in zip(shares, results, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.monotonic() - began
    latencies = [one for sent in results for one in sent.latencies]
    print(f"Offered: {float(rate):,.0f} spans a second")
    print(f"Acknowledged: {sum(sent.spans for sent in results) / took:,.0f} spans a second")
    print(f"Requests that were told to try again: {sum(sent.refused for sent in results):,}")
    print(f"p99 from request to acknowledgement: {statistics.quantiles(latencies, n=100)[98] * 1e3:.1f} ms")


def _template(body: bytes) -> Template:
    request = ExportTraceServiceRequest.FromString(body)
    spans = [span for part in request.resource_spans for scope in part.scope_spans for span in scope.spans]
    places = []
    for trace_id in {span.trace_id for span in spans}:
        at = body.find(_ID_FIELD + trace_id)
        while at >= 0:
            places.append(at + len(_ID_FIELD))
            at = body.find(_ID_FIELD + trace_id, at + 1)
    return Template(len(spans), bytearray(body), places)


def _work(address: str, share: list[Template], rate: float, began: float, seconds: float, sent: Sent) -> None:
    options = [("grpc.use_local_subchannel_pool", 1), ("grpc.enable_retries", 0)]
    with grpc.insecure_channel(address, options=options) as channel:
        export = channel.unary_unary(METHOD)
        due, number = began, 0
        while time.monotonic() - began < seconds:
            number += 1
            for template in share:
                if (wait := due - time.monotonic()) > 0:
                    time.sleep(wait)
                # Who falls behind goes on from there: what could not be sent is not sent twice as fast later.
                due = max(due, time.monotonic() - 1.0) + template.spans / rate
                if not _export(export, template.numbered(number), began + seconds, sent):
                    return
                sent.spans += template.spans


def _export(export: grpc.UnaryUnaryMultiCallable, body: bytes, deadline: float, sent: Sent) -> bool:
    """Send until it is acknowledged; False when the time is over first."""
    while time.monotonic() < deadline:
        began = time.monotonic()
        try:
            export(body, timeout=_TIMEOUT_SECONDS)
        except grpc.RpcError as error:
            code = error.code()
            if code not in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED):
                raise
            sent.refused += 1
            time.sleep(_RETRY_SECONDS)
        else:
            sent.latencies.append(time.monotonic() - began)
            return True
    return False


if __name__ == "__main__":
    main(*sys.argv[1:])
