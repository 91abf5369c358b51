"""Spans that came again with the same ids: the same span told anew, or another execution that drew the same ids.

A program that seeds the generator of its ids gives every execution the same. All variants are kept; which of them are
shown, and what is said of it, is decided here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from retrospan.schemas.raw import RawSpan

Identity = tuple[str, str]
_Window = tuple[int, int]


@dataclass(slots=True)
class ShownSpans:
    """One variant of each span, by trace and span id."""

    spans: dict[Identity, RawSpan]
    other_times: dict[Identity, int] = field(default_factory=dict)
    """How many variants that are not shown began at other times, of the spans that have such."""
    apart: list[Identity] = field(default_factory=list)
    """Spans that only another execution has."""


def shown_spans(raws: Iterable[RawSpan]) -> ShownSpans:
    """Return the last variant to arrive of each span.

    Variants that lie apart in time from what is shown are another execution: spans without variants, inside of these in
    time and apart from what is shown, are of that one.
    """
    shown: dict[Identity, RawSpan] = {}
    replaced: dict[Identity, list[RawSpan]] = {}
    for raw in raws:
        key = (raw.trace_id, raw.span_id)
        held = shown.get(key)
        if held is None:
            shown[key] = raw
            continue
        last, other = (raw, held) if _freshness(raw) > _freshness(held) else (held, raw)
        shown[key] = last
        replaced.setdefault(key, []).append(other)
    found = ShownSpans(shown)
    hidden: dict[str, dict[Identity, list[RawSpan]]] = {}
    for key, variants in replaced.items():
        others = [variant for variant in variants if variant.started_ns != shown[key].started_ns]
        if others:
            found.other_times[key] = len(others)
            hidden.setdefault(key[0], {})[key] = others
    for trace_id, others_of in hidden.items():
        found.apart += _apart(trace_id, shown, others_of)
    return found


def repeated_ids(spans: int) -> str:
    """Return what is said of a trace with so many spans of which variants began at other times."""
    return (
        f"{spans} span(s) came again under the same ids with other times: they may be of other executions, which are not "
        "shown (a generator of ids with a fixed seed gives each execution the same)"
    )


def _apart(
    trace_id: str, shown: dict[Identity, RawSpan], hidden: dict[Identity, list[RawSpan]]
) -> list[Identity]:
    here = [_window(shown[key]) for key in hidden]
    elsewhere = [
        window for others in hidden.values() for other in others if not _meets(window := _window(other), here)
    ]
    found: list[Identity] = []
    for key, raw in shown.items():
        start, end = window = _window(raw)
        is_within = any(begin <= start and end <= last for begin, last in elsewhere)
        if key[0] == trace_id and key not in hidden and is_within and not _meets(window, here):
            found.append(key)
    return found


def _window(raw: RawSpan) -> _Window:
    return raw.started_ns, max(raw.started_ns, raw.ended_ns)


def _meets(window: _Window, others: Sequence[_Window]) -> bool:
    """Tell whether one time has something in common with one of others."""
    return any(window[0] <= end and start <= window[1] for start, end in others)


def _freshness(raw: RawSpan) -> tuple[int, int, int]:
    return (raw.sequence, raw.ended_ns, raw.content_hash)
