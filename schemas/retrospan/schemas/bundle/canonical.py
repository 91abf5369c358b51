"""Requests in the form in which they are compared, and their keys.

A record may not hold everything that was asked. What it does not hold is not compared: the key of a live request is made for what a recorded
one holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import cast

from retrospan.schemas.bundle.form import Json, Message, ModelCall, ToolCall
from retrospan.schemas.bundle.sameness import (
    USUAL,
    canonical_data,
    canonical_messages,
    canonical_model,
    canonical_parameters,
    canonical_tools,
    day_of,
)
from retrospan.schemas.hashing import canonical_json

#: What of a tool is compared beside its name, if the record holds it of any tool.
_TOOL_ASPECTS = ("description", "parameters")


@dataclass(frozen=True, slots=True)
class Held:
    """What of a request the record holds, and can be compared therefore.

    `model_day` is the day in the recorded model's name: a name without one means any, and records often have the name of what answered.
    """

    model: bool
    model_day: str
    parameters: frozenset[str]
    system: bool
    messages: bool
    tools: frozenset[str] | None

    def not_compared(self) -> list[str]:
        """Return the names of what cannot be compared."""
        names = [name for name in ("model", "system", "messages") if not getattr(self, name)]
        if not self.parameters:
            names.append("parameters")
        if self.tools is None:
            names.append("tools")
        elif missing := [aspect for aspect in _TOOL_ASPECTS if self.tools and aspect not in self.tools]:
            names += [f"{aspect} of tools" for aspect in missing]
        return names


@dataclass(frozen=True, slots=True, kw_only=True)
class CanonicalRequest:
    """A request without noise. None is unknown in a record; in a live request it is what was not sent."""

    model: str | None
    parameters: Mapping[str, Json] | None
    system: Sequence[Json] | None
    messages: Sequence[Mapping[str, Json]] | None
    tools: Sequence[Mapping[str, Json]] | None

    def held(self) -> Held:
        """Return what this request holds, as a record."""
        aspects: frozenset[str] | None = None
        if self.tools is not None:
            aspects = frozenset(key for tool in self.tools for key in tool)
        return Held(
            model=self.model is not None,
            model_day=day_of(self.model or ""),
            parameters=frozenset(self.parameters or ()),
            system=self.system is not None,
            messages=self.messages is not None,
            tools=aspects,
        )

    def reduced_to(self, held: Held) -> CanonicalRequest:
        """Return this live request with only what a record holds; what it did not send is empty."""
        tools: list[Mapping[str, Json]] | None = None
        if held.tools is not None:
            # A record of no tools holds that there were none: tools that are there now are compared whole.
            aspects = held.tools or {"name", *_TOOL_ASPECTS}
            tools = [{key: tool[key] for key in tool if key in aspects} for tool in self.tools or ()]
        sent = {**{name: USUAL[name] for name in USUAL if name in held.parameters}, **(self.parameters or {})}
        model = self.model or ""
        return CanonicalRequest(
            model=(model if not model or day_of(model) else model + held.model_day) if held.model else None,
            parameters={name: sent[name] for name in sent if name in held.parameters},
            system=self.system or [] if held.system else None,
            messages=self.messages or [] if held.messages else None,
            tools=tools,
        )

    def key(self) -> str:
        """Return the SHA-256 of everything that this holds, as hex digits."""
        return sha256(
            canonical_json(
                {
                    "model": self.model,
                    "parameters": dict(self.parameters or {}),
                    "system": self.system,
                    "messages": self.messages,
                    "tools": self.tools,
                }
            )
        ).hexdigest()


def canonical_request(
    *,
    model: str | None = None,
    parameters: Mapping[str, Json] | None = None,
    system: Iterable[Message] | None = None,
    messages: Iterable[Message] | None = None,
    tools: Iterable[Json] | None = None,
) -> CanonicalRequest:
    """Return a request without noise, live or recorded. Messages are in the parts format; system messages may be in both lists."""
    head, rest = list[Json](), None
    if messages is not None:
        # Together: ids are named by their order, and texts beside each other are one.
        head, rest = canonical_messages([*(system or ()), *messages])
    elif system is not None:
        head, _ = canonical_messages(system)
    return CanonicalRequest(
        model=None if model is None else canonical_model(model),
        parameters=None if parameters is None else canonical_parameters(parameters),
        system=head if head or system is not None else None,
        messages=rest,
        tools=None if tools is None else canonical_tools(tools),
    )


def canonical_of(call: ModelCall) -> CanonicalRequest:
    """Return the request of a recorded call without noise."""
    return canonical_request(
        model=call.model,
        parameters=call.parameters,
        system=call.system,
        messages=call.messages,
        tools=call.tools,
    )


def key_of(asked: CanonicalRequest, held: Held) -> str:
    """Return the key of a live request, made of what a record holds; equal to the record's key if both ask the same."""
    return asked.reduced_to(held).key()


def tool_key(name: str, arguments: Json, *, has_arguments: bool = True) -> str:
    """Return the key of a call of a tool: its name, and its arguments where they are on record."""
    known = {"arguments": canonical_data(arguments)} if has_arguments else {}
    return sha256(canonical_json({"name": name, **known})).hexdigest()


def with_keys(calls: Iterable[ModelCall | ToolCall]) -> tuple[ModelCall | ToolCall, ...]:
    """Return the calls with the keys of what they asked."""
    return tuple(
        replace(call, key=canonical_of(call).key())
        if isinstance(call, ModelCall)
        else replace(call, key=tool_key(call.name, call.arguments, has_arguments=call.has_arguments))
        for call in calls
    )


def plain(request: CanonicalRequest) -> dict[str, Json]:
    """Return the request as a JSON object, for reading."""
    return {
        name: cast(Json, getattr(request, name))
        for name in ("model", "parameters", "system", "messages", "tools")
    }
