"""What tools returned, as models are told it: JSON where it is JSON, and whether it is an error."""

from __future__ import annotations

import re

from retrospan.ingest.interpret.spans.pyrepr import read_repr
from retrospan.ingest.json_text import Unreadable, read_json, read_value, write_json

#: How frameworks tell a model what a tool has raised.
_RAISED = re.compile(
    r"(?:Error|Exception|(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception)|Error \w+ (?:tool|function)(?: [^\s:]+)?"
    r"|Encountered error|Tool (?:execution|call) failed|Traceback \(most recent call last\)):\s"
    r"|An error occurred while running the tool\b|Failed to (?:invoke|call|execute|run) (?:[Tt]ool|[Ff]unction)\b"
)
#: How they tell it that there is no such tool; its name follows.
_NO_TOOL = re.compile(
    r"(?:Unknown|No such|Invalid) (?:tool|function)\b|(?:Tool|Function)\b[^\n]{1,200}? (?:not found|does not exist)\b"
)
#: How they tell it that the tool was not allowed, in the first sentence.
_NOT_ALLOWED = re.compile(
    r"[^\n]{0,160}?\b[Pp]ermissions?(?: to use [^\n.]{1,100}?)?"
    r"(?: (?:was|were|is|has been|have been) (?:denied|declined|refused|rejected|not granted)|, but [^\n.]{1,40}n't granted)\b"
)
#: How Pydantic AI ends what it tells a model that is to try again.
_TRY_AGAIN = "\n\nFix the errors and try again."
#: How the JSON of a text begins that is itself the JSON of an object or a list.
_QUOTED = ('"{', '"[')
_TEXT_KINDS = ("text", "output_text", "input_text", None)
_OF_TEXT = {"text", "type", "block_type"}
#: OpenTelemetry's part of a message.
_PART = {"type", "content"}
#: How Python prints an object that may hold nothing but an error.
_PRINTED_ERROR = ("{'error'", "{'isError'", "{'is_error'")
#: How it prints blocks of text, and nothing before them.
_PRINTED_BLOCKS = ("[{'type': 'text', 'text': ", "[{'text': ")
#: How programs write that there was no error.
NO_ERROR = ("", "null", "None", "none", "false", "False", "undefined", "{}", "[]")
#: What JavaScript prints for an object of any class: nothing that was in it.
UNPRINTED = re.compile(r"\[object \w+\]")


def error_of(response: object) -> str | None:
    """Return the error that a tool returned as its result: MCP's mark, or an object that holds nothing but an error."""
    if not isinstance(response, dict):
        return None
    if response.get("isError") is True or response.get("is_error") is True:
        said: object = response.get("content", response)
    elif [*response] == ["error"] and _is_error(response["error"]):
        said = response["error"]
    else:
        return None
    return said if isinstance(said, str) else write_json(said)


def _is_error(said: object) -> bool:
    """Tell whether a value can be an error: not nothing, nor a number with a fraction, which was measured."""
    if isinstance(said, float) and not said.is_integer():
        return False
    return bool(said) and not (isinstance(said, str) and said in NO_ERROR)


def told_error(response: object, tool: str = "") -> str | None:
    """Return the error that a result tells which is known from a message alone, with nothing else to say how it went: that
    of `error_of`, a text that begins, or ends, as frameworks write what a tool has raised, or one that begins as they write
    that there is no such tool, or that it was not allowed, and names it."""
    if isinstance(response, str):
        plain = _without_quotes(response)
        if _RAISED.match(plain) or plain.endswith(_TRY_AGAIN):
            return plain
        refused = (_NO_TOOL.match(plain) or _NOT_ALLOWED.match(plain)) if tool else None
        if refused is not None and tool in plain[: refused.end() + len(tool) + 20]:
            return plain
        return error_of(read_repr(response)) if response.startswith(_PRINTED_ERROR) else None
    return error_of(response)


def response_of(value: object) -> object:
    """Return what a tool said: the text of text blocks joined, which Python may have printed, and JSON where it is JSON."""
    if isinstance(value, str) and value.startswith(_PRINTED_BLOCKS):
        blocks = read_repr(value)
        return response_of(blocks) if isinstance(blocks, list) else value
    if isinstance(value, list) and value and all(isinstance(block, dict) for block in value):
        texts = [_text_of(block) for block in value]
        if None not in texts:
            return read_value("".join(text for text in texts if text))
        documents = [_document_in(block) for block in value]
        if None not in documents:
            read = [read_value(document) for document in documents]
            return read[0] if len(read) == 1 else read
        if all(set(block) == {"json"} for block in value):
            return value[0]["json"] if len(value) == 1 else [block["json"] for block in value]
    return read_value(value)


def result_in_text(text: str) -> object:
    """Return the value that a text is in JSON or as Python prints it, else the text."""
    value = response_of(text)
    printed = read_repr(text) if value is text else value
    return text if isinstance(printed, Unreadable) else printed


def returned_as(response: object) -> object:
    """Return what a tool returned of which a model was told the JSON once more, in the quotes of a text; anything else as it
    was told."""
    if not isinstance(response, str) or response[:2] not in _QUOTED:
        return response
    inner = read_value(_without_quotes(response))
    return response if isinstance(inner, str) else inner


def _without_quotes(text: str) -> str:
    """Return a text without the quotes of JSON, in which some frameworks put whatever text a tool returns."""
    said = read_json(text) if len(text) > 1 and text[0] == text[-1] == '"' else text
    return said if isinstance(said, str) else text


def _document_in(block: dict[str, object]) -> object:
    """Return the data of a document as Cohere's API is given it, None where an object is another."""
    document = block.get("document") if block.get("type") == "document" else None
    return document.get("data") if isinstance(document, dict) else None


def _text_of(block: dict[str, object]) -> str | None:
    """Return the text of an object that is only text, None of another: with anything else beside it, as an id, it is a
    document."""
    text, kind = block.get("text"), block.get("type", block.get("block_type"))
    if block.keys() == _PART:
        text = block["content"] if kind == "text" else None
    elif kind not in _TEXT_KINDS or not block.keys() <= _OF_TEXT:
        return None
    return text if isinstance(text, str) else None
