"""When two lists of messages are the same: as one conversation, in a form in which equal meaning is equal text.

docs/bundles.md states the rules. A request mostly holds what the one before held, and a little more: a conversation
goes on from where another one ended, and that one stays as it is.
"""

from __future__ import annotations

import marshal
from collections.abc import Iterable, Iterator
from hashlib import sha256
from operator import is_
from threading import Lock
from typing import Any, cast

from retrospan.schemas.bundle.form import Json, Message
from retrospan.schemas.bundle.sameness import OBJECTS, canonical_data, canonical_value
from retrospan.schemas.hashing import canonical_json

_ROLES = {
    "developer": "system",
    "human": "user",
    "ai": "assistant",
    "model": "assistant",
    "function": "tool",
    "tool-call": "assistant",
    "tool-response": "tool",
}


#: So many conversations are known, the latest first: that is the one which mostly goes on.
_MOST = 32


class Conversations:
    """Conversations by what they were made of, so that each goes on from where it was. Safe for threads."""

    def __init__(self) -> None:
        self._known = list[tuple[list[Message], Conversation]]()
        self._lock = Lock()

    def of(self, messages: Iterable[Message]) -> Conversation:
        """Return the conversation of these messages. They may not be changed after that."""
        given = [*messages]
        with self._lock:
            known = self._known
        found = next((each for each in known if _is_beginning(each[0], given)), None)
        if found is None:
            made = Conversation(given)
        elif (done := len(found[0])) == len(given):
            return found[1]
        else:
            made = found[1].followed_by(given[done:])
        with self._lock:
            self._known = [(given, made), *self._known[: _MOST - 1]]
        return made


def _is_beginning(earlier: list[Message], given: list[Message]) -> bool:
    """Tell whether messages begin with these, value for value."""
    if len(earlier) > len(given):
        return False
    if all(map(is_, earlier, given)):
        return True
    try:
        # Without references to what was written before: equal bytes are equal values, and no 1 is a True.
        return all(
            one is other or marshal.dumps(cast(Any, one), 2) == marshal.dumps(cast(Any, other), 2)
            for one, other in zip(earlier, given, strict=False)
        )
    except ValueError:  # something that is not of the built-in types
        return False


