"""The values of a run, each stored once and named by a number, with the hash that compares it across runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from retrospan.ingest.interpret.messages.message import Message, repeated
from retrospan.ingest.interpret.messages.messages import read_message
from retrospan.ingest.json_text import write_json
from retrospan.schemas.hashing import GrowingHash, canonical_text, hash_of, hash_of_text, is_canonical
from retrospan.schemas.json_encoding import quoted

#: The fields of a message and of its parts, as most have them.
_PLAIN_MESSAGE, _PLAIN_PART = ["role", "parts"], ["type", "content"]
_PLAIN_CALL, _PLAIN_RESULT = ["type", "id", "name", "arguments"], ["type", "id", "response"]
#: A longer text is not kept in its canonical form.
_LONGEST_KEPT = 20_000


@dataclass(slots=True)
class Value:
    kind: str  # message | json | list
    hash: str
    json: str
    role: str = ""
    first_call: int = 0
    elements: list[int] = field(default_factory=list)


class Values:
    """Numbers count from 1 in the order in which things are first said.

    Comparison hashes replace tool call ids by the ordinal of their first appearance in the run, so the order of the
    calls decides them and nothing else: the same thing said in two runs is equal.
    """

    def __init__(self) -> None:
        self.all: list[Value] = []
        self._messages: dict[str, int] = {}
        self._seen: dict[int, tuple[Message, int]] = {}
        self._others: dict[str, int] = {}
        self._numbered: dict[int, tuple[object, int]] = {}
        self._texts: dict[int, tuple[object, str]] = {}
        self._compared: dict[int, tuple[object, str]] = {}
        self._by_text: dict[str, str] = {}
        self._spelled: dict[str, str] = {}
        self._lists: dict[tuple[int, ...], int] = {}
        self._call_ids: dict[str, int] = {}
        self._prompt: tuple[list[Message], list[int]] = ([], [])
        self._growing = GrowingHash()

    def hash(self, number: int) -> str:
        return self.all[number - 1].hash

    def message(self, message: Message, call: int = 0) -> int:
        """Return the number of a message; `call` is the model call that says it."""
        seen = self._seen.get(id(message))
        if seen is not None:
            number = seen[1]
        else:
            compared, text = self._told(message) or (hash_of(self.comparable(message)), None)
            number = self._messages.get(compared) or self._put_message(message, compared, text, call)
            # Kept with its object: an id is only good as long as that lives.
            self._seen[id(message)] = (message, number)
        if call and not self.all[number - 1].first_call:
            self.all[number - 1].first_call = call
        return number

    def prompt(self, messages: Sequence[Message], call: int) -> list[int]:
        """Return the numbers of the messages that a model call is given; those of the prompt before are known."""
        before, numbers = self._prompt
        known = repeated(before, messages)
        found = [*numbers[:known], *(self.message(message, call) for message in messages[known:])]
        self._prompt = ([*messages], found)
        return found

    def _put_message(self, message: Message, compared: str, text: str | None, call: int) -> int:
        if text is None:
            text = write_json(message)
        value = Value("message", compared, text, role=message["role"], first_call=call)
        number = self._messages[compared] = self._put(value)
        return number

    def text(self, value: object) -> str:
        """Return a value's JSON; that of a list or an object which is asked for again, as the result of a tool, is kept."""
        if not isinstance(value, (dict, list)):
            return write_json(value)
        known = self._texts.get(id(value))
        if known is None:
            known = self._texts[id(value)] = (value, write_json(value))
        return known[1]

    def compared(self, value: object) -> str:
        """Return the hash by which a value that has no number is compared, as the arguments of a tool call."""
        if not isinstance(value, (dict, list)):
            return hash_of(value)
        known = self._compared.get(id(value))
        if known is None:
            known = self._compared[id(value)] = (value, self._hash_compared(value))
        return known[1]

    def _hash_compared(self, value: object) -> str:
        text = self.text(value)
        if _may_differ(text):
            return hash_of(self.comparable(value))
        try:
            return hash_of_text(self._canonical(value, text))
        except UnicodeEncodeError:
            return hash_of(value)

    def _canonical(self, value: object, text: str) -> str:
        """Return the canonical JSON of a value whose JSON is at hand: spans and messages say the same of a tool's call."""
        if is_canonical(value, text):
            return text
        found = self._spelled.get(text)
        if found is None:
            found = canonical_text(value)
            if len(text) <= _LONGEST_KEPT:
                self._spelled[text] = found
        return found

    def hash_by_text(self, value: object, text: str) -> str:
        """Return the hash of a value that is written so: requests repeat their parameters."""
        known = self._by_text.get(text)
        if known is None:
            known = hash_of_text(text) if is_canonical(value, text) else hash_of(value)
            self._by_text[text] = known
        return known

    def other(self, value: object) -> int:
        """Return the number of any other JSON value; lists are stored element by element."""
        known = self._numbered.get(id(value))
        if known is not None:
            return known[1]
        if isinstance(value, list) and value and _are_objects(value):
            number = self.list([self.other(item) for item in value])
        else:
            number = self._other(value)
        if isinstance(value, (dict, list)):
            # Kept with its object, as messages are: definitions of tools come with every call.
            self._numbered[id(value)] = (value, number)
        return number

    def _other(self, value: object) -> int:
        text = write_json(value)
        number = self._others.get(text)
        if number is None:
            if _may_differ(text):
                compared = hash_of(self.comparable(value))
            else:
                compared = hash_of_text(text) if is_canonical(value, text) else hash_of(value)
            number = self._others[text] = self._put(Value("json", compared, text))
        return number

    def list(self, elements: Sequence[int]) -> int:
        key = tuple(elements)
        number = self._lists.get(key)
        if number is None:
            compared = self._growing.of(elements, self.hash)
            number = self._lists[key] = self._put(Value("list", compared, "", elements=[*elements]))
        return number

    def hash_of_all(self, numbers: Sequence[int]) -> str:
        """Return the hash of a list of values, made of theirs."""
        known = self._lists.get(tuple(numbers))
        return self._growing.of(numbers, self.hash) if known is None else self.hash(known)

    def comparable(self, value: object) -> object:
        """Return the value without what differs between two equal runs: call ids as ordinals, messages in one form."""
        if isinstance(value, list):
            return [self.comparable(item) for item in value]
        if not isinstance(value, dict):
            return value
        kind = value.get("type")
        if (
            kind in ("tool_call", "tool_call_response")
            and isinstance(value.get("id"), str)
            and "args" not in value
        ):
            return {**value, "id": self._ordinal(value["id"])}
        if "parts" in value and "role" in value:
            return {**value, "parts": self.comparable(value["parts"])}
        if _is_framework_message(value):
            message = read_message(value)
            return self.comparable(message) if message else {"role": kind, "parts": []}
        return {key: self.comparable(item) for key, item in value.items()}

    def _told(self, message: Message) -> tuple[str, str] | None:
        """Return the hash of a message that holds nothing but texts, calls and results as they mostly are, and its JSON; None
        for others.

        Most of what is stored are such messages: each of their texts is spelled once for both.
        """
        if [*message] != _PLAIN_MESSAGE:
            return None
        compared: list[str] = []
        parts: list[str] = []
        for part in message["parts"]:
            spelled = self._spell(part)
            if spelled is None:
                return None
            compared.append(spelled[0])
            parts.append(spelled[1])
        role = quoted(message["role"])
        try:
            found = hash_of_text(f'{{"parts":[{",".join(compared)}],"role":{role}}}')
        except UnicodeEncodeError:
            return None  # half a surrogate pair has a way of its own to be written
        return found, f'{{"role":{role},"parts":[{",".join(parts)}]}}'

    def _spell(self, part: Mapping[str, object]) -> tuple[str, str] | None:
        """Return a part as it is compared, and its JSON."""
        # A mapping of anything: nobody has checked what a part that is not known holds.
        kind, keys = part["type"], [*part]
        if keys == _PLAIN_PART and kind in ("text", "reasoning"):
            content = part["content"]
            if not isinstance(content, str):
                return None
            said = quoted(content)
            return f'{{"content":{said},"type":"{kind}"}}', f'{{"type":"{kind}","content":{said}}}'
        call_id = part.get("id")
        if not isinstance(call_id, str):
            return None
        if keys == _PLAIN_CALL and kind == "tool_call" and isinstance(part["name"], str):
            given, name = part["arguments"], quoted(part["name"])
            number, said = self._ordinal(call_id), self.text(given)
            return (
                f'{{"arguments":{self._canonical(given, said)},"id":{number},"name":{name},"type":"tool_call"}}',
                f'{{"type":"tool_call","id":{quoted(call_id)},"name":{name},"arguments":{said}}}',
            )
        if keys == _PLAIN_RESULT and kind == "tool_call_response":
            returned = part["response"]
            number, said = self._ordinal(call_id), self.text(returned)
            return (
                f'{{"id":{number},"response":{self._canonical(returned, said)},"type":"tool_call_response"}}',
                f'{{"type":"tool_call_response","id":{quoted(call_id)},"response":{said}}}',
            )
        return None

    def _ordinal(self, call_id: str) -> int:
        return self._call_ids.setdefault(call_id, len(self._call_ids) + 1)

    def _put(self, value: Value) -> int:
        self.all.append(value)
        return len(self.all)


def _are_objects(values: Sequence[object]) -> bool:
    for value in values:  # noqa: SIM110 (asked of every value, and a generator costs more)
        if not isinstance(value, dict):
            return False
    return True


def _may_differ(text: str) -> bool:
    """Tell whether a value with that JSON may hold what is compared in another form: only JSON with one of these in it."""
    return "tool_call" in text or '"parts"' in text or '"content"' in text


def _is_framework_message(value: dict[str, object]) -> bool:
    """Tell whether an object in a state is a serialised message (LangChain's forms, OpenAI's chat form)."""
    for key in ("data", "kwargs"):
        inner = value.get(key)
        if isinstance(inner, dict) and "content" in inner and ("type" in inner or "type" in value):
            return True
    if (
        value.get("type") in ("human", "ai", "system", "tool")
        and "content" in value
        and "additional_kwargs" in value
    ):
        return True
    return value.get("role") in ("system", "developer", "user", "assistant", "tool") and "content" in value
