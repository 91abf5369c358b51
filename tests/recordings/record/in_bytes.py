"""What a recording's bytes hold, to ask only for facts that a reader could know from them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from fix_recordings import Recording
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from recordings.record.said import Answer, opened

#: What an attribute is called that tells of a model; of an answer.
_OF_MODELS = re.compile(
    r"(?i)model|llm|prompt|completion|token|gen_ai\.(request|response|usage|input|output)"
)
_OF_ANSWERS = re.compile(r"(?i)respon|output|completion|version")
#: Clocks of two processes: so many nanoseconds apart at most.
_APART = 2_000_000
#: What an attribute is called that tells what somebody said or returned: only there is an empty list one of these.
_OF_VALUES = re.compile(
    r"(?i)result|output|response|return|content|message|value|prompt|completion|input|body|data|argument|parameter|entity"
)
#: What may stand between a field's name and its value.
_BETWEEN = r"[^\w-]*(?:(?:string|number|int|double|bool)?_?[vV]alue[^\w-]*){0,2}"
#: What an attribute or field is called that tells which tools there are.
_OF_OFFERS = re.compile(r"(?i)(?:^|[._])(?:tools|functions|handoffs|definitions)$")
#: What only the definition of a tool has.
_DEFINES = re.compile(r"(?i)^(?:description|parameters.*|.*schema)$")
_COUNTS = re.compile(r"(?i)token|usage|input|output|prompt|completion")


def _plain(text: str) -> str:
    """A text as it is under any depth of JSON, Python or \\u escapes: no quotes, backslashes and white space."""
    text = re.sub(r"\\+u([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), text)
    text = re.sub(r"\\+x([0-9a-fA-F]{2})", lambda found: chr(int(found[1], 16)), text)
    text = re.sub(r"\\+[nrt]|[\\\"'\s]", "", text)
    return text.replace("None", "null").replace("True", "true").replace("False", "false").replace("=", ":")


class Bytes:
    """The values of a recording's spans, events and log records. In doubt a value is there."""

    def __init__(self, recording: Recording) -> None:
        said = list(_said(recording))
        self._text = _plain("\n".join(f"{key}:{value}" for key, value in said))
        self._pairs = said
        numbers = [value for key, value in said if _COUNTS.search(key) and value.isdigit()]
        numbers += re.findall(r"(?i)(?:token|prompt|completion)[\w.]*:(\d+)", self._text)
        self._counts = set(map(int, numbers))
        self._texts = re.sub(r"[\\\s]", "", "\n".join(value for _, value in said))
        spans = list(_spans(recording))
        own = {(span.trace_id, span.span_id) for span in spans}
        self.lacks_parents = any(
            span.parent_span_id and (span.trace_id, span.parent_span_id) not in own for span in spans
        )
        """Whether spans name parents that were never sent."""
        self._around = [
            (span.start_time_unix_nano - _APART, span.end_time_unix_nano + _APART)
            for span in spans
            if any(_OF_MODELS.search(pair.key) for pair in span.attributes)
        ]
        self.has_failed = any(key == "status" and value == "2" for key, value in said)

    def hold(self, value: Any) -> bool:
        """Whether the text or object is there, however it is escaped, printed or ordered."""
        value = opened(value)
        if value in ("", None):
            return True
        if value in ([], {}):
            empty = json.dumps(value)
            # A prompt of no messages says of no tool what it returned.
            return any(
                _OF_VALUES.search(key) and empty in _plain(said) and not (said == empty and "prompt" in key)
                for key, said in self._pairs
            )
        if isinstance(value, str):
            return all(_plain(line) in self._text for line in value.split("\n"))
        if isinstance(value, dict):
            return all(self._hold_under(key, inner) for key, inner in value.items())
        if isinstance(value, list):
            return all(self.hold(inner) for inner in value)
        return _plain(json.dumps(value)) in self._text

    def _hold_under(self, key: str, value: Any) -> bool:
        """Whether a field is there: a text or a number after its name, with nothing but marks and words for *value* between.

        So do JSON, Python, XML, lists of pairs, and protobuf's structures, as JSON and as text.
        """
        name = _plain(key)
        if isinstance(value, (dict, list)) or value in ("", None) or "\n" in str(value):
            return self.hold(value) and name in self._text
        said = _plain(value if isinstance(value, str) else json.dumps(value))
        return bool(re.search(re.escape(name) + _BETWEEN + re.escape(said), self._text))

    def name_called(self, tool: str) -> bool:
        """Whether a tool is named outside the definitions and lists of those that are offered."""
        return any(_named(key, said, tool) for key, said in self._pairs)

    def hold_text(self, text: str) -> bool:
        """Whether what a model wrote is there: an object that it wrote as text has to be there as that text."""
        return self.hold(text) and (text[:1] not in ("{", "[") or re.sub(r"[\\\s]", "", text) in self._texts)

    def name_answerer(self, name: str) -> bool:
        """Whether the model that answered is named, in a place for answers."""
        return any(name in value and _OF_ANSWERS.search(key) for key, value in self._pairs)

    def name_model(self, name: str, longer: str) -> bool:
        """Whether a model is named, not only as the beginning of a longer name."""
        rest = _plain(longer)[len(_plain(name)) :] if longer.startswith(name) and longer != name else ""
        return bool(
            re.search(re.escape(_plain(name)) + (f"(?!{re.escape(rest)})" if rest else ""), self._text)
        )

    def tell_call(self, answers: Sequence[Answer | None], times: Sequence[int], place: int) -> bool:
        """Whether a model call left anything: its text, or an id of what it asked for; a span of its own, if it failed."""
        answer = answers[place]
        if answer is None:
            around = [span for span in self._around if span[0] <= times[place] <= span[1]]
            return any(sum(begin <= time <= end for time in times) == 1 for begin, end in around)
        text, calls = answer
        ids = [call_id for call_id, _, _ in calls if call_id]
        return self.hold_text(text) if text else any(map(self.hold, ids))

    def count(self, numbers: Iterable[int]) -> bool:
        """Whether the sum of token counts is there, or each of them."""
        listed = list(numbers)
        return sum(listed) in self._counts or self._counts.issuperset(listed)

    def name_agent(self, name: str) -> bool:
        """Whether something for the name of an agent holds it."""
        return any(
            re.search(r"(?i)agent.*(name|role)|functionid$|graph\.node\.id", key) and name in value.lower()
            for key, value in self._pairs
        )


