"""Requests in the form in which they are compared, and their keys.

A record may not hold everything that was asked. What it does not hold is not compared: the key of a live request is
made for what a recorded one holds.
"""

from __future__ import annotations

import marshal
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import NamedTuple, cast

from retrospan.schemas.bundle.conversation import Conversation, Conversations
from retrospan.schemas.bundle.form import Json, Message, ModelCall, ToolCall
from retrospan.schemas.bundle.sameness import (
    USUAL,
    canonical_data,
    canonical_model,
    canonical_parameters,
    canonical_tools,
    day_of,
    has_defaults,
    without_defaults,
)
from retrospan.schemas.hashing import canonical_json

#: What of a tool is compared beside its name, if the record holds it of any tool.
_TOOL_ASPECTS = ("description", "parameters")
#: One more, of their arguments: some instrumentations leave it out.
_DEFAULTS = "default"
#: So many lists of tools are known at most.
_MOST_TOOLS = 256


class Held(NamedTuple):
    """What of a request the record holds, and can be compared therefore.

    `model_day` is the day in the recorded model's name: a name without one means any, and records often have the name
    of what answered.
    """

    model: bool
    model_day: str
    parameters: frozenset[str]
    system: bool
    messages: bool
    tools: frozenset[str] | None
    ids: bool = True
    """Whether calls and responses have ids, if there are any."""

    def not_compared(self) -> list[str]:
        """Return the names of what cannot be compared."""
        names = [name for name in ("model", "system", "messages") if not getattr(self, name)]
        if not self.parameters:
            names.append("parameters")
        if self.tools is None:
            names.append("tools")
        elif missing := [aspect for aspect in _TOOL_ASPECTS if self.tools and aspect not in self.tools]:
            names += [f"{aspect} of tools" for aspect in missing]
        if not self.ids:
            names.append("ids of calls")
        return names


@dataclass(frozen=True, slots=True, kw_only=True)
class CanonicalRequest:
    """A request without noise. None is unknown in a record; in a live request it is what was not sent."""

    model: str | None
    parameters: Mapping[str, Json] | None
    system: Sequence[Json] | None
    messages: Sequence[Mapping[str, Json]] | None
    tools: Sequence[Mapping[str, Json]] | None
    conversation: Conversation | None = field(default=None, compare=False, repr=False)
    """What the messages are of, if that is known."""
    known: _KnownTools = field(default_factory=lambda: _KnownTools(), compare=False, repr=False)

    def held(self) -> Held:
        """Return what this request holds, as a record."""
        aspects: frozenset[str] | None = None
        if self.tools is not None:
            aspects = frozenset(key for tool in self.tools for key in tool)
            if any(has_defaults(tool.get("parameters")) for tool in self.tools):
                aspects |= {_DEFAULTS}
        return Held(
            model=self.model is not None,
            model_day=day_of(self.model or ""),
            parameters=frozenset(self.parameters or ()),
            system=self.system is not None,
            messages=self.messages is not None,
            tools=aspects,
            ids=self.conversation is None or not self.conversation.lacks_ids,
        )

    def reduced_to(self, held: Held) -> CanonicalRequest:
        """Return this live request with only what a record holds; what it did not send is empty."""
        tools: Sequence[Mapping[str, Json]] | None = None
        if held.tools is not None:
            # A record of no tools holds that there were none: tools that are there now are compared whole.
            aspects = held.tools or frozenset({"name", *_TOOL_ASPECTS, _DEFAULTS})
            tools = self.known.reduced(self.tools or (), aspects)
        sent = {**{name: USUAL[name] for name in USUAL if name in held.parameters}, **(self.parameters or {})}
        model = self.model or ""
        return CanonicalRequest(
            model=(model if not model or day_of(model) else model + held.model_day) if held.model else None,
            parameters={name: sent[name] for name in sent if name in held.parameters},
            system=self.system or [] if held.system else None,
            messages=self._messages_for(held),
            tools=tools,
            conversation=self.conversation,
            known=self.known,
        )

    def _messages_for(self, held: Held) -> Sequence[Mapping[str, Json]] | None:
        if not held.messages:
            return None
        if held.ids or not self.messages:
            return self.messages or []
        return [{**message, "parts": _without_ids(message["parts"])} for message in self.messages]

    def key(self) -> str:
        """Return the SHA-256 of everything that this holds as canonical JSON, as hex digits."""
        others = b"".join(
            b',"%s":%s' % (name, self.known.text_of(value))
            for name, value in (
                (b"model", self.model),
                (b"parameters", dict(self.parameters or {})),
                (b"system", self.system),
                (b"tools", self.tools),
            )
        )
        if self.conversation is not None and self.messages is self.conversation.messages:
            return self.conversation.key(others + b"}")
        messages = b"null" if self.messages is None else canonical_json(self.messages)
        return sha256(b'{"messages":%s%s}' % (messages, others)).hexdigest()


