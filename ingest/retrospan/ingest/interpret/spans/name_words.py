"""What the words in an attribute's name say about its value, if the name is not a known one.

Instrumentations send the same few names again and again: what a name says is remembered.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from retrospan.ingest.interpret.spans.vocabulary import INPUT, INPUT_TOKENS, OUTPUT, OUTPUT_TOKENS
from retrospan.schemas import semconv

#: A model that is neither called the one that was asked for nor the one that answered.
MODEL = "*model"
#: Any model, also of a request, of a response, or of the metadata.
MODELS = "*models"
#: The model that answered, as attributes about a response name it.
ANSWERER = "*answerer"
#: The name of the agent that did the work of a span.
AGENT = "*agent"
#: The id of the call that a tool executes.
CALL_ID = "*call id"
#: What a person asked, in their own words.
ASKED = "*asked"
#: What a model was told by the program itself, apart from what was said.
INSTRUCTIONS = "*instructions"
#: How a span ended, and what went wrong; whether it went well; and what was decided of it beforehand.
ENDED, ERROR, SUCCESS, DECIDED = "*ended", "*error", "*success", "*decided"
#: The words for what a shape stands for, the most telling first, each with a part of every name that says it.
WORDS: Mapping[str, tuple[tuple[str, str], ...]] = {
    INPUT: (
        ("input", "nput"),
        ("arguments", "rguments"),
        ("args", "rgs"),
        ("kwargs", "wargs"),
        ("parameters", "arameters"),
        ("in", "in"),
    ),
    OUTPUT: (
        ("output", "utput"),
        ("result", "esult"),
        ("response", "esponse"),
        ("return", "eturn"),
        ("out", "out"),
    ),
    INPUT_TOKENS: (("input tokens", "oken"), ("input usage", "sage")),
    OUTPUT_TOKENS: (("output tokens", "oken"), ("output usage", "sage")),
    MODEL: (("model", "model"),),
    MODELS: (("models", "odel"),),
    ANSWERER: (("answerer", "odel"),),
    AGENT: (("agent", "gent"),),
    ASKED: (("asked", "user"), ("asked", "escription"), ("asked", "run")),
    INSTRUCTIONS: (("instructions", "nstruction"), ("system prompt", "ystem")),
    CALL_ID: (("call id", ""),),
    ENDED: (("ended", ""),),
    ERROR: (("error", ""),),
    SUCCESS: (("success", ""),),
    DECIDED: (("decided", ""),),
}
_NAMES_KEPT = 8_192


def _at_the_end(word: str) -> re.Pattern[str]:
    """Return what finds a word at the end of a name, between marks or by a capital letter, and what may follow it."""
    capital = word[0].upper() + word[1:]
    return re.compile(
        rf"(?:(?:^|[.:_/]){word}|[a-z]{capital})(?:[._:](?:value|data|content|text|json|body))?$"
    )


_ENDINGS = {
    "input": _at_the_end("inputs?"),
    "arguments": _at_the_end("arguments"),
    "args": _at_the_end("args"),
    "kwargs": _at_the_end("kwargs"),
    "parameters": _at_the_end("parameters"),
    "output": _at_the_end("outputs?"),
    "result": _at_the_end("results?"),
    "response": _at_the_end("response"),
    "return": _at_the_end("return(?:_value|ed|Value)?"),
    "in": re.compile(r"(?:^|[.:/])in$"),
    "out": re.compile(r"(?:^|[.:/])out$"),
}
#: What makes a count one of something else than the tokens of a request or an answer.
_OF_PARTS = re.compile("cach|reason|detail|audio|total|image|max|limit|budget|cost")
_SIDE = re.compile(r"tokens[._](in|out)\Z")
_USAGE = re.compile(r"[uU]sage[._](input|prompt|output|completion)\Z")
_MODEL = re.compile(r"(?:^|[.:_/])model(?:Name|[._](?:name|id))?$")
_MODELS = re.compile(r"(?:[.:_/]|^)model(?:Name|Id|[._](?:name|id))?$")
_ANSWERER = re.compile(r"(?:^|[.:_/])response[._:]model(?:[._](?:name|id))?$|[rR]esponseModel(?:Name|Id)?$")
_ENDED = re.compile(r"(?:^|[.:_/])(?:level|severity|status|outcome)(?:_code)?$")
_ERROR = re.compile(r"(?:^|[.:_/])(?:error|exception)(?:[._](?:message|msg))?$|(?:^|[.:_/])status_?message$")
_SUCCESS = re.compile(r"(?:^|[.:_/])(?:success|succeeded)$")
_DECIDED = re.compile(r"(?:^|[.:_/])(?:decision|approval|approved|approval_status)$")
_CALL_ID = re.compile(r"(?:^|[.:_/])(?:tool|function)[._]?[cC]all[._]?(?:id|Id)$|(?:^|[.:/])function[._]id$")
_ASKED = re.compile(
    r"(?:^|[.:/])(?:user_(?:prompt|message|query|question)|task[._]description|run[._](?:prompt|query|question))$"
)
#: What was set before anything ran: an output among it is the form that was asked for.
_OF_SETTINGS = re.compile(r"(?:^|[._:/])(?:settings?|config(?:uration)?|options|request)[.:/]", re.IGNORECASE)
#: Something that was hoped for, and that nobody returned.
_HOPED_FOR = re.compile(r"(?:^|[._:/])(?:expected|reference|target)[._]?outputs?$|xpectedOutputs?$")
_INSTRUCTIONS = re.compile(r"(?:^|[._:/]|system_?|System)[iI]nstructions?$")
_SYSTEM_PROMPT = re.compile(r"(?:^|[._:/])(?:system(?:_prompt|_message)|system(?:Prompt|Message))$")
#: What a tool was given or returned may tell of errors that are none of its own.
_OF_CONTENT = re.compile("input|output|arg|param|result|response|metadata|request|http", re.IGNORECASE)
_OF_ONE_SIDE = re.compile("request|response|embed|metadata")
#: Another agent, as one that is handed over to, has another word before.
_AGENT = re.compile(
    r"(?:^|[.:/]|(?:^|[.:/])(?:lc|ai|acting|current|llm)_)agent(?:[._]?(?:name|role)|Name|Role)?$"
)
#: Names under that of the conventions that these do not have: for whole requests and responses.
_NOT_PUBLISHED = re.compile(
    r"gen_ai\.(?!tool\.)(?:.+[._])?(?:messages?|prompts?|completions?|input|output|content|body|json|raw|payload|text)\Z"
)
_PUBLISHED = (semconv.INPUT_MESSAGES, semconv.OUTPUT_MESSAGES, semconv.PROMPT, semconv.COMPLETION)
_NUMBERED = re.compile(r"(.+?)(?:\.\d{1,9}(?:\.|$)|\[\d{1,9}\])")


@lru_cache(_NAMES_KEPT)
def words_of(name: str) -> frozenset[str]:
    """Return those of `WORDS` that a name says."""
    is_known = name.startswith("gen_ai.tool.call.")  # of the conventions: it means what it is called
    found = {word for word, ending in _ENDINGS.items() if not is_known and ending.search(name)}
    if "output" in found and (_HOPED_FOR.search(name) or _OF_SETTINGS.search(name)):
        found.remove("output")
    if _MODEL.search(name) and not _OF_ONE_SIDE.search(name):
        found.add("model")
    if "odel" in name and _MODELS.search(name) and "embed" not in name:
        found.add("models")
    if "esponse" in name and _ANSWERER.search(name):
        found.add("answerer")
    if not _OF_CONTENT.search(name):
        if _ENDED.search(name):
            found |= {"ended", "fate"}
        if _ERROR.search(name):
            found |= {"error", "fate"}
        if _SUCCESS.search(name):
            found |= {"success", "fate"}
        if _DECIDED.search(name):
            found |= {"decided", "fate"}
    if "gent" in name and _AGENT.search(name):
        found.add("agent")
    if ("all" in name or "unction" in name) and _CALL_ID.search(name):
        found.add("call id")
    if ("user_" in name or "escription" in name or "run" in name) and _ASKED.search(name):
        found.add("asked")
    if "nstruction" in name and _INSTRUCTIONS.search(name):
        found.add("instructions")
    if "system" in name and _SYSTEM_PROMPT.search(name):
        found.add("system prompt")
    if "oken" in name:
        lower = name.lower()
        if not _OF_PARTS.search(lower):
            sides = {
                "input tokens": ("input", "prompt"),
                "output tokens": ("output", "completion", "generated"),
            }
            side = _SIDE.search(lower)
            found |= {"input tokens" if side[1] == "in" else "output tokens"} if side is not None else set()
            found |= {side for side, words in sides.items() if any(word in lower for word in words)}
    usage = _USAGE.search(name) if "sage" in name else None
    if usage is not None:
        found.add("input usage" if usage[1].lower() in ("input", "prompt") else "output usage")
    return frozenset(found)


@lru_cache(_NAMES_KEPT)
def means_itself(name: str) -> bool:
    """Tell whether a name is of the GenAI conventions: it means what it is called."""
    if name[:7] != "gen_ai.":
        return False
    return name in _PUBLISHED or not _NOT_PUBLISHED.match(name)


@lru_cache(_NAMES_KEPT)
def prefix_of(name: str) -> str:
    """Return what stands before the first number in a name, as `llm.tools` in `llm.tools.0.name`; '' where none does."""
    numbered = _NUMBERED.match(name)
    return numbered[1] if numbered else ""
