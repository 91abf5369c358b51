"""What a step is: one leaf act of a run, with the state it began with and the one it left."""

from __future__ import annotations

from dataclasses import dataclass

from retrospan.ingest.interpret.calls.calls import ModelCall, ToolCall
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan


@dataclass(slots=True)
class State:
    """Keys and the numbers of their values; `hash` compares it across runs."""

    source: str  # explicit | framework | messages
    keys: tuple[str, ...]
    values: tuple[int, ...]
    hash: str
    schema: str | None = None  # name@version, where the agent states it


@dataclass(slots=True)
class RunStep:
    number: int
    kind: str  # model | tool | retrieval | memory | step | node
    name: str
    span: NormalizedSpan
    model: ModelCall | None = None
    tool: ToolCall | None = None
    before: State | None = None
    after: State | None = None

    @property
    def status(self) -> str:
        if self.tool is not None:
            return self.tool.status
        is_cut = self.span.interrupted or self.span.is_unfinished
        return "incomplete" if is_cut else "error" if self.span.failed else "ok"
