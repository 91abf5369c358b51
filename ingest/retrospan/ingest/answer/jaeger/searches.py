"""What a client looks for: the parameters of both APIs read into one `Search`. Pure.

Parameters that Jaeger does not know are ignored, as Jaeger does; values that cannot be read are refused, and so is what
Jaeger knows and Retrospan cannot answer: an answer to another question would be false.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from retrospan.ingest.answer.jaeger.values import LAST, duration, instant, integer, trace_id, within
from retrospan.schemas.errors import BadRequest

T = TypeVar("T")
#: The name and value of each parameter, in the order of the address.
Words = Sequence[tuple[str, str]]
DEFAULT_TRACES = 20
MOST_TRACES = 1500
#: Tags of one search, and ids of one request.
MOST_TAGS = 50
_LOOKBACK_MS = 24 * 3600 * 1000
#: The name that Jaeger gives to what sent spans without `service.name`.
NAMELESS = "OTLPResourceNoServiceName"


@dataclass(frozen=True, slots=True)
class Search:
    """Conditions on one span; its whole trace is found. Times and durations in nanoseconds."""

    service: str | None = None
    operation: str | None = None
    earliest: int = 0
    latest: int = LAST
    shortest: int = 0
    longest: int = LAST
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    limit: int = DEFAULT_TRACES


@dataclass(frozen=True, slots=True)
class Window:
    """Calls that were made in a time, in nanoseconds; of one service, if it is named."""

    earliest: int
    latest: int
    service: str | None


def first(words: Words, *names: str) -> tuple[str, str]:
    """Return the first of these parameters that says something, and its value; '' if none does."""
    for name in names:
        for key, value in words:
            if key == name and value:
                return name, value
    return names[0], ""


def read(words: Words, reader: Callable[[str], T], default: T, *names: str) -> T:
    """Return what the first of these parameters says. Raises BadRequest, with its name."""
    name, text = first(words, *names)
    if not text:
        return default
    try:
        return reader(text)
    except BadRequest as error:
        raise BadRequest(f"unable to parse param '{name}': {error}") from error


def search_of(words: Words) -> Search:
    """Read the parameters of `/api/traces`: times in microseconds."""
    service = first(words, "service")[1]
    if not service:
        raise BadRequest("parameter 'service' is required")
    return _checked(
        Search(
            service=_service(service),
            operation=first(words, "operation")[1] or None,
            earliest=within(read(words, integer, 0, "start") * 1000),
            latest=_latest(words),
            shortest=read(words, duration, 0, "minDuration"),
            longest=read(words, duration, LAST, "maxDuration"),
            tags=_tags(words),
            limit=read(words, integer, DEFAULT_TRACES, "limit"),
        ),
        "limit",
        ("minDuration", "maxDuration"),
    )


def search_of_v3(words: Words) -> Search:
    """Read the parameters of `/api/v3/traces` and `/api/v3/trace-summaries`, in either spelling."""
    if first(words, "query.filter")[1]:
        raise BadRequest("query.filter is not supported here: use query.attributes")
    if any(name.startswith("query.pagination") and value for name, value in words):
        raise BadRequest("query.pagination is not supported here: use query.searchDepth")
    times = ("query.startTimeMin", "query.start_time_min"), ("query.startTimeMax", "query.start_time_max")
    if not all(first(words, *names)[1] for names in times):
        raise BadRequest("query.startTimeMin and query.startTimeMax are required")
    service = first(words, "query.serviceName", "query.service_name")[1]
    attributes = first(words, "query.attributes")[1]
    search = Search(
        service=_service(service) if service else None,
        operation=first(words, "query.operationName", "query.operation_name")[1] or None,
        earliest=read(words, instant, 0, *times[0]),
        latest=read(words, instant, LAST, *times[1]),
        shortest=read(words, duration, 0, "query.durationMin", "query.duration_min"),
        longest=read(words, duration, LAST, "query.durationMax", "query.duration_max"),
        tags=_of_json("query.attributes", attributes) if attributes else {},
        limit=read(
            words, integer, DEFAULT_TRACES, "query.searchDepth", "query.search_depth", "query.num_traces"
        ),
    )
    if search.earliest >= search.latest:
        raise BadRequest("query.startTimeMin must be before query.startTimeMax")
    return _checked(search, "query.searchDepth", ("query.durationMin", "query.durationMax"))


def traces_of(words: Words) -> list[str]:
    """Return the ids of the traces that are asked for by name, each once."""
    found = [value for name, value in words if name == "traceID" and value]
    try:
        ids = list(dict.fromkeys(map(trace_id, found)))
    except BadRequest as error:
        raise BadRequest(f"unable to parse param 'traceID': {error}") from error
    if len(ids) > MOST_TRACES:
        raise BadRequest(f"{len(ids):,} traces are asked for; {MOST_TRACES:,} is the most")
    return ids


def window_of(words: Words) -> Window:
    """Read the parameters of `/api/dependencies`: milliseconds, to now and a day back if they are missing."""
    end = read(words, integer, int(time.time() * 1000), "endTs")
    lookback = read(words, integer, _LOOKBACK_MS, "lookback")
    if lookback < 0:
        raise BadRequest("unable to parse param 'lookback': it is negative")
    service = first(words, "service")[1]
    million = 10**6
    return Window(within((end - lookback) * million), within(end * million), service or None)


def window_of_v3(words: Words) -> Window:
    """Read the parameters of `/api/v3/dependencies`, in either spelling. Both times are needed, as in Jaeger."""
    names = ("startTime", "start_time"), ("endTime", "end_time")
    if not all(first(words, *each)[1] for each in names):
        raise BadRequest("startTime and endTime are required")
    window = Window(read(words, instant, 0, *names[0]), read(words, instant, LAST, *names[1]), None)
    if window.earliest > window.latest:
        raise BadRequest("startTime must be before endTime")
    return window


def _latest(words: Words) -> int:
    if not first(words, "end")[1]:
        return LAST
    # The end is in microseconds: what starts within the last of them is in time.
    return within(read(words, integer, 0, "end") * 1000 + 999)


def _service(name: str) -> str:
    return "" if name == NAMELESS else name


def _tags(words: Words) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for name, value in words:
        if name == "tag":
            key, colon, text = value.partition(":")
            if not colon or not key:
                raise BadRequest(f"malformed 'tag' parameter, expecting key:value, received: {value[:100]}")
            found[key] = text
        elif name == "tags" and value:
            found |= _of_json("tags", value)
    return found


def _of_json(name: str, text: str) -> Mapping[str, str]:
    try:
        told = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"malformed '{name}' parameter, cannot unmarshal JSON: {error}") from error
    if not isinstance(told, dict) or not all(isinstance(value, str) for value in told.values()):
        raise BadRequest(f"malformed '{name}' parameter: it is not a JSON object of strings")
    return {str(key): str(value) for key, value in told.items()}


def _checked(search: Search, limit: str, durations: tuple[str, str]) -> Search:
    if not 1 <= search.limit <= MOST_TRACES:
        raise BadRequest(f"'{limit}' is {search.limit:,}; it may be 1 to {MOST_TRACES:,}")
    if search.longest < search.shortest:
        raise BadRequest(f"'{durations[1]}' should be greater than '{durations[0]}'")
    if len(search.tags) > MOST_TAGS:
        raise BadRequest(f"{len(search.tags):,} tags are asked for; {MOST_TAGS} is the most")
    return search
