"""The runs that a warehouse of any size is made of: sent and interpreted once, then cloned in SQL.

Every identity in them holds `MARK`, which a clone replaces by a text of its own: traces, runs, conversations, orders,
calls. What is meant to recur does not hold it: agents, tools, models, customers, versions.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from bench.agents import TOOLS, Agents, Style, set_attribute
from retrospan.ingest.demo.recordings import RecordedRequest, load_requests, move_times, run_ids
from retrospan.schemas.attributes import (
    CHANGES,
    ENTITY_ID,
    ENTITY_TYPE,
    OBSERVATION,
    OBSERVATION_ID,
    STATE_AFTER,
    STATE_BEFORE,
)

#: Eight hex digits, so that it fits into an id. They follow the first two digits of a trace id, which stay random:
#: clones made for different days then lie mixed in the order of the tables, as traces of real agents do.
MARK = "ba5e0ca7"
_MARK_BYTES = bytes.fromhex(MARK)
SERVICES = ("shop", "desk", "billing", "research")
VERSIONS = ("2.3.0", "2.3.1", "2.4.0")
CUSTOMERS = 500
#: What is searched for: a word of every tenth run's question, and one of every 400th. Each question names its order.
COMMON_WORD, RARE_WORD = "warranty", "zq7-vermilion"
_SEED = 16
_STYLE = Style((2, 16), 210.0)
_SPANS_PER_REQUEST = 200
_HOUR = 3_600 * 10**9
#: Made-up runs began within the last so many hours: a clone is moved by whole days.
_WITHIN_HOURS = 23
#: A run of so many is longer by this factor.
_LONG_EVERY, _LONG = 60, 6
#: A run of so many asks the same tool for the same thing again and again.
_LOOPING_EVERY = 25
_CALL = re.compile(r"call_([0-9a-f]{18})")
_TOOL = re.compile("|".join(TOOLS))
_ARGUMENTS = re.compile(r'\{"query": "[^"]*", "limit": [0-9]+, "page": [0-9]+\}')
#: One copy of the demo's recordings for so many spans.
_DEMO_EVERY = 4_000


@dataclass(frozen=True, slots=True)
class Sent:
    """One export request."""

    signal: str
    body: bytes
    spans: int


def requests(spans: int, now_ns: int) -> Iterator[Sent]:
    """Yield requests of whole runs, at least so many spans in all, none of which ended after `now_ns`."""
    made = 0
    for number in range(max(1, spans // _DEMO_EVERY)):
        for sent in _recorded(number, now_ns):
            made += sent.spans
            yield sent
    dice = random.Random(_SEED)
    agents = Agents(_SEED, _STYLE)
    longer = Agents(_SEED + 1, Style((_STYLE.steps[0] * _LONG, _STYLE.steps[1] * _LONG), 60.0))
    pending: dict[tuple[str, str], list[Span]] = {}
    number = 0
    while made < spans:
        run = (longer if number % _LONG_EVERY == _LONG_EVERY - 1 else agents).run()
        _make_its_own(run, number, dice, now_ns)
        made += len(run)
        source = (SERVICES[number % len(SERVICES)], VERSIONS[number % 7 % len(VERSIONS)])
        waiting = pending.setdefault(source, [])
        waiting += run
        if len(waiting) >= _SPANS_PER_REQUEST:
            yield _request(source, pending.pop(source))
        number += 1
    for source, waiting in pending.items():
        yield _request(source, waiting)


def _request(source: tuple[str, str], spans: list[Span]) -> Sent:
    message = ExportTraceServiceRequest()
    resource = message.resource_spans.add()
    for key, value in (
        ("service.name", source[0]),
        ("service.version", source[1]),
        ("service.instance.id", f"{source[0]}-0"),
        ("telemetry.sdk.name", "opentelemetry"),
    ):
        resource.resource.attributes.add(key=key).value.string_value = value
    scope = resource.scope_spans.add()
    scope.scope.name, scope.scope.version = "bench.agents", "1.0"
    scope.spans.extend(spans)
    return Sent("traces", message.SerializeToString(), len(spans))


def _make_its_own(run: list[Span], number: int, dice: random.Random, now_ns: int) -> None:
    """Give a made-up run what is asked for later: marked ids, a customer, an order, states, a time."""
    root = run[-1]
    trace_id = bytes([dice.randrange(256)]) + _MARK_BYTES + dice.randbytes(11)
    customer = f"customer-{dice.randrange(CUSTOMERS):04d}"
    order = f"O-{MARK}-{number}"
    ended = now_ns - _HOUR - dice.randrange(_WITHIN_HOURS * _HOUR)
    shift = ended - root.end_time_unix_nano
    word = RARE_WORD if number % 400 == 399 else COMMON_WORD if number % 10 == 0 else ""
    steps = [span for span in run if span.name.startswith("step ")]
    for place, span in enumerate(run):
        span.trace_id = trace_id
        span.start_time_unix_nano += shift
        span.end_time_unix_nano += shift
        for event in span.events:
            event.time_unix_nano += shift
        set_attribute(span, "customer.id", customer)
        set_attribute(span, "app.request.id", f"req-{MARK}-{number}-{place}")
        set_attribute(span, "app.plan", ("free", "team", "enterprise")[number % 3])
        for attribute in span.attributes:
            _mark(attribute.key, attribute.value, number, f"{order} {word}")
    for place, span in enumerate(steps):
        before = {
            "order": order,
            "customer": customer,
            "step": place,
            "open": [f"{order}/{n}" for n in range(place)],
        }
        after = {**before, "step": place + 1, "open": [f"{order}/{n}" for n in range(place + 1)]}
        set_attribute(span, STATE_BEFORE, json.dumps(before))
        set_attribute(span, STATE_AFTER, json.dumps(after))
    for place, (kind, thing, field, value) in enumerate(
        (
            ("order", order, "status", "open"),
            ("order", order, "status", ("shipped", "held")[number % 2]),
            ("customer", customer, "last_order", order),
            *([("config", "prices", "version", str(number))] if number % 100 == 0 else []),
        )
    ):
        event = root.events.add(name=OBSERVATION, time_unix_nano=root.end_time_unix_nano - 10**6)
        for key, text in (
            (OBSERVATION_ID, f"{MARK}-{number}-{place}"),
            (ENTITY_TYPE, kind),
            (ENTITY_ID, thing),
            (CHANGES, json.dumps({field: value})),
        ):
            event.attributes.add(key=key).value.string_value = text


def _mark(key: str, value: object, number: int, word: str) -> None:
    """Put the mark into the ids that a made-up run has, and the word into what was asked."""
    text: str = getattr(value, "string_value", "")
    if key == "gen_ai.conversation.id":
        text = f"conversation-{MARK}-{number // 3}"
    elif text:
        text = _CALL.sub(rf"call_{MARK}\1", text)
        if number % _LOOPING_EVERY == 0:
            text = _ARGUMENTS.sub('{"query": "zeta-9"}', _TOOL.sub("search_docs", text))
        if key == "gen_ai.input.messages":
            text = text.replace('"content": "', f'"content": "{word} ', 1)
    else:
        return
    setattr(value, "string_value", text)  # noqa: B010 (the generated class is typed as an object here)


def _recorded(number: int, now_ns: int) -> Iterator[Sent]:
    """The demo's recordings once more, as traces of their own."""
    recorded = load_requests()
    move_times(recorded, now_ns - _HOUR * (number + 1), 47 * 10**9)
    ids = [bytes.fromhex(trace) for traces in run_ids(recorded).values() for trace in traces]
    for request in recorded:
        yield _renamed(request, number, ids)


def _renamed(request: RecordedRequest, number: int, ids: list[bytes]) -> Sent:
    body = request.message.SerializeToString()
    for trace_id in ids:
        # An id of the same length in the same place: the bytes stay a request.
        own = trace_id[:1] + _MARK_BYTES + number.to_bytes(2, "big") + trace_id[7:]
        body = body.replace(trace_id, own).replace(trace_id.hex().encode(), own.hex().encode())
    spans = 0
    if request.signal == "traces":
        message = ExportTraceServiceRequest.FromString(body)
        for resource in message.resource_spans:
            for scope in resource.scope_spans:
                spans += len(scope.spans)
                for span in scope.spans:
                    for attribute in span.attributes:
                        if attribute.key in ("gen_ai.conversation.id", "session.id", "thread_id"):
                            attribute.value.string_value += f"-{MARK}-{number}"
        body = message.SerializeToString()
    return Sent(request.signal, body, spans)
