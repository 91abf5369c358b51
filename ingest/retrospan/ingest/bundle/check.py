"""What can be replayed of a run, in words, before anybody tries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from retrospan.schemas.bundle.canonical import canonical_of
from retrospan.schemas.bundle.form import Call, ModelCall, RunRecord, ToolCall

_OPEN = ("running", "incomplete", "killed", "lost")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Calls that cannot be answered from the record for one reason."""

    reason: str
    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Of the calls of a run, how many can be replayed, why not the others, and what of requests cannot be compared."""

    run_id: str
    calls: int
    replayable: int
    gaps: tuple[Gap, ...]
    not_compared: tuple[tuple[str, int], ...]
    is_open: bool
    writes: int
    unknown_effects: int
    idempotency_keys: tuple[tuple[str, str], ...] = ()
    """Tools and the keys that their calls were made with."""

    def said(self) -> str:
        """`14 of 16 calls; 2 cannot be replayed, because …`: the check in one line."""
        if not self.calls:
            return "it has no calls: there is nothing to replay"
        if not self.gaps:
            return f"all {self.calls} calls" if self.calls > 1 else "its one call"
        return f"{self.replayable} of {self.calls} calls"


def check_of(run: RunRecord) -> Check:
    """Return what can be replayed of a run. Calls of tools that were never executed need no answer and do not count."""
    counted = [call for call in run.calls if not (isinstance(call, ToolCall) and call.executed is False)]
    gaps = dict[str, list[Call]]()
    for call in counted:
        if not call.replayable:
            gaps.setdefault(call.reason, []).append(call)
    models = [call for call in counted if isinstance(call, ModelCall)]
    tools = [call for call in counted if isinstance(call, ToolCall)]
    return Check(
        run_id=run.run_id,
        calls=len(counted),
        replayable=sum(call.replayable for call in counted),
        gaps=tuple(Gap(reason=reason, calls=tuple(calls)) for reason, calls in gaps.items()),
        not_compared=_not_compared(models),
        is_open=run.outcome in _OPEN,
        writes=sum(call.effect in ("write", "destructive") for call in tools),
        unknown_effects=sum(call.effect == "unknown" for call in tools),
        idempotency_keys=tuple(
            dict.fromkeys((call.name, call.idempotency_key) for call in tools if call.idempotency_key)
        ),
    )


def _not_compared(models: Sequence[ModelCall]) -> tuple[tuple[str, int], ...]:
    """Return what the record does not hold of requests that can be replayed, with the number of these."""
    found = Counter[str]()
    for call in models:
        if call.replayable:
            found.update(canonical_of(call).held().not_compared())
    return tuple(sorted(found.items()))


def places(calls: Sequence[Call]) -> str:
    """`model calls at steps 1, 3 and 5`: which calls these are, some of them by their steps."""
    kinds = Counter("model call" if isinstance(call, ModelCall) else f"call of {call.name}" for call in calls)
    named = [f"{count} {_plural(kind, count)}" for kind, count in kinds.most_common(3)]
    if len(kinds) > 3:
        named.append(f"{sum(kinds.values()) - sum(count for _, count in kinds.most_common(3))} more")
    steps = [str(call.step) for call in calls if call.step is not None]
    shown = ", ".join(steps[:6]) + (", …" if len(steps) > 6 else "")
    if not steps:
        return ", ".join(named)
    return f"{', '.join(named)} ({'step' if len(steps) == 1 else 'steps'} {shown})"


def _plural(kind: str, count: int) -> str:
    return kind if count == 1 else kind.replace("call", "calls", 1)
