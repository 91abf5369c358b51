"""Senders that send as fast as they are answered, which is more than the tables take, and count what they were told."""

from __future__ import annotations

import itertools
import threading
from dataclasses import dataclass, field

import grpc
import otlp_requests as make

SPANS = 100
_EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"


@dataclass
class Flood:
    """`senders` threads, each with a connection. Ends by itself after `requests` requests."""

    address: str
    senders: int
    requests: int
    text: str = "a prompt of some words " * 60
    acknowledged: int = 0
    """Spans."""
    refused: int = 0
    """Requests, by the codes that mean: come back."""
    _numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))
    _counting: threading.Lock = field(default_factory=threading.Lock)

    def run(self) -> None:
        """Send it all, and return when all is answered."""
        threads = [threading.Thread(target=self._send) for _ in range(self.senders)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _send(self) -> None:
        options = [("grpc.use_local_subchannel_pool", 1), ("grpc.max_send_message_length", -1)]
        with grpc.insecure_channel(self.address, options=options) as channel:
            export = channel.unary_unary(_EXPORT)
            while (number := next(self._numbers)) <= self.requests:
                body = self._body(number)
                try:
                    export(body, timeout=60)
                except grpc.RpcError as error:
                    assert error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED)
                    with self._counting:
                        self.refused += 1
                else:
                    with self._counting:
                        self.acknowledged += SPANS

    def _body(self, number: int) -> bytes:
        spans = [
            make.span("chat", trace_id=number.to_bytes(16, "big"), span_id=place.to_bytes(8, "big"))
            for place in range(1, SPANS + 1)
        ]
        for place, span in enumerate(spans):
            span.parent_span_id = b"" if not place else spans[0].span_id
            span.attributes.add(key="gen_ai.prompt").value.string_value = f"{number} {place} {self.text}"
        return make.traces(*spans).SerializeToString()
