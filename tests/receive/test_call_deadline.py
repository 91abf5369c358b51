"""Who watches the calls sleeps while none waits, wakes for the first, and ends when asked."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from retrospan.ingest.receive.budget import Budget
from retrospan.ingest.receive.call_deadline import ReadDeadline

PATIENCE = 30.0
#: Fifty turns of a watch that does not sleep.
SEVERAL_TURNS = 1.0


@dataclass
class Silent:
    """A call whose message never comes."""

    cancelled: threading.Event = field(default_factory=threading.Event)

    def peer(self) -> str:
        return "ipv4:127.0.0.1:1"

    def cancel(self, *reason: object) -> None:
        self.cancelled.set()


class Watch(ReadDeadline):
    """Counts its turns."""

    def __init__(self, seconds: float) -> None:
        super().__init__(lambda: False, seconds, seconds, budget=Budget(1 << 20))
        self.turns = 0

    def run_once(self) -> None:
        super().run_once()
        self.turns += 1


def test_nobody_is_watched_while_no_call_waits() -> None:
    watch = Watch(3600.0)
    watch.start()
    assert not watch.is_stopping
    threading.Event().wait(SEVERAL_TURNS)
    assert watch.turns == 0
    watch.wait_for(Silent())
    watch.arrived()
    threading.Event().wait(SEVERAL_TURNS)
    assert watch.turns <= 3
    assert watch.stop()


def test_a_call_after_a_long_silence_is_watched_as_any_other() -> None:
    watch = Watch(0.05)
    watch.start()
    for call in (Silent(), Silent()):
        watch.wait_for(call)
        assert call.cancelled.wait(PATIENCE)
        watch.arrived()
    assert watch.stop()