class Conversation:
    """The parts of the system messages at the head, and the messages after them.

    Neighbours of one role are one message; each response of a tool is a message of its own, and those beside each other
    are in the order of the calls that they answer; texts beside each other are one text. Ids of calls are named by the
    order in which they first appear: id:1, id:2 and so on.
    """

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self.system = list[Json]()
        self.messages = list[dict[str, Json]]()
        self._ids = dict[str, str]()
        self._is_nameless = False
        # The hash of the messages that no further one can change: all before the last, and before the responses at the
        # end.
        self._hash = sha256(b'{"messages":[')
        self._hashed = 0
        self._add(messages)

    @property
    def lacks_ids(self) -> bool:
        """Tell whether it has calls, or responses, and no id of any."""
        return self._is_nameless and not self._ids

    def followed_by(self, messages: Iterable[Message]) -> Conversation:
        """Return the conversation with these after it."""
        other = Conversation()
        # Whatever a further message is joined to is its own.
        other.system = _with_own_end(self.system)
        other.messages = [*self.messages]
        if other.messages:
            last = other.messages[-1]
            other.messages[-1] = {**last, "parts": _with_own_end(cast("list[Json]", last["parts"]))}
        other._ids, other._is_nameless = {**self._ids}, self._is_nameless
        other._hash, other._hashed = self._hash.copy(), self._hashed
        other._add(messages)
        return other

    def key(self, others: bytes) -> str:
        """Return the SHA-256, as hex digits, of a request of these messages: `others` is its canonical JSON from behind
        the list of messages.
        """
        found = self._hash.copy()
        for place in range(self._hashed, len(self.messages)):
            found.update(_as_item(self.messages[place], first=place == 0))
        found.update(b"]" + others)
        return found.hexdigest()

    def _add(self, messages: Iterable[Message]) -> None:
        rest = self.messages
        for message in messages:
            for role, part in self._parts(message):
                if role == "system" and not rest:
                    _append(self.system, part)
                elif rest and rest[-1]["role"] == role and role != "tool":
                    _append(cast("list[Json]", rest[-1]["parts"]), part)
                else:
                    place = _place_of_response(rest, part) if role == "tool" else len(rest)
                    rest.insert(place, {"role": role, "parts": [part]})
        settled = max(self._hashed, _settled(rest))
        for place in range(self._hashed, settled):
            self._hash.update(_as_item(rest[place], first=place == 0))
        self._hashed = settled

    def _parts(self, message: Message) -> Iterator[tuple[str, dict[str, Json]]]:
        """Yield the parts that are compared, each with its role."""
        named = str(message.get("role") or "user").lower()
        role = _ROLES.get(named, named)
        parts = message.get("parts")
        for part in parts if isinstance(parts, list | tuple) else ():
            if not isinstance(part, OBJECTS):
                part = {"type": "text", "content": part}
            kind = part.get("type")
            if kind == "reasoning":
                continue
            if kind == "tool_call_response":
                response = part.get("response", part.get("result"))
                yield (
                    "tool",
                    {
                        "type": kind,
                        "id": self._id(part.get("id")),
                        "response": _told(canonical_data(response)),
                    },
                )
            elif kind == "tool_call":
                yield (
                    role,
                    {
                        "type": kind,
                        "id": self._id(part.get("id")),
                        "name": part.get("name"),
                        "arguments": canonical_data(part.get("arguments")),
                    },
                )
            elif kind == "text" and isinstance(part.get("content"), str):
                if text := str(part["content"]).strip():
                    yield role, {"type": "text", "content": text}
            else:
                kept = {str(key): canonical_value(value) for key, value in part.items() if key != "id"}
                yield role, {**kept, "type": str(kind)}

    def _id(self, call_id: Json) -> str | None:
        """Return the name of an id, None if there is none."""
        if not isinstance(call_id, str) or not call_id:
            self._is_nameless = True
            return None
        return self._ids.setdefault(call_id, f"id:{len(self._ids) + 1}")


def _told(response: Json) -> Json:
    """Return a response without the envelope that some clients put around an error on its way to the model."""
    if isinstance(response, dict) and [*response] == ["error"]:
        return cast("dict[str, Json]", response)["error"]
    return response


def _place_of_response(messages: list[dict[str, Json]], part: dict[str, Json]) -> int:
    """Return where a response belongs among those at the end: calls that run side by side end in any order."""
    place, number = len(messages), _number_of(part)
    while place and number is not None:
        before = messages[place - 1]
        other = _number_of(cast("list[Json]", before["parts"])[0]) if before["role"] == "tool" else None
        if other is None or other <= number:
            break
        place -= 1
    return place


def _number_of(part: Json) -> int | None:
    """Return the number of the call that a response answers, None for what answers none that is known."""
    name = cast("dict[str, Json]", part).get("id")
    return int(name.removeprefix("id:")) if isinstance(name, str) else None


def _settled(messages: list[dict[str, Json]]) -> int:
    """Return how many messages stay as they are, whatever follows."""
    place = len(messages) - 1
    while place > 0 and messages[place]["role"] == messages[place - 1]["role"] == "tool":
        place -= 1
    return max(place, 0)


def _append(parts: list[Json], part: dict[str, Json]) -> None:
    before = parts[-1] if parts else None
    if part["type"] == "text" and isinstance(before, dict) and before["type"] == "text":
        before["content"] = f"{before['content']}\n{part['content']}"
    else:
        parts.append(part)


def _with_own_end(parts: list[Json]) -> list[Json]:
    return [*parts[:-1], *({**cast("dict[str, Json]", part)} for part in parts[-1:])]


def _as_item(message: Json, *, first: bool) -> bytes:
    return canonical_json(message) if first else b"," + canonical_json(message)
