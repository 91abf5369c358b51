"""A replay under way: what answers each model call and each tool call, and what came of it.

Hooks ask it for every request that a client is about to send, and for every tool that is about to run. The first miss
ends the replay: all later calls get the same miss, so that an agent that catches errors does not leave the record.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from threading import Lock
from typing import TYPE_CHECKING, Any

from retrospan.exporter.replay.answers import (
    Broken,
    CutOff,
    Unknown,
    answer_of_text,
    from_gemini,
    given_call,
    outcome_of,
)
from retrospan.exporter.replay.callers import caller
from retrospan.exporter.replay.comparison import compared
from retrospan.exporter.replay.conditions import Conditions
from retrospan.exporter.replay.drawn import drawn_in
from retrospan.exporter.replay.exchange import Exchange, Live, TransportFailed, Wanted
from retrospan.exporter.replay.record import Explanation, ModelRecord, ToolRecord, ordered_steps, told, unmade
from retrospan.exporter.replay.redacting import Redact, redacted
from retrospan.exporter.replay.report import Report
from retrospan.exporter.replay.rewriting import rewritten
from retrospan.exporter.replay.wire.form import Asked, Form, Refusal, Reply
from retrospan.exporter.replay.wire.forms import form_of, read_request, refusal_reply, reply_of
from retrospan.schemas.bundle.canonical import Canonicalizer, CanonicalRequest
from retrospan.schemas.bundle.form import Json, ModelCall, RunRecord, ToolCall
from retrospan.schemas.errors import ConfigError, ReplayMiss, ReplayRefused

if TYPE_CHECKING:
    from retrospan.exporter.replay.beginning import Beginning
    from retrospan.exporter.replay.updating import Updating

#: The status of a miss: no client tries again after it, and none takes it for a prompt that is too long.
_MISS_STATUS = 422
_HARMLESS = ("none", "read")


class Replaying:
    """The runs that are replayed, and how far the agent has come."""

    def __init__(
        self, runs: Sequence[RunRecord], conditions: Conditions, redact: Redact | None = None
    ) -> None:
        conditions.check()
        self.conditions = conditions
        self._redact = redact
        until = conditions.until
        self.beginning: Beginning | None = None
        if conditions.edits.state and until is not None:
            # Here: most replays set no state.
            from retrospan.exporter.replay.beginning import beginning

            self.beginning = beginning(runs, until, conditions.edits.state)
        #: By number of the call: its step. Only runs that are alone are asked for it.
        self._steps: dict[int, int] = {}
        models: list[ModelCall] = []
        tools: list[ToolCall] = []
        for run in sorted(runs, key=lambda run: run.started_at or 0):
            for call, step in zip(run.calls, ordered_steps(run.calls), strict=True):
                if until is not None and step >= until:
                    continue
                self._steps[call.n] = step
                if isinstance(call, ModelCall):
                    models.append(call)
                elif call.executed is not False:
                    tools.append(call)
        self._canonicalizer = Canonicalizer()
        self._models, self._tools = ModelRecord(models, self._canonicalizer), ToolRecord(tools)
        every = [call for run in runs for call in run.calls if isinstance(call, ToolCall)]
        #: By tool: what it does to the world, as recorded.
        self._effects = {call.name: call.effect for call in every if call.effect != "unknown"}
        self._draws = drawn_in(runs)
        self._seen: set[str] = set()
        #: Tools that ran before the end of the record, since they were named.
        self._ran: set[str] = set()
        #: Places of model calls that were answered: several runs have calls of one number.
        self._answered: set[int] = set()
        self._lock = Lock()
        self._miss: ReplayMiss | None = None
        self._edited = False
        self._form = ""
        self.on_miss: Callable[[], object] = lambda: None
        #: Called before the first model call is answered. What it raises ends the replay.
        self.before_answers: Callable[[], object] | None = None
        #: Tells of tools that are not at a boundary, by their names.
        self.look_for: Callable[[frozenset[str]], None] = lambda names: None
        self.report = Report(tuple(run.run_id for run in runs), len(models), len(tools), settle=self.settle)
        self.report.state_keys = tuple(conditions.edits.state)
        self._updating: Updating | None = None
        if conditions.mode == "update":
            # Here: no other mode makes a new record.
            from retrospan.exporter.replay.updating import Updating

            self._updating = Updating(self.report)

    def give_state(self, who: str, first: int) -> dict[str, Json]:
        """Return the state that the agent begins with. What it did in the steps before `first` is not asked for again.

        Whoever asks again gets the same; the first of them sets out.
        """
        assert self.beginning is not None
        with self._lock:
            if not self.report.state_to:
                self.report.state_to, self.report.state_step = who, first
                numbers = {n for n, step in self._steps.items() if step < first}
                self._models.pass_over(numbers)
                self._tools.pass_over(numbers)
        return deepcopy(self.beginning.state)

    @property
    def miss(self) -> ReplayMiss | None:
        """The miss that ended the replay, if one did."""
        return self._miss

    def exchange(self, asked: Exchange) -> Reply | Live:
        """Return what answers a request, or that it is to be sent.

        Raises:
            TransportFailed: the recorded call ended without an answer.
            ReplayRefused: the request is not one to a model, and its host is not among those that may be reached.
        """
        form = form_of(asked.host, asked.path) if asked.method == "POST" else None
        may_reach = self._may_reach(asked)
        if may_reach and (form is None or not self._answers_named_hosts):
            return Live()
        if asked.is_telemetry and not may_reach:
            with self._lock:
                self.report.kept_back += 1
            return Reply(200, asked.headers.get("content-type", "application/x-protobuf"), (b"",))
        # Up to a step the record answers a model whose host is named as well: it is named for what comes after.
        request = read_request(form, asked.path, asked.body) if form is not None else None
        if form is not None and request is not None:
            return self._model(asked, form, request)
        if may_reach and self._is_over():
            return Live()
        raise self.refuse(f"{asked.method} {asked.url.partition('?')[0]}")

    def refuse(self, what: str) -> ReplayRefused:
        """Note that something was not let out, and return the error to raise."""
        who = caller()
        self.report.refuse(what, who)
        return ReplayRefused(
            f"replay: {what} was refused, wanted by {who}. Only recorded calls are answered; what may be reached "
            "besides is named with hosts= and processes= (--host and --process)."
        )

    def may_connect(self, host: str, port: int | None) -> bool:
        """Tell whether a host may be reached: it is named, or the record has ended and calls go out."""
        names = self.conditions.hosts
        return host in names or (port is not None and f"{host}:{port}" in names)

    def lets_through(self, host: str, port: int | None) -> bool:
        """Tell whether everything may pass to a host unseen; up to a step a model that is named is answered as well."""
        return not self._answers_named_hosts and self.may_connect(host, port)

    @property
    def makes_record(self) -> bool:
        """Tell whether every model call is taken down, wherever it goes."""
        return self._updating is not None

    @property
    def _answers_named_hosts(self) -> bool:
        return self.conditions.until is not None or self.makes_record

    def _may_reach(self, asked: Exchange) -> bool:
        return asked.host in self.conditions.hosts or asked.authority in self.conditions.hosts

    def _model(self, asked: Exchange, form: Form, request: Asked) -> Reply | Live:
        self._begin_answering()
        if self._miss is not None:
            return self._missed(form)
        self._form = form.name
        canonical = self._canonical(request)
        place = self._models.take(canonical, again=asked.is_again)
        if self.conditions.mode == "shadow":
            return self._shadowed(canonical, place, request)
        if place is None and self._updating is not None:
            return self._updating.ask(form, request, asked, canonical.key())
        if place is None:
            if self._is_over():
                return self._live(form, request, asked)
            self.fail(self._models.explain(canonical), "a model call")
            return self._missed(form)
        call = self._models.calls[place]
        outcome = outcome_of(call, request)
        if isinstance(outcome, Unknown):
            self.fail(
                Explanation(f"{told(call)} is not replayable: {outcome.reason}", call.step), "a model call"
            )
            return self._missed(form)
        with self._lock:
            if place not in self._answered:
                self._answered.add(place)
                self.report.answer(call)
        if self._updating is not None:
            self._updating.record.model(canonical.key(), request, call)
        if isinstance(outcome, Broken):
            raise TransportFailed(outcome.kind, outcome.message)
        if isinstance(outcome, Refusal):
            return refusal_reply(form, outcome)
        if isinstance(outcome, CutOff):
            return reply_of(form, outcome.answer, request, outcome.cut)
        return reply_of(form, outcome, request)

    def _begin_answering(self) -> None:
        with self._lock:
            begin, self.before_answers = self.before_answers, None
        try:
            if begin is not None:
                begin()
        except ConfigError as error:
            self.stop(str(error))

    def _canonical(self, request: Asked) -> CanonicalRequest:
        """Return the request as it is compared: without what redaction took out of the record."""
        said: dict[str, Any] = {
            "system": request.system,
            "messages": request.messages,
            "tools": request.tools,
        }
        if self._redact is not None:
            said = redacted(said, self._redact)
        return self._canonicalizer.request(
            model=request.model,
            parameters=request.parameters,
            system=[{"role": "system", "parts": said["system"]}] if said["system"] else None,
            messages=said["messages"],
            tools=said["tools"],
        )

    def _is_over(self) -> bool:
        """Tell whether the recorded part has ended and calls go out now."""
        return self.conditions.until is not None and not self._models.has_left

    def _live(self, form: Form, request: Asked, asked: Exchange) -> Reply | Live:
        """Return what a call after the recorded part gets: a given answer, or the model's own."""
        edits = self.conditions.edits
        with self._lock:
            gives, self._edited = edits.answer is not None and not self._edited, True
            self.report.live.append(f"{request.model or form.name} at {asked.authority}")
        if gives:
            assert edits.answer is not None
            return reply_of(form, answer_of_text(edits.answer, request, "edited"), request)
        return Live(rewritten(form, asked.body, edits) if edits.of_requests else None)

    def next_draws(self) -> Mapping[str, Json]:
        """Return what the next `deterministic()` block drew in the recorded run; nothing if there was none."""
        with self._lock:
            return self._draws.pop(0) if self._draws else {}

    def drew(self, told: Mapping[str, Any]) -> None:
        """Note what a block drew now."""
        with self._lock:
            self.report.edges += told["edges"]
        if self._updating is not None:
            self._updating.record.draws.append(told)

    def new_run(self, before: RunRecord) -> RunRecord:
        """Return the record of what the agent did now. Only in the mode update."""
        assert self._updating is not None
        return self._updating.record.run(before, self._redact)

    def _shadowed(self, canonical: CanonicalRequest, place: int | None, request: Asked) -> Live:
        with self._lock:
            self.report.live.append(request.model or request.form)
            if place is None:
                self.report.differences.append(self._models.explain(canonical).text)
                return Live()
            call = self._models.calls[place]
            self.report.answered.append(call.n)
            self.report.not_compared += 1
        return Live(recorded=call)

    def compare(self, asked: Exchange, found: Live, body: bytes) -> None:
        """Note how an answer of today differs from the recorded one, in the mode shadow."""
        form = form_of(asked.host, asked.path)
        if form is None or found.recorded is None or (sides := compared(form, found.recorded, body)) is None:
            return
        with self._lock:
            self.report.not_compared -= 1
            if sides.difference is not None:
                self.report.differences.append(f"{told(found.recorded)}: {sides.difference}")

    def _missed(self, form: Form) -> Reply:
        assert self._miss is not None
        return refusal_reply(form, Refusal(_MISS_STATUS, "replay_miss", str(self._miss)))

    def fail(self, why: Explanation, what: str) -> ReplayMiss:
        """Note the miss that ends the replay, and return it; a later one is the first again."""
        return self._stop(f"replay: {what} is not in the record: {why.text}.", why.step, why.field)

    def stop(self, why: str) -> ReplayMiss:
        """Note that the replay cannot go on, and return the error to raise; nothing gets out after it."""
        return self._stop(f"replay: {why}", self.conditions.until)

    def _stop(self, text: str, step: int | None, field: str | None = None) -> ReplayMiss:
        with self._lock:
            if self._miss is not None:
                return self._miss
            self._miss = ReplayMiss(text, step=step, field=field)
            self.report.missed, self.report.step, self.report.field_name = text, step, field
        self.on_miss()
        return self._miss

    def tool(self, wanted: Wanted) -> ToolCall | None:
        """Return the recorded call that answers a tool, None if it is to be run.

        Raises:
            ReplayMiss: the record does not hold this call.
            ReplayRefused: the recorded part has ended, and the tool changes the world, or may.
        """
        if self._miss is not None:
            raise self._miss
        with self._lock:
            self._seen.add(wanted.name)
        redact = self._redact
        told_so = [
            each if redact is None else redacted(each, redact) for each in (wanted.arguments, *wanted.others)
        ]
        place = self._tools.take(wanted.name, told_so, wanted.call_id)
        if wanted.name in self.conditions.live_tools and not self._runs_live():
            # It runs: whether the record holds the call is a question all the same.
            if place is None and wanted.name in self._tools.names:
                raise self._no_call(wanted)
            with self._lock:
                self._ran.add(wanted.name)
            return None
        if place is not None:
            call = self._tools.calls[place]
            if not (call.has_result or call.error is not None):
                why = f"{told(call)} is not replayable: {call.reason or 'the record holds no result'}"
                raise self.fail(Explanation(why, call.step), f"a call of {wanted.name}")
            with self._lock:
                self.report.results.append(call.n)
            if self._updating is not None:
                self._updating.record.tool(wanted.name, wanted.arguments, wanted.call_id, call)
            return from_gemini(call) if self._form == "gemini" else call
        if not self._runs_live():
            raise self._no_call(wanted)
        if (edits := self.conditions.edits).has_result and self._take_edit():
            self.report.live.append(f"tool {wanted.name}, given")
            return given_call(wanted.name, self.conditions.until, edits.result)
        effect = wanted.effect or self._effects.get(wanted.name) or "unknown"
        if effect not in _HARMLESS and wanted.name not in self.conditions.live_tools:
            why = {"unknown": "nothing says what it does to the world"}.get(effect, f"its effect is {effect}")
            self.report.refuse(f"the tool {wanted.name}", caller())
            raise ReplayRefused(
                f"replay: the tool {wanted.name} was not run with {json.dumps(wanted.arguments, default=str)}: {why}. "
                "Name it with live_tools= (--run-tool) to let it run."
            )
        with self._lock:
            self.report.live.append(f"tool {wanted.name}")
        if self._updating is not None:
            self._updating.record.runs(wanted.name, wanted.arguments, wanted.call_id, effect)
        return None

    def runs(self, wanted: Wanted) -> None:
        """Note a call of a tool that is the program's own code, such as a handover to an agent: it runs in any case.

        Raises ReplayMiss: the record holds calls of it, but not this one.
        """
        if self._miss is not None:
            raise self._miss
        with self._lock:
            self._seen.add(wanted.name)
        found = self._tools.take(wanted.name, (wanted.arguments, *wanted.others), wanted.call_id)
        # What the record gave the call its id for is that call: handoffs are recorded in many forms.
        found = self._tools.take_id(wanted.name, wanted.call_id) if found is None else found
        if found is None and wanted.name in self._tools.names and not self._runs_live():
            raise self._no_call(wanted)

    def _no_call(self, wanted: Wanted) -> ReplayMiss:
        why = self._tools.explain(wanted.name, wanted.arguments, wanted.call_id)
        return self.fail(why, f"a call of {wanted.name}")

    def _take_edit(self) -> bool:
        with self._lock:
            first, self._edited = not self._edited, True
            return first

    def _runs_live(self) -> bool:
        return self.conditions.mode in ("shadow", "update") or self._is_over()

    def settle(self) -> None:
        """Bring the report up to date with what is left."""
        with self._lock:
            found = unmade(self._models, self._tools, self._seen, self.conditions.live_tools)
            self.report.let_run = found.let_run | self._ran
            self.report.leave(found.models, found.tools, found.unseen)
        self.look_for(self.report.unseen)
