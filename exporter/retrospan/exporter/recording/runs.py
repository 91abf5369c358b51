"""A run: one execution of an agent, from its input to its answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from opentelemetry.context import Context
from opentelemetry.trace import format_trace_id

from retrospan.exporter.recording.encoding import json_text
from retrospan.exporter.recording.guests import lenient, say_once
from retrospan.exporter.recording.lineage import DESCENT, KEEPS_ORIGIN, RunReference, link
from retrospan.exporter.recording.scopes import new_run_id, scope_in, with_run
from retrospan.exporter.recording.spanning import Spanning
from retrospan.exporter.recording.states import Around, StateOf
from retrospan.exporter.recording.telling import fill
from retrospan.schemas.attributes import (
    FORK_PATCH,
    FORK_STEP,
    OUTPUT_EVENT,
    RUN_FLAGGED,
    RUN_ID,
    RUN_KIND,
    RUN_ORIGIN,
    STATE_EVENT,
)


class Run(Spanning):
    """A run that is being recorded; what `run(...)` returns."""

    id: str = ""
    """The id of the run: by default that of its trace."""
    origin: str = ""
    """The first run over resumes and retries; this one's own id where it is neither."""

    def __init__(
        self,
        agent: str,
        *,
        descent: Mapping[str, str | RunReference | Run | None],
        values: Mapping[str, object],
        state: StateOf,
    ) -> None:
        super().__init__()
        self._agent = agent
        self._descent = descent
        self._values = values
        self._around = Around(state)
        self._parents = _parents(descent)

    @property
    def reference(self) -> str:
        """Text that identifies this run elsewhere: store it with a checkpoint, and pass it to `run(resumes=…)`."""
        at = self.span.get_span_context()
        return str(RunReference(self.id, self.origin, at.trace_id, at.span_id))

    def flag(self) -> None:
        """Ask that this run be kept."""
        if self.span.is_recording():
            fill(self.span, STATE_EVENT, {RUN_FLAGGED: True})

    def answer(self, text: object) -> None:
        """Record the run's answer."""
        if self.span.is_recording():
            fill(self.span, OUTPUT_EVENT, {"gen_ai.output.messages": _message("assistant", text)})

    def named(self) -> str:
        return f"invoke_agent {self._agent}"

    def inside(self, at: Context) -> Context:
        given, values = scope_in(at), self._values
        kept = next((parent.origin for kind, parent in self._parents if kind in KEEPS_ORIGIN), "")
        self.id = str(values.get("id") or "") or (given.run_id if given and not self._parents else "")
        self.id = self.id or self._own_id()
        joins = given is not None and given.run_id == self.id
        self.origin = (
            str(values.get("origin") or "") or kept or (given.origin if given and joins else self.id)
        )
        # What the context says of another run, or of another agent's part, is not this one's.
        conversation = values.get("conversation") or (given.conversation if given and joins else "")
        return with_run(at, self.id, self.origin, self._agent, str(conversation))

    def _own_id(self) -> str:
        """Return the trace's id where this span begins one, else a new id: the trace may hold other runs."""
        is_root = getattr(self.span, "parent", None) is None
        trace_id = self.span.get_span_context().trace_id
        return format_trace_id(trace_id) if is_root and trace_id else new_run_id()

    def begun(self) -> None:
        span = self.span
        if not span.is_recording():
            return
        span.set_attributes({RUN_ID: self.id, RUN_ORIGIN: self.origin, **self._said()})
        for kind, parent in self._parents:
            link(span, kind, parent)
        self._around.begin(span)

    def _said(self) -> dict[str, Any]:
        values = self._values
        said: dict[str, Any] = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": self._agent}
        for key, name in (
            (RUN_KIND, "kind"),
            ("gen_ai.agent.version", "version"),
            ("gen_ai.conversation.id", "conversation"),
            (FORK_STEP, "at_step"),
        ):
            if values.get(name) is not None:
                said[key] = values[name]
        if values.get("flagged"):
            said[RUN_FLAGGED] = True
        if values.get("patch") is not None:
            said[FORK_PATCH] = json_text(values["patch"])
        if values.get("input") is not None:
            said["gen_ai.input.messages"] = _message("user", values["input"])
        return said

    def ended(self, error: BaseException | None) -> None:
        self._around.end(self.span)

    def called(
        self, function: Callable[..., object], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> None:
        self._around.called(function, args, kwargs)

    def returned(self, value: object) -> None:
        self._around.returned(value)

    def again(self) -> Run:
        return Run(self._agent, descent=self._descent, values=self._values, state=self._around.what)


def _parents(descent: Mapping[str, str | RunReference | Run | None]) -> list[tuple[str, RunReference]]:
    """Return what the run descends from, and how; what cannot be read is logged and left out."""
    found: list[tuple[str, RunReference]] = []
    for kind in DESCENT:
        given = descent.get(kind)
        try:
            if given is not None:
                known = given.reference if isinstance(given, Run) else str(given)
                found.append((kind, RunReference.parse(known)))
        except Exception as error:  # noqa: BLE001 - a guest
            say_once(f"run({kind}=…)", error)
    return found


def _message(role: str, text: object) -> str:
    content = text if isinstance(text, str) else json_text(text)
    return json_text([{"role": role, "parts": [{"type": "text", "content": content}]}])


@lenient
def run(
    agent: str = "agent",
    *,
    id: str | None = None,
    origin: str | None = None,
    kind: str | None = None,
    flagged: bool = False,
    version: str | None = None,
    conversation: str | None = None,
    input: object = None,
    state: StateOf = None,
    resumes: str | RunReference | Run | None = None,
    retries: str | RunReference | Run | None = None,
    forks: str | RunReference | Run | None = None,
    replays: str | RunReference | Run | None = None,
    at_step: int | None = None,
    patch: object = None,
) -> Run:
    """Record one execution of an agent, as a context manager or a decorator.

    Everything recorded inside belongs to the run, also in other processes that baggage reaches. Inside a run
    that the context knows, `run` without `id` and without a parent is part of that run: another agent of it.

    Args:
        agent: The agent's name.
        id: The run's id, unique among all runs; by default the id of the trace that it begins.
        origin: The first run over resumes and retries; by default that of the run resumed or retried, else `id`.
        kind: `production`, `test`, `eval`, `golden` or `demo`.
        flagged: Whether the run is to be kept.
        version: The agent's version.
        conversation: The conversation of which this run is one turn.
        input: What the user asked.
        state: An object whose content is the state, before and after the run; see `step`.
        resumes, retries, forks, replays: The run that this one descends from: a run id, or better `Run.reference`.
        at_step: The step of that run at which this one forks.
        patch: What was changed at the fork: a JSON Patch, or any value.
    """
    values = {
        "id": id,
        "origin": origin,
        "kind": kind,
        "flagged": flagged,
        "version": version,
        "conversation": conversation,
        "input": input,
        "at_step": at_step,
        "patch": patch,
    }
    descent = {"resumes": resumes, "retries": retries, "forks": forks, "replays": replays}
    return Run(agent, descent=descent, values=values, state=state)


def current_run() -> str | None:
    """Return the id of the current run, None outside a run."""
    scope = scope_in()
    return scope.run_id or None if scope else None
