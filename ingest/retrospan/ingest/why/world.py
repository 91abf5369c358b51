"""What a run did to the world, as its calls state it, and what is to be undone."""

from __future__ import annotations

from collections.abc import Iterator

from retrospan.ingest.row_values import text_of, whole
from retrospan.ingest.why.columns import counted, quote_of
from retrospan.ingest.why.named_errors import has_no_tool
from retrospan.ingest.why.rows import RunRows
from retrospan.ingest.why.sentence import Basis, Quote, Row, Sentence

#: How a sentence begins about an effect that need not be undone, by what became of it.
_BECAME = {
    "planned": "It planned, and does not say that it did: ",
    "executed": "It did: ",
    "skipped": "It left out: ",
    "failed": "It did not get done: ",
    "unknown": "It may have done: ",
}
#: Statuses of calls that did something, or may have.
_RAN = ("ok", "error", "incomplete", "unknown")


def world(rows: RunRows) -> Iterator[Sentence]:
    """Yield what is to be undone, then what was changed, then what is not known of either."""
    for row in rows.effects:
        yield _effect(rows, row)
    total = whole(rows.effects[0], "total") or 0 if rows.effects else 0
    if total > len(rows.effects):
        said = f"Of {total:,} effects {len(rows.effects):,} are told here, those to be undone first."
        yield Sentence("more", [said], [Basis("effects", {"run_id": rows.run_id})], None, rows.run_id)
    silent = [group for group in rows.groups("status") if group["effect"] is None and group["status"] in _RAN]
    # A call whose effect another span states is among the effects.
    told = {row["tool_call"] for row in rows.effects if row["tool_call"] is not None}
    silent = [group for group in silent if group["first_ordinal"] not in told]
    if silent:
        yield _silent(rows, silent)
    elif not rows.effects:
        said = "Each call of a tool states that it changes nothing (effect none or read)."
        ran = any(group["status"] in _RAN for group in rows.groups("status"))
        if not ran:
            said = "No call of a tool that was executed is on record, and nothing that it did to the world."
        basis = Basis("effects", {"run_id": rows.run_id, "problem": "to_compensate"}, is_there=False)
        yield Sentence("no_effect", [said], [basis], None, rows.run_id)


def _effect(rows: RunRows, row: Row) -> Sentence:
    step, ordinal = whole(row, "step"), whole(row, "tool_call")
    where = f"step {step}" if step is not None else "a call that is not a step"
    kind = text_of(row, "effect") or "what it does is not stated"
    said: list[str | Quote] = [
        "To be undone: " if row["to_undo"] else _BECAME[str(row["effect_status"])],
        Quote(str(row["tool_name"])),
        f" at {where} ({kind}, {row['effect_status']})",
    ]
    call = rows.call(ordinal) if ordinal is not None else None
    arguments = None if call is None else quote_of(call, "arguments", "arguments_length")
    said += [" with ", arguments] if arguments is not None else []
    key = text_of(row, "idempotency_key")
    said += [", key ", Quote(key)] if key is not None else [", without a key"]
    if row["to_undo"]:
        said.append("; nothing on record undid it")
    elif row["compensated_by"] is not None:
        said += ["; undone by span ", Quote(str(row["compensated_by"]))]
    if (whole(row, "times_executed") or 0) > 1 and key is not None:
        said.append(f"; executed {row['times_executed']} times under this key")
    said.append(".")
    basis = Basis(
        "effects",
        {"run_id": rows.run_id, "span_id": text_of(row, "span_id"), "tool_name": text_of(row, "tool_name")},
    )
    return Sentence("to_undo" if row["to_undo"] else "effect", said, [basis], step, rows.run_id)


def _silent(rows: RunRows, groups: list[Row]) -> Sentence:
    said: list[str | Quote] = [
        "What these calls do to the world is not stated, so whether there is anything to undo is not known: "
    ]
    rests: list[Basis] = []
    by_tool: dict[str, list[Row]] = {}
    for group in groups:
        by_tool.setdefault(str(group["tool_name"]), []).append(group)
    for place, (tool, own) in enumerate(by_tool.items()):
        said += [
            ", " if place else "",
            Quote(tool) if tool else "a tool without a name",
            f" ({_went(rows, own)})",
        ]
        rests += [
            Basis(
                "tool_calls",
                {
                    "run_id": rows.run_id,
                    "ordinal": whole(group, "first_ordinal"),
                    "effect": None,
                    "status": str(group["status"]),
                },
            )
            for group in own
        ]
    more = max((whole(group, "groups") or 0 for group in groups), default=0) - len(rows.groups("status"))
    said.append(f", and {counted(more, 'more kind')} of calls." if more > 0 else ".")
    return Sentence("effects_not_stated", said, rests, None, rows.run_id)


def _went(rows: RunRows, groups: list[Row]) -> str:
    """`2 calls: 1 ok, 1 failed`, or `1 call, which may have happened`."""
    words = {
        "ok": "ok",
        "error": "failed, and may have happened",
        "incomplete": "may have happened",
        "unknown": "may have happened",
    }
    total = sum(whole(group, "calls") or 0 for group in groups)
    failed = sum(whole(group, "calls") or 0 for group in groups if group["status"] == "error")
    tool = str(groups[0]["tool_name"])
    calls = [call for call in rows.calls if call["tool_name"] == tool and call["status"] == "error"]
    if len(calls) == failed and all(map(has_no_tool, calls)):
        words["error"] = "failed: there is no such tool"
    if len(groups) == 1:
        return f"{counted(total, 'call')}, {words[str(groups[0]['status'])]}"
    each = ", ".join(f"{group['calls']} {words[str(group['status'])]}" for group in groups)
    return f"{counted(total, 'call')}: {each}"
