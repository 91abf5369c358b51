"""The steps of two runs, as they are compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from retrospan.ingest.answer.computed.alignment import Key


class ToolCall(NamedTuple):
    """A tool call, its long texts cut. The hashes are those of texts without ids."""

    step: int | None
    tool_name: str
    error_type: str | None
    error_message: str | None
    arguments_hash: str | None
    result_hash: str | None
    arguments: str | None
    result: str | None


class ModelCall(NamedTuple):
    """A model call; values are numbers in its run, 0 for none."""

    provider: str | None = None
    request_model: str | None = None
    parameters: str = ""
    parameters_hash: str = ""
    system_hash: str = ""
    tools_hash: str = ""
    input_hash: str = ""
    output_hash: str = ""
    system_value: int = 0
    tools_value: int = 0
    output_values: Sequence[int] = ()
    error_type: str | None = None
    error_message: str | None = None
    agent_name: str = ""

    @property
    def request(self) -> tuple[str, ...]:
        """What was asked of which model, byte for byte."""
        return (
            self.agent_name,
            self.provider or "",
            self.request_model or "",
            self.parameters_hash,
            self.system_hash,
            self.tools_hash,
            self.input_hash,
        )


class Value(NamedTuple):
    """A value of a run, without its text."""

    kind: str
    hash: str
    role: str
    elements: Sequence[int]
    """The first ones."""
    length: int


@dataclass(frozen=True, slots=True)
class Step:
    """What is compared of a step."""

    step_kind: str
    own_name: str
    agent_name: str
    status: str
    tool: ToolCall | None
    model: ModelCall
    state_hash: str | None
    state: Sequence[tuple[str, int]]
    """Keys and values."""
    asked_model: bool
    called_tool: bool

    @property
    def name(self) -> str:
        """The tool of a tool step, the agent of a model step."""
        if self.step_kind == "model":
            return self.agent_name
        return self.tool.tool_name if self.tool is not None else self.own_name

    @property
    def error_type(self) -> str:
        return (self.tool.error_type if self.tool is not None else self.model.error_type) or ""

    @property
    def error_message(self) -> str:
        return (self.tool.error_message if self.tool is not None else self.model.error_message) or ""

    def key(self, *, agents_known: bool) -> Key:
        """Return what it is aligned by. A run whose root never came does not know its agents: then they name no step."""
        nameless = self.step_kind == "model" and not agents_known
        return Key(self.step_kind, "" if nameless else self.name, self.content)

    @property
    def content(self) -> str | None:
        """What it was given or answered, NULL if that is unknown."""
        if self.called_tool:
            return self.tool.arguments_hash if self.tool is not None else None
        return self.model.output_hash if self.asked_model else ""
