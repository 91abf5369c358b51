"""Recorded spans with pieces lost on their way, and spans of agents that state everything: what rules fall back on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random

from retrospan.ingest.interpret.spans.span import Event, Link, Span
from retrospan.schemas.attributes import LINK_TYPE, RUN_ID

#: Of each hundred, so many are lost: spans, log records; so many texts are cut, and so many values in JSON are worn.
SPANS, LOGS, CUT, WORN = 8, 8, 4, 40
#: Of each hundred keys inside a value, so many are lost, and so many get another name.
KEYS_LOST, KEYS_RENAMED = 4, 5
#: Names that mean the same somewhere.
_SYNONYMS = (
    ("arguments", "args", "input", "tool_kwargs", "function_call_arguments_json"),
    ("content", "text", "blocks", "parts", "output_text"),
    ("id", "call_id", "tool_call_id", "toolCallId", "toolUseId", "tool_use_id", "ref"),
    ("name", "tool_name", "toolName", "function_call_name"),
    ("role", "type"),
    ("response", "result", "output", "value", "json"),
    ("tool_calls", "function_call", "functionCall", "toolUse", "toolRequest"),
    ("functionResponse", "function_response", "toolResult", "toolResponse"),
    ("messages", "contents", "input", "prompt", "chat_history"),
    ("choices", "generations", "candidates", "replies", "message"),
    ("usage", "usage_metadata", "token_usage", "models_usage"),
    ("input_tokens", "prompt_tokens", "promptTokenCount", "inputTokens"),
    ("output_tokens", "completion_tokens", "candidatesTokenCount", "outputTokens"),
    ("kwargs", "data", "additional_kwargs", "inputs", "raw"),
    ("status", "is_error", "isError", "error"),
    ("document_id", "doc_id", "id", "document", "metadata"),
)
_BY_NAME = {name: names for names in _SYNONYMS for name in names}

#: What an agent may state, by event; of each key some values that can be read and one that cannot.
_STATED: dict[str, dict[str, Sequence[object]]] = {
    "observation": {
        "entity.type": ("customer", "order", ""),
        "entity.id": ("1", "2", 7),
        "changes": ('{"tier": "gold"}', '{"tier": null, "city": "Oslo"}', '{"tier": {"a": [1]}}', "tier"),
        "observation.id": ("o1", "o2", 3),
        "valid_from": ("2026-11-20T14:32:00Z", "2026-11-19T00:00:00+01:00", "yesterday"),
        "source": ("tool", "user", False),
        "confidence": (0.5, 1, 1.5),
        "priority": (0, -3, 1000),
        "correction": (True, False, "yes"),
        "reason": ("a letter", "", 1),
    },
    "use": {
        "entity.type": ("customer", "order", 1),
        "entity.id": ("1", "2", ""),
        "field": ("tier", "city", 0),
        "observation.id": ("o1", "o9", 0),
    },
    "decision": {
        "decision.name": ("refund", "route", 1),
        "decision.chosen": ("yes", "no", ["no"]),
        "decision.options": ('["yes", "no"]', "[]", "yes, no"),
        "decision.rationale": ("the policy", "", 2),
        "decision.confidence": (0.9, 0, -1),
    },
    "checkpoint": {
        "checkpoint.id": ("c1", "c2", 1),
        "checkpoint.parent": ("c0", "c1", 0),
        "checkpoint.trigger": ("step", "", 0),
    },
    "derivation": {
        "relation": ("used", "wasGeneratedBy", "wasDerivedFrom", "wasInformedBy", "made"),
        "subject": ("output:a", "entity:customer/1", "observation:o1", "a"),
        "object": ("document:b", "output:a", "step:1", ""),
        "role": ("source", "", 1),
    },
    "compaction": {
        "compaction.type": ("summary", "trim", 1),
        "compaction.tokens_before": (900, "900", -1),
        "compaction.tokens_after": (100, 0, "few"),
    },
    "approval": {
        "approval.decision": ("approve", "reject", 1),
        "approval.approver": ("ada", "", 1),
        "approval.explanation": ("fine", "", 1),
    },
    "unheard_of": {"anything": (1,)},
}
_ON_SPANS: dict[str, Sequence[object]] = {
    "run.id": ("run-7", "run-7", "run-8"),
    "run.origin": ("run-1", 1),
    "run.kind": ("eval", "made-up"),
    "run.flagged": (True, "true"),
    "step.index": (1, 2, "3"),
    "step.name": ("search", "answer", 1),
    "step.total": (3, "3", -1),
    "attempt": (1, 2, 3, 0),
    "state.before": ('{"a": 1}', '{"a": 1, "b": [1, 2]}', "[]", '{"a":'),
    "state.after": ('{"a": 2}', '{"b": {"c": null}}', "{}", "1"),
    "state.patch": (
        '[{"op": "add", "path": "/b", "value": 2}]',
        '[{"op": "remove", "path": "/a"}, {"op": "test", "path": "/b", "value": [1, 2]}]',
        '[{"op": "move", "from": "/a", "path": "/c"}, {"op": "copy", "from": "/c", "path": "/d"}]',
        '[{"op": "replace", "path": "/b/1", "value": 3}, {"op": "add", "path": "/b/-", "value": 4}]',
        '[{"op": "replace", "path": "/z/z", "value": 3}]',
        "{}",
    ),
    "state.schema": ("s@1", 1),
    "effect": ("write", "read", "none", "destructive", "much"),
    "effect.status": ("executed", "planned", "unknown", "failed", "skipped", "done"),
    "idempotency.key": ("k1", "k2", 1),
    "compensates": ("0000000000000002", "0000000000000003", "?"),
    "attempt.backoff_ms": (100, "100"),
    "output.id": ("a", "b", 1),
    "context.limit": (1000, "1000"),
    "context.tokens": (10, -1),
    "error.origin": ("reasoning", "tool_response", "luck"),
    "error.class": ("transient", "systematic", "bad"),
    "fork.step": (1, 2, "2", 0),
}
_CHANGED = '{"record_id": "C-1", "field": "city", "before": "Bergen", "after": "Oslo", "version": 2}'
_LINKS = ("resumes", "forks", "replays", "retries", "derived_from", "continues", "resembles", None)
_BEGAN = 1_795_184_000_000_000_000


def damaged(spans: Sequence[Span], seed: str, lost: int) -> list[Span]:
    """Return what is left of the spans, in another order; the same for the same seed.

    `lost`: how many of each hundred attributes.
    """
    chance = Random(seed)
    left = [
        replace(
            span,
            attributes=_worn(span.attributes, lost, chance),
            events=[replace(each, attributes=_worn(each.attributes, lost, chance)) for each in span.events],
            logs=[each for each in span.logs if chance.randrange(100) >= LOGS],
        )
        for span in spans
        if chance.randrange(100) >= SPANS
    ]
    chance.shuffle(left)
    return left


def _worn(attributes: Mapping[str, object], lost: int, chance: Random) -> dict[str, object]:
    left = {}
    for key, value in attributes.items():
        fate = chance.randrange(100)
        if fate >= lost + CUT or (fate >= lost and not isinstance(value, str)):
            left[key] = _worn_inside(value, chance)
        elif fate >= lost:
            left[key] = str(value)[: len(str(value)) // 2]
    return left


def _worn_inside(value: object, chance: Random) -> object:
    """Return JSON text with keys lost and renamed, at times as Python prints it; any other value as it is."""
    if not isinstance(value, str) or value[:1] not in ("[", "{") or chance.randrange(100) >= WORN:
        return value
    try:
        read = json.loads(value)
    except ValueError:
        return value
    worn = _renamed(read, chance)
    return str(worn) if chance.randrange(8) == 0 else json.dumps(worn)


def _renamed(value: object, chance: Random) -> object:
    if isinstance(value, list):
        return [_renamed(item, chance) for item in value]
    if not isinstance(value, dict):
        return value
    left = {}
    for key, item in value.items():
        fate = chance.randrange(100)
        if fate >= KEYS_LOST:
            names = _BY_NAME.get(key, (key,)) if fate < KEYS_LOST + KEYS_RENAMED else (key,)
            left[chance.choice(names)] = _renamed(item, chance)
    return left


def stated(seed: str) -> list[Span]:
    """Return the spans of a made-up agent that states much, some of it in ways that cannot be read."""
    chance = Random(seed)
    spans: list[Span] = []
    for number in range(1, chance.randrange(3, 12)):
        kind = chance.choice(("agent", "tool", "chat", "chat", "step")) if number > 1 else "agent"
        began = _BEGAN + number * 1_000_000_000 + chance.randrange(3) * 500_000_000
        failed = chance.randrange(6) == 0
        spans.append(
            Span(
                trace_id="c" * 32,
                span_id=f"{number:016x}",
                parent_span_id=_parent(number, chance),
                name=f"{kind} {number}",
                kind=1,
                flags=0,
                started_at=began,
                ended_at=began + chance.randrange(1, 4) * 700_000_000,
                status="error" if failed else "unset",
                status_message="it failed" if failed else "",
                scope="made",
                scope_version="1",
                attributes=_of_kind(kind, number, chance) | _picked(_ON_SPANS, chance, 4),
                resource={},
                events=_events(began, chance),
                links=_links(chance),
                arrived_at=began + 9_000_000_000,
            )
        )
    chance.shuffle(spans)
    return spans


def _parent(number: int, chance: Random) -> str:
    """Return the id of an earlier span, at times of none or of one that never came."""
    if number == 1 or chance.randrange(8) == 0:
        return ""
    return "f" * 16 if chance.randrange(12) == 0 else f"{chance.randrange(1, number):016x}"


def _links(chance: Random) -> list[Link]:
    found = []
    for _ in range(chance.randrange(3) if chance.randrange(3) == 0 else 0):
        named = {LINK_TYPE: chance.choice(_LINKS), RUN_ID: chance.choice(("run-1", "c" * 32, "", None))}
        found.append(
            Link(
                trace_id=chance.choice(("c", "d", "e")) * 32,
                span_id="1" * 16,
                attributes={key: value for key, value in named.items() if value is not None},
            )
        )
    return found


def _of_kind(kind: str, number: int, chance: Random) -> dict[str, object]:
    if kind == "agent":
        return {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": chance.choice(("ada", "bo"))}
    if kind == "tool":
        return {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": chance.choice(("send", "look", "update_record")),
            "gen_ai.tool.call.id": f"call-{chance.randrange(number)}",
            "gen_ai.tool.call.arguments": json.dumps(
                {"to": chance.choice(("a", "b")), "record_id": "C-1", "field": "city", "value": "Oslo"}
            ),
            "gen_ai.tool.call.result": chance.choice(('{"ok": true}', "done", '{"error": "no"}', _CHANGED)),
        }
    if kind == "step":
        return {}
    asked = {
        "type": "tool_call",
        "id": f"call-{number}",
        "name": chance.choice(("send", "look")),
        "arguments": {"to": chance.choice(("a", "b"))},
    }
    answer = chance.choice(([asked], [{"type": "text", "content": "Done."}], [asked, asked]))
    prompt = [{"role": "user", "parts": [{"type": "text", "content": "Write to a."}]}]
    prompt += [
        {"role": "assistant", "parts": [asked | {"id": f"call-{chance.randrange(number)}"}]}
    ] * chance.randrange(2)
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": chance.choice(("m", "m-2026")),
        "gen_ai.input.messages": json.dumps(prompt),
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": answer}]),
        "gen_ai.usage.input_tokens": chance.randrange(100),
        "gen_ai.usage.output_tokens": chance.randrange(10),
    }


def _picked(from_: Mapping[str, Sequence[object]], chance: Random, most: int) -> dict[str, object]:
    keys = chance.sample(sorted(from_), chance.randrange(most + 1))
    return {f"retrospan.{key}": chance.choice(from_[key]) for key in keys}


def _events(began: int, chance: Random) -> list[Event]:
    found = []
    for _ in range(chance.randrange(4)):
        name = chance.choice(sorted(_STATED))
        # All keys but perhaps one.
        said = {f"retrospan.{key}": chance.choice(values) for key, values in _STATED[name].items()}
        if chance.randrange(3) == 0:
            said.pop(chance.choice(sorted(said)))
        found.append(Event(name=f"retrospan.{name}", time_ns=began + chance.randrange(5), attributes=said))
    return found
