"""Which run and which task step the program is in: carried by the OpenTelemetry context and, between processes, by
baggage.

OpenTelemetry passes the context to asyncio tasks automatically. Threads and processes get it from a *carrier*, a dict
of text that one side creates and the other joins; its names are those of environment variables, so that it can be
passed to a child process as its environment.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from uuid import uuid4

from opentelemetry import baggage, context
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.context import Context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from retrospan.exporter.recording.guests import guest, say_once
from retrospan.schemas.attributes import RUN_ID, RUN_ORIGIN
from retrospan.schemas.semconv import AGENT_NAME, CONVERSATION_ID

_SCOPE = context.create_key("retrospan-scope")
#: Both propagators whatever the program chose: the carrier is between two ends of ours.
_PROPAGATORS = (TraceContextTextMapPropagator(), W3CBaggagePropagator())
_NAMES = ("traceparent", "tracestate", "baggage")


@dataclass(frozen=True, slots=True)
class Scope:
    """The run that is being recorded, the first run over its resumes and retries, and the step it is at."""

    run_id: str
    origin: str
    agent: str = ""
    """The agent whose run it is; '' where it is not known."""
    conversation: str = ""
    step: str = ""
    """Index of the task step, or its name where it has no index; '' outside of one."""
    checkpoints: tuple[list[str], ...] = ()
    """One list, shared by all scopes of the run in this process: the checkpoint made last."""


def scope_in(at: Context | None = None) -> Scope | None:
    """Return the run of a context (default: the current one): as set here, else as baggage brought it, else None."""
    found = context.get_value(_SCOPE, at)
    if isinstance(found, Scope):
        return found
    run_id = baggage.get_baggage(RUN_ID, at)
    if not isinstance(run_id, str) or not run_id:
        return None
    origin, agent, conversation = (_carried(name, at) for name in (RUN_ORIGIN, AGENT_NAME, CONVERSATION_ID))
    return Scope(run_id, origin or run_id, agent, conversation)


def _carried(name: str, at: Context | None) -> str:
    value = baggage.get_baggage(name, at)
    return value if isinstance(value, str) else ""


def with_run(at: Context, run_id: str, origin: str, agent: str = "", conversation: str = "") -> Context:
    """Return the context of a new run: known in this process, and wherever baggage is sent."""
    at = context.set_value(_SCOPE, Scope(run_id, origin, agent, conversation, checkpoints=([],)), at)
    said = {RUN_ID: run_id, RUN_ORIGIN: origin, AGENT_NAME: agent, CONVERSATION_ID: conversation}
    for name, value in said.items():
        if value:
            at = baggage.set_baggage(name, value, at)
        elif baggage.get_baggage(name, at) is not None:  # that of another run
            at = baggage.remove_baggage(name, at)
    return at


def claims_in(at: Context | None, *, whole: bool = True) -> dict[str, str]:
    """Return the attributes that put a span into the run of a context; `whole`: with its agent and conversation."""
    scope = scope_in(at)
    if scope is None or not scope.run_id:
        return {}
    said = {RUN_ID: scope.run_id, RUN_ORIGIN: scope.origin}
    if whole and scope.agent:
        said[AGENT_NAME] = scope.agent
    if whole and scope.conversation:
        said[CONVERSATION_ID] = scope.conversation
    return said


def with_step(at: Context, step: str) -> Context:
    """Return the context inside a task step."""
    scope = scope_in(at) or Scope("", "")
    return context.set_value(_SCOPE, replace(scope, step=step), at)


def new_run_id() -> str:
    """Return the id of a run that is not one whole trace: 32 hex digits."""
    return uuid4().hex


@guest(dict[str, str]())
def carrier() -> dict[str, str]:
    """Return the current span, run and origin as text, for a child process (`env={**os.environ, **carrier()}`) or a
    thread.

    The names are `TRACEPARENT`, `TRACESTATE` and `BAGGAGE`. Empty where nothing is being recorded.
    """
    found: dict[str, str] = {}
    for propagator in _PROPAGATORS:
        propagator.inject(found)
    return {name.upper(): text for name, text in found.items()}


@contextmanager
def joined(given: Mapping[str, str] | None = None) -> Iterator[None]:
    """Continue, inside the block, in a carrier's span and run; by default the process's environment.

    A carrier that is empty or unreadable changes nothing.
    """
    token = None
    try:
        source = os.environ if given is None else given
        found = {name: text for name in _NAMES if (text := source.get(name.upper()) or source.get(name))}
        if found:
            at = context.get_current()
            for propagator in _PROPAGATORS:
                at = propagator.extract(found, at)
            token = context.attach(at)
    except Exception as error:  # noqa: BLE001 - a guest
        say_once("joined", error)
    try:
        yield
    finally:
        if token is not None:
            context.detach(token)
