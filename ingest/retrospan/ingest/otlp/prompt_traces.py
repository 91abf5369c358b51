"""Log records of no trace that tell what an agent did with a prompt: each is given the trace of its prompt.

Command-line agents send log records and no spans: one for each prompt, model call and tool call, with the id of the session
and often of the prompt. Everything behind the door goes by trace: reading, holds, deletion. So the trace is made of these ids
before the record is durable. It is the same for all records of one prompt, however and by whichever collector they come, and
the record says itself what it was made of (`retrospan.trace.made_of`). All other records keep their bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from retrospan.ingest.otlp import lenient
from retrospan.schemas import attributes as conventions
from retrospan.schemas import semconv
from retrospan.schemas.prompt_records import PROMPTS, SESSIONS, is_of_agent
from retrospan.schemas.wire import delimited, fields

#: A longer text is the id of nothing.
LONGEST_ID = 256
#: The numbers of fields: of a log record; of an attribute; of its value.
_ATTRIBUTES, _TRACE_ID, _SPAN_ID = 6, 9, 10
_KEY, _VALUE, _STRING = 1, 2, 1
#: What is sent by the conventions of OpenTelemetry beside spans, is about a span.
_OF_SPANS = b"gen_ai."
_MAY_NAME = tuple(name.encode() for name in SESSIONS)


def with_traces(body: bytes) -> bytes:
    """Return an ExportLogsServiceRequest that has been read before, with the traces of its records of prompts."""
    if not any(name in body for name in _MAY_NAME):
        return body
    request = lenient.LogsEnvelope.FromString(body)
    given = False
    for group in request.resource_logs:
        for scope in group.scope_logs:
            for place, data in enumerate(scope.log_records):
                record = lenient.LogRecord.FromString(data)
                if lacking := _lacking(record):
                    # Ids of zeros are none.
                    own = _without_ids(data) if record.trace_id or record.span_id else data
                    scope.log_records[place] = own + lacking
                    given = True
    return bytes(request.SerializeToString()) if given else body


def trace_of_prompt(session: bytes, prompt: bytes) -> bytes:
    """Return the id of the trace of a prompt in a session; where records do not tell prompts apart (b""), of the session."""
    return hashlib.sha256(b"\0".join((b"retrospan", session, prompt))).digest()[:16]


def _lacking(record: Any) -> bytes:
    """Return the fields to be added to a record: its trace, and what that is made of; b"" where it needs none."""
    if any(record.trace_id) or any(record.span_id):
        return b""
    said = {pair.key: pair.value.string_value for pair in record.attributes}
    session, prompt = _first(said, SESSIONS), _first(said, PROMPTS)
    names = (record.event_name, said.get(semconv.EVENT_NAME.encode(), b""), record.body.string_value)
    if not session or any(name.startswith(_OF_SPANS) for name in names):
        return b""
    if not prompt and not is_of_agent(*(name.decode(errors="replace") for name in names)):
        return b""
    made_of = ", ".join(name for name in (session, prompt) if name)
    trace_id = trace_of_prompt(said[session.encode()], said[prompt.encode()] if prompt else b"")
    return delimited(_TRACE_ID, trace_id) + delimited(_ATTRIBUTES, _text(conventions.TRACE_MADE_OF, made_of))


def _without_ids(data: bytes) -> bytes:
    kept = (each for each in fields(data) if each[0] not in (_TRACE_ID, _SPAN_ID))
    return b"".join(data[begin:end] for _, _, begin, _, end in kept)


def _first(said: Mapping[bytes, bytes], names: Iterable[str]) -> str:
    """Return the first of these attributes that holds an id; '' where none does."""
    return next((name for name in names if 0 < len(said.get(name.encode(), b"")) <= LONGEST_ID), "")


def _text(key: str, value: str) -> bytes:
    """Return an attribute that holds a text."""
    return delimited(_KEY, key.encode()) + delimited(_VALUE, delimited(_STRING, value.encode()))
