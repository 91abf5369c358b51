"""From a path and its parameters to an answer: every route that Jaeger's UI and Grafana's Jaeger data source call.

What is wrong with the question is said before anything is looked up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from retrospan.ingest.answer.jaeger import classic, otlp
from retrospan.ingest.answer.jaeger.lookups import Lookups
from retrospan.ingest.answer.jaeger.searches import (
    NAMELESS,
    Search,
    Window,
    Words,
    first,
    read,
    search_of,
    search_of_v3,
    traces_of,
    window_of,
    window_of_v3,
)
from retrospan.ingest.answer.jaeger.tags import KINDS, conditions, kinds_of
from retrospan.ingest.answer.jaeger.values import instant, integer, trace_id, truth
from retrospan.schemas.errors import BadRequest, NotFound

#: Looks up an answer and yields it, in a thread. Raises what `Lookups` does, and NotFound.
Answer = Callable[[Lookups], Iterator[bytes]]
_KIND_NAMES = {number: name for name, number in KINDS.items()}
#: What Jaeger's UI may ask for and a warehouse of spans has no answer to.
_ABSENT = {
    "/api/metrics/": "metrics querying is currently disabled",
    "/api/archive/": "there is no archive storage: runs are kept by `retrospan hold`",
    "/api/transform": "files cannot be uploaded here: send them to the OTLP port",
    "/api/deep-dependencies": "there are no deep dependencies",
    "/api/quality-metrics": "there are no quality metrics",
    "/api/v3/spans": "spans are not searched for: use /api/v3/traces",
}
V3 = "/api/v3/"


class NotImplementedHere(NotFound):
    """Jaeger has such a page, Retrospan has not."""


def answer_to(path: str, words: Words) -> Answer:
    """Return what answers this question. Raises BadRequest and NotFound."""
    if path in _PAGES:
        return _PAGES[path](words)
    if path.startswith("/api/traces/"):
        return _trace(path.removeprefix("/api/traces/"), words)
    if path.startswith("/api/v3/traces/"):
        return _trace_v3(path.removeprefix("/api/v3/traces/"), words)
    if path.startswith("/api/services/") and path.endswith("/operations"):
        return _operations_of(path.removeprefix("/api/services/").removesuffix("/operations"))
    for absent, why in _ABSENT.items():
        if path.startswith(absent):
            raise NotImplementedHere(why)
    raise NotFound(f"no page {path[:100]}. Known: {', '.join(_PAGES)}, /api/traces/ID, /api/v3/traces/ID")


def _services(words: Words) -> Answer:
    def look(lookups: Lookups) -> Iterator[bytes]:
        names = [name or NAMELESS for name in lookups.services()]
        yield classic.answer(names, total=len(names))

    return look


def _services_v3(words: Words) -> Answer:
    def look(lookups: Lookups) -> Iterator[bytes]:
        yield classic.written({"services": [name or NAMELESS for name in lookups.services()]})

    return look


def _operations_of(service: str) -> Answer:
    def look(lookups: Lookups) -> Iterator[bytes]:
        names = list(dict.fromkeys(name for name, _ in lookups.operations(_sent(service))))
        yield classic.answer(names, total=len(names))

    return look


def _operations(words: Words) -> Answer:
    service = _required(words, "service")
    kinds = read(words, kinds_of, list[int](), "spanKind")

    def look(lookups: Lookups) -> Iterator[bytes]:
        found = lookups.operations(service, kinds)
        yield classic.answer([_operation(*each) for each in found], total=len(found))

    return look


def _operations_v3(words: Words) -> Answer:
    service = _required(words, "service")
    kinds = read(words, kinds_of, list[int](), "spanKind", "span_kind")

    def look(lookups: Lookups) -> Iterator[bytes]:
        found = lookups.operations(service, kinds)
        yield classic.written({"operations": [_operation(*each) for each in found]})

    return look


def _find(words: Words) -> Answer:
    ids = traces_of(words)
    search = None if ids else _readable(search_of(words))

    def look(lookups: Lookups) -> Iterator[bytes]:
        asked = ids if search is None else lookups.find(search)
        keys = lookups.keys(asked) if asked else []
        found = {trace.trace_id for trace in keys}
        missing = [each for each in ids if each not in found]
        yield from classic.traces(lookups.spans(keys), missing)

    return look


def _trace(name: str, words: Words) -> Answer:
    wanted = _id(name)
    for parameter in ("start", "end"):
        # A hint for stores that are divided by time. A trace is found without.
        read(words, integer, 0, parameter)
    read(words, truth, False, "raw")
    return partial(_whole, wanted, classic.traces)


def _trace_v3(name: str, words: Words) -> Answer:
    wanted = _id(name)
    for camel, snake in (("startTime", "start_time"), ("endTime", "end_time")):
        read(words, instant, 0, camel, snake)
    read(words, truth, False, "rawTraces", "raw_traces")
    return partial(_whole, wanted, otlp.traces)


def _whole(wanted: str, render: Callable[..., Iterator[bytes]], lookups: Lookups) -> Iterator[bytes]:
    keys = lookups.keys([wanted])
    if not keys:
        raise NotFound("trace not found")
    yield from render(lookups.spans(keys))


def _find_v3(words: Words) -> Answer:
    search = _readable(search_of_v3(words))

    def look(lookups: Lookups) -> Iterator[bytes]:
        found = lookups.find(search)
        if not found:
            raise NotFound("No traces found")
        yield from otlp.traces(lookups.spans(lookups.keys(found)))

    return look


def _summaries(words: Words) -> Answer:
    search = _readable(search_of_v3(words))

    def look(lookups: Lookups) -> Iterator[bytes]:
        found = lookups.find(search)
        yield otlp.summaries(lookups.summaries(found) if found else [])

    return look


def _dependencies(words: Words) -> Answer:
    window: Window = window_of(words)

    def look(lookups: Lookups) -> Iterator[bytes]:
        yield classic.answer(
            [
                {"parent": caller or NAMELESS, "child": callee or NAMELESS, "callCount": count}
                for caller, callee, count in lookups.calls(window)
            ]
        )

    return look


def _dependencies_v3(words: Words) -> Answer:
    window = window_of_v3(words)

    def look(lookups: Lookups) -> Iterator[bytes]:
        # As protobuf writes JSON: a number of 64 bits is a string.
        yield classic.written(
            {
                "dependencies": [
                    {"parent": caller or NAMELESS, "child": callee or NAMELESS, "callCount": str(count)}
                    for caller, callee, count in lookups.calls(window)
                ]
            }
        )

    return look


def _capabilities(words: Words) -> Answer:
    """Say what a search can do here; what is not named, such as filters and pages, it cannot."""

    def look(lookups: Lookups) -> Iterator[bytes]:
        yield classic.written({"search": {"withoutServiceName": True, "sameSpanConjunction": True}})

    return look


def _readable(search: Search) -> Search:
    conditions(search.tags)
    return search


def _required(words: Words, name: str) -> str:
    found = first(words, name)[1]
    if not found:
        raise BadRequest(f"parameter '{name}' is required")
    return _sent(found)


def _sent(service: str) -> str:
    return "" if service == NAMELESS else service


def _id(text: str) -> str:
    try:
        return trace_id(text)
    except BadRequest as error:
        raise BadRequest(f"malformed parameter trace_id: {error}") from error


def _operation(name: str, kind: int) -> Mapping[str, str]:
    return {"name": name, "spanKind": _KIND_NAMES.get(kind, "unspecified")}


_PAGES: Mapping[str, Callable[[Words], Answer]] = {
    "/api/services": _services,
    "/api/operations": _operations,
    "/api/traces": _find,
    "/api/dependencies": _dependencies,
    "/api/v3/services": _services_v3,
    "/api/v3/operations": _operations_v3,
    "/api/v3/dependencies": _dependencies_v3,
    "/api/v3/capabilities": _capabilities,
    "/api/v3/traces": _find_v3,
    "/api/v3/trace-summaries": _summaries,
}
