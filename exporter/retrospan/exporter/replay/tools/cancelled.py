"""A tool that was cancelled while it ran, as by a time limit of the agent's: in a replay it waits until it is cancelled
again.
"""

from __future__ import annotations

import asyncio

from retrospan.exporter.replay.current import current
from retrospan.exporter.replay.record import Explanation, told
from retrospan.exporter.replay.tools.given import value_of
from retrospan.schemas.bundle.form import Json, ToolCall

_CANCELLED = "CancelledError"
#: How much longer than when it was recorded the agent may take to cancel it.
PATIENCE_SECONDS = 30.0


async def value_or_wait(call: ToolCall, *, result_first: bool = False) -> Json:
    """Return the recorded result, or raise the recorded error, as `value_of`; a call that was cancelled waits for that.

    Raises ReplayMiss where nobody cancels it in the time that it ran, and `PATIENCE_SECONDS`.
    """
    if was_cancelled(call) and _runs_in_asyncio():
        ran = max(0, (call.ended_at or 0) - (call.started_at or 0)) / 1e9
        await asyncio.sleep(ran + PATIENCE_SECONDS)
        if (replaying := current()) is not None:
            why = f"{told(call)} was cancelled when it had run for {ran:.1f} s, and is not cancelled now"
            raise replaying.fail(Explanation(why, call.step), f"the end of a call of {call.name}")
    return value_of(call, result_first=result_first)


def was_cancelled(call: ToolCall) -> bool:
    """Tell whether a call ended since it was cancelled."""
    return call.error is not None and (call.error.type or "").rpartition(".")[2] == _CANCELLED


def _runs_in_asyncio() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