class _KnownTools:
    """Lists of tools in canonical form and as text: an agent offers the same ones with every request."""

    def __init__(self) -> None:
        self._tools = dict[bytes, list[dict[str, Json]]]()
        self._reduced = dict[tuple[int, frozenset[str]], list[Mapping[str, Json]]]()
        # The list is kept: another one could have its id.
        self._texts = dict[int, tuple[Json, bytes]]()

    def tools_of(self, tools: Iterable[Json]) -> list[dict[str, Json]]:
        """Return what `canonical_tools` does."""
        given = [*tools]
        try:
            mark = marshal.dumps(given, 2)
        except ValueError:  # something that is not of the built-in types
            return canonical_tools(given)
        found = self._tools.get(mark)
        if found is None:
            found = canonical_tools(given)
            if len(self._tools) < _MOST_TOOLS:
                self._tools[mark] = found
                self._texts[id(found)] = found, canonical_json(found)
        return found

    def reduced(
        self, tools: Sequence[Mapping[str, Json]], aspects: frozenset[str]
    ) -> Sequence[Mapping[str, Json]]:
        """Return the tools with only these aspects."""
        name = id(tools), aspects
        found = self._reduced.get(name)
        if found is None:
            found = list[Mapping[str, Json]](
                {
                    key: tool[key]
                    if key != "parameters" or _DEFAULTS in aspects
                    else without_defaults(tool[key])
                    for key in tool
                    if key in aspects
                }
                for tool in tools
            )
            if id(tools) in self._texts and len(self._reduced) < _MOST_TOOLS:
                self._texts[id(found)] = found, canonical_json(found)
                self._reduced[name] = found
        return found

    def text_of(self, value: Json) -> bytes:
        """Return canonical JSON of a value."""
        found = self._texts.get(id(value))
        return canonical_json(value) if found is None else found[1]


class Canonicalizer:
    """Makes requests canonical, and knows what it made: much of a request was in the one before. Safe for threads."""

    def __init__(self) -> None:
        self._conversations, self._known = Conversations(), _KnownTools()

    def request(
        self,
        *,
        model: str | None = None,
        parameters: Mapping[str, Json] | None = None,
        system: Iterable[Message] | None = None,
        messages: Iterable[Message] | None = None,
        tools: Iterable[Json] | None = None,
    ) -> CanonicalRequest:
        """Return a request without noise, live or recorded. Messages are in the parts format; system messages may be in
        both lists.
        """
        conversation = None
        if messages is not None or system is not None:
            # Together: ids are named by their order, and texts beside each other are one.
            conversation = self._conversations.of([*(system or ()), *(messages or ())])
        has_system = conversation is not None and (bool(conversation.system) or system is not None)
        return CanonicalRequest(
            model=None if model is None else canonical_model(model),
            parameters=None if parameters is None else canonical_parameters(parameters),
            system=conversation.system if conversation is not None and has_system else None,
            messages=conversation.messages if conversation is not None and messages is not None else None,
            tools=None if tools is None else self._known.tools_of(tools),
            conversation=conversation,
            known=self._known,
        )

    def call(self, call: ModelCall) -> CanonicalRequest:
        """Return the request of a recorded call without noise."""
        return self.request(
            model=call.model,
            parameters=call.parameters,
            system=call.system,
            messages=call.messages,
            tools=call.tools,
        )


def canonical_request(
    *,
    model: str | None = None,
    parameters: Mapping[str, Json] | None = None,
    system: Iterable[Message] | None = None,
    messages: Iterable[Message] | None = None,
    tools: Iterable[Json] | None = None,
) -> CanonicalRequest:
    """Return one request as a `Canonicalizer` does."""
    return Canonicalizer().request(
        model=model, parameters=parameters, system=system, messages=messages, tools=tools
    )


def canonical_of(call: ModelCall) -> CanonicalRequest:
    """Return the request of a recorded call without noise."""
    return Canonicalizer().call(call)


def _without_ids(parts: Json) -> list[Json]:
    return [
        {**part, "id": None} if isinstance(part, dict) and "id" in part else part
        for part in cast("list[Json]", parts)
    ]


def key_of(asked: CanonicalRequest, held: Held) -> str:
    """Return the key of a live request, made of what a record holds; equal to the record's key if both ask the same."""
    return asked.reduced_to(held).key()


def tool_key(name: str, arguments: Json, *, has_arguments: bool = True) -> str:
    """Return the key of a call of a tool: its name, and its arguments where they are on record."""
    known = {"arguments": canonical_data(arguments)} if has_arguments else {}
    return sha256(canonical_json({"name": name, **known})).hexdigest()


def with_keys(calls: Iterable[ModelCall | ToolCall]) -> tuple[ModelCall | ToolCall, ...]:
    """Return the calls with the keys of what they asked."""
    canonicalizer = Canonicalizer()
    return tuple(
        replace(call, key=canonicalizer.call(call).key())
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
