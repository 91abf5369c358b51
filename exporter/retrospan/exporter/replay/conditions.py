"""The conditions of a replay: up to which step, with which changes, and what may still be reached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

from retrospan.schemas.errors import ConfigError

if TYPE_CHECKING:
    from retrospan.schemas.bundle.form import RunRecord

Mode = Literal["strict", "until", "shadow", "edit", "update"]
MODES: tuple[Mode, ...] = ("strict", "until", "shadow", "edit", "update")
_NOTHING: Mapping[str, object] = MappingProxyType({})


class Edits(NamedTuple):
    """What is changed from the step on at which the record ends."""

    prompt: str | None = None
    """The instructions that take the place of the agent's own."""
    answer: str | None = None
    """What the model says at that step, instead of being asked."""
    result: object = None
    """What the first tool called from that step on returns, without being run."""
    has_result: bool = False
    request: Mapping[str, object] = _NOTHING
    """Fields of the request's body, by their paths: model, temperature, generationConfig.temperature …"""
    state: Mapping[str, object] = _NOTHING
    """Values of the state that the agent begins with, by their paths: price, customer.name …"""

    @property
    def there(self) -> bool:
        return bool(self.of_requests or self.answer is not None or self.has_result or self.state)

    @property
    def of_requests(self) -> bool:
        """Tell whether requests to models are others than the agent's own."""
        return bool(self.prompt is not None or self.request)

    def patch(self) -> dict[str, object]:
        """Return what was changed, as the new run records it."""
        found: dict[str, object] = {}
        if self.prompt is not None:
            found["prompt"] = self.prompt
        if self.answer is not None:
            found["answer"] = self.answer
        if self.has_result:
            found["result"] = self.result
        if self.request:
            found["request"] = dict(self.request)
        if self.state:
            found["state"] = dict(self.state)
        return found


class Conditions(NamedTuple):
    """How a run is replayed."""

    mode: Mode = "strict"
    until: int | None = None
    """The first step that is not answered from the record; None answers all of them."""
    edits: Edits = Edits()
    hosts: frozenset[str] = frozenset()
    """Hosts that may be reached whatever is recorded, each as `host` or `host:port`."""
    processes: frozenset[str] = frozenset()
    """Programs that may be started, by name; `fork` lets the process fork."""
    live_tools: frozenset[str] = frozenset()
    """Tools that may run, whatever they do to the world; before the end of the record, too."""
    redaction: str = "off"
    """What is taken out of a request before it is compared: `off`, `secrets`, `all` or a TOML file, as for recording."""

    def check(self) -> None:
        """Raise ConfigError for what does not go together."""
        if self.mode not in MODES:
            raise ConfigError(f"mode: there is no mode {self.mode!r}; there are {', '.join(MODES)}.")
        if self.mode in ("until", "edit") and self.until is None:
            raise ConfigError(
                f"mode {self.mode!r} wants until=, the first step that is not answered from the record."
            )
        if self.mode in ("strict", "shadow", "update") and self.until is not None:
            raise ConfigError(
                f"mode {self.mode!r} does not go with until=; choose the mode 'until' or 'edit'."
            )
        if self.until is not None and self.until < 1:
            raise ConfigError(f"until={self.until}: steps are counted from 1.")
        if self.edits.there and self.mode != "edit":
            raise ConfigError(f"edits go with the mode 'edit' only, not with {self.mode!r}.")

    def check_reach(self, runs: Sequence[RunRecord]) -> None:
        """Raise ConfigError where the step that is not answered from the record lies beyond the end of the runs.

        Right behind the last step an agent may go on where the record ends.
        """
        steps = [call.step for run in runs for call in run.calls if call.step is not None]
        steps += [state.step for run in runs for state in run.states]
        last = max(steps, default=0)
        if self.until is None or not steps or self.until <= last + 1:
            return
        whose = f"run {runs[0].run_id} ends" if len(runs) == 1 else f"these {len(runs)} runs end"
        raise ConfigError(f"there is no step {self.until}: {whose} with step {last}.")
