"""What a dialect is, and the switches of its instrumentation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.span import Span

#: What an instrumentation may leave out of a run.
Layer = Literal["messages", "results", "tools", "tokens", "conversation", "state", "steps", "spans"]


def _nothing(span: NormalizedSpan) -> None:
    """Leave what the general rules read as it is."""


@dataclass(frozen=True, slots=True)
class Switch:
    """What makes an instrumentation send a layer. `scope` is how its scope's name begins; '' stands for any."""

    layer: Layer
    how: str
    scope: str = ""


@dataclass(frozen=True, slots=True)
class Dialect:
    """`speaks` recognises a span by its scope, the names of its attributes and whether it is open, and by nothing else;
    `refine` corrects what the general rules read of it, in place.

    `switches` say how to get what a run of this dialect lacks.
    """

    name: str
    speaks: Callable[[Span], bool]
    refine: Callable[[NormalizedSpan], None] = _nothing
    switches: tuple[Switch, ...] = ()
