"""Who speaks in a message, from whatever names it: a role, a type, the name of a class."""

from __future__ import annotations

#: Who speaks, in the words of the conventions.
_CONVENTIONAL = frozenset(("system", "user", "assistant", "tool"))
#: Those that may speak; another one is called after somebody, as an agent or a tool.
SPEAKERS = _CONVENTIONAL | {"unknown"}
#: What a role is called elsewhere.
ROLES = {
    "developer": "system",
    "human": "user",
    "ai": "assistant",
    "model": "assistant",
    "function": "tool",
    "tool-call": "assistant",
    "tool-response": "user",
    **dict.fromkeys(("bot", "chatbot", "llm"), "assistant"),
    **dict.fromkeys(("tool_result", "toolresult", "tool_response", "function_result"), "tool"),
    "tool_execution_result": "tool",
}

#: Who speaks, by the name of the class of a message without `Message`, in lower case.
_CLASSES = {
    **{name: ROLES.get(name, name) for name in ("system", "user", "human", "assistant", "ai", "tool")},
    **dict.fromkeys(("toolresult", "functionresult", "functionexecutionresult"), "tool"),
}


def role_of(value: dict[str, object], role: str) -> str:
    """Return who speaks in a message by its role or its type, else `role`."""
    for key in ("role", "type"):
        said = value.get(key)
        if isinstance(said, str) and said and (key == "role" or said in ROLES or said in ("system", "tool")):
            return role_named(said)
        if key == "type" and isinstance(said, str) and said.isupper() and role_named(said) in _CONVENTIONAL:
            return role_named(said)
        if key == "type" and isinstance(said, str) and said.endswith("Message"):
            return role_of_class(said) or role
    return role


def role_named(said: str) -> str:
    """Return the role of a name for it, also of one that an enumeration's member has: `MessageRole.USER`."""
    if said in _CONVENTIONAL:
        return said
    name = said.rpartition(".")[2].lower()
    return ROLES.get(name, name)


def role_of_class(name: str) -> str | None:
    """Return the role that the name of a message's class says, None where it says none."""
    return _CLASSES.get(name.removesuffix("Chunk").removesuffix("Message").lower())