def _named(key: str, value: Any, tool: str) -> bool:
    """Whether a value names a tool where it is not offered."""
    value = opened(value)
    if isinstance(value, dict):
        if "name" in value and any(map(_DEFINES.match, value)):
            return False
        return any(_named(inner_key, inner, tool) for inner_key, inner in value.items())
    if isinstance(value, list):
        return any(_named(key, inner, tool) for inner in value)
    return not _OF_OFFERS.search(key) and tool in str(value)


def _said(recording: Recording) -> Iterator[tuple[str, str]]:
    for span in _spans(recording):
        yield "name", span.name
        yield "status", str(span.status.code)
        yield "status.message", span.status.message
        yield from _pairs(span.attributes)
        for event in span.events:
            yield "event", event.name
            yield from _pairs(event.attributes)
    for body in recording.logs:
        for group in ExportLogsServiceRequest.FromString(body).resource_logs:
            for scope_logs in group.scope_logs:
                for record in scope_logs.log_records:
                    yield "body", _printed(record.body)
                    yield from _pairs(record.attributes)


def _spans(recording: Recording) -> Iterator[Span]:
    for body in recording.traces:
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            for scope in resource.scope_spans:
                yield from scope.spans


def _pairs(attributes: Iterable[KeyValue]) -> Iterator[tuple[str, str]]:
    return ((pair.key, _printed(pair.value)) for pair in attributes)


def _printed(value: AnyValue) -> str:
    held = _value(value)
    return held if isinstance(held, str) else json.dumps(held, ensure_ascii=False)


def _value(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(item) for item in value.array_value.values]
    if kind == "kvlist_value":
        return {pair.key: _value(pair.value) for pair in value.kvlist_value.values}
    if kind == "bytes_value":
        return value.bytes_value.decode("utf-8", "replace")
    return None if kind is None else getattr(value, kind)
