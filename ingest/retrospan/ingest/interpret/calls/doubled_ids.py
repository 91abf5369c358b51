"""Ids that one answer gave to several calls: each call of its own where the next prompt tells as many results, else one call
that is told twice where nothing else differs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from retrospan.ingest.interpret.calls.calls import RequestedCall
from retrospan.ingest.interpret.messages.message import Part, act_of


def doubled_ids(asked: Sequence[RequestedCall]) -> set[str]:
    """Return the ids that an answer gave to more than one call: by them alone no result is that of one of these."""
    times = Counter((call.by, call.call_id) for call in asked if call.call_id)
    return {call_id for (_, call_id), count in times.items() if call_id and count > 1}


def results_by_id(asked: Sequence[Part], said: Sequence[Part]) -> list[Part | None]:
    """Return what each call of one answer returned, by ids: of one that several calls have, in order if there are as many
    results; the same for all if they are one call; else it is not known whose it is."""
    told: dict[str, list[Part]] = {}
    for part in said:
        if "id" in part:
            told.setdefault(part["id"], []).append(part)
    calls: dict[str, list[Part]] = {}
    for part in asked:
        calls.setdefault(part.get("id", ""), []).append(part)
    for call_id, of_id in calls.items():
        results = told.get(call_id, [])
        if len(of_id) > 1 and results and len(results) != len(of_id):
            is_one = all(act_of(part) == act_of(of_id[0]) for part in of_id)
            told[call_id] = results[:1] * len(of_id) if is_one else []
    in_order = {call_id: iter(results) for call_id, results in told.items()}
    return [next(in_order.get(part.get("id", ""), iter(())), None) for part in asked]


def without_doubles(asked: Sequence[RequestedCall]) -> list[RequestedCall]:
    """Return the calls without those that are told again in their answer: with the same id, tool and arguments, and no result
    of their own. The results must be noted."""
    if not doubled_ids(asked):
        return [*asked]
    found: list[RequestedCall] = []
    for call in asked:
        same = (
            each
            for each in found
            if (each.by, each.call_id, each.name) == (call.by, call.call_id, call.name)
            and each.arguments == call.arguments
            and each.result is call.result
        )
        if not call.call_id or next(same, None) is None:
            found.append(call)
    return found
