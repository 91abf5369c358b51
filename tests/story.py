"""Canonical rows of made-up runs: say what a run did step by step, and put the rows into the tables."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from typing import Any

from retrospan.ingest.interpret.rows.shared_refs import crossings_of
from retrospan.schemas import canonical, stated
from retrospan.schemas.references import message_ref, step_ref
from retrospan.schemas.store import Store

Ask = Callable[..., list[dict[str, Any]]]  # the `ask` fixture: SELECT and parameters to rows

SECOND = 1_000_000_000
START = 1_780_000_000 * SECOND  # 2026-05-28

_TABLES: dict[type, str] = {
    canonical.TraceRow: "canon_traces",
    canonical.SpanRow: "canon_spans",
    canonical.ValueRow: "canon_values",
    canonical.ModelCallRow: "canon_model_calls",
    canonical.ToolCallRow: "canon_tool_calls",
    canonical.StepRow: "canon_steps",
    canonical.StateChangeRow: "canon_state_changes",
    canonical.EdgeRow: "canon_edges",
    canonical.FailureRow: "canon_failures",
    canonical.AttemptRow: "canon_attempts",
    canonical.CrossingRow: "canon_crossings",
    canonical.ProblemRow: "canon_problems",
    stated.ObservationRow: "canon_observations",
    stated.UseRow: "canon_uses",
    canonical.RunRow: "canon_runs",
}
_TIMES = frozenset(
    {"started_at", "ended_at", "at", "newest_ended_at", "arrived_at", "valid_from", "known_from", "said_at"}
)


def write(store: Store, rows: Iterable[object]) -> None:
    """Insert canonical rows, each into its table."""
    by_table: dict[str, list[str]] = {}
    for row in rows:
        fields = asdict(row)  # type: ignore[call-overload]  # one of the dataclasses above
        for name in _TIMES & fields.keys():
            if fields[name] is not None:
                fields[name] = f"{fields[name] // SECOND:010d}.{fields[name] % SECOND:09d}"
        by_table.setdefault(_TABLES[type(row)], []).append(json.dumps(fields))
    for table, lines in by_table.items():
        store.insert(f"INSERT INTO {table}", "\n".join(lines).encode(), "JSONEachRow")


def hash_of(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:32]


def text(role: str, content: str) -> dict[str, Any]:
    """A message that says one thing."""
    return {"role": role, "parts": [{"type": "text", "content": content}]}


def calls(name: str, **arguments: object) -> dict[str, Any]:
    """An assistant's message that asks for a tool."""
    return {"role": "assistant", "parts": [{"type": "tool_call", "name": name, "arguments": arguments}]}


def gives(response: object) -> dict[str, Any]:
    """A tool's message."""
    return {"role": "tool", "parts": [{"type": "tool_call_response", "response": response}]}


class Story:
    """One run, told in order. `rows()` gives all its canonical rows; nothing is written before `tell`."""

    def __init__(self, run_id: str, *, generation: int = 1, tenant: str = "default", **run: Any) -> None:
        self.key: dict[str, Any] = {"tenant": tenant, "run_id": run_id, "generation": generation}
        self.run_id = run_id
        self.run_fields = run
        self.started_at = int(run.get("started_at", START))
        self.history: list[dict[str, Any]] = []
        self.values: dict[str, canonical.ValueRow] = {}
        self.models: list[canonical.ModelCallRow] = []
        self.tools: list[canonical.ToolCallRow] = []
        self.steps: list[canonical.StepRow] = []
        self.changes: list[canonical.StateChangeRow] = []
        self.edges: list[canonical.EdgeRow] = []
        self.problems: list[canonical.ProblemRow] = []

    def value(self, value: object, kind: str = "json", elements: Sequence[int] = ()) -> int:
        """The number of a value, which is new or was said before."""
        known = json.dumps([value, kind], sort_keys=True)
        if known not in self.values:
            role = str(value["role"]) if kind == "message" and isinstance(value, dict) else ""
            self.values[known] = canonical.ValueRow(
                **self.key,
                number=len(self.values) + 1,
                kind=kind,
                hash=hash_of(value),
                role=role,
                first_call=len(self.models) + 1 if kind == "message" else 0,
                json="" if kind == "list" else json.dumps(value),
                elements=list(elements),
            )
        return self.values[known].number

    def messages(self, said: Sequence[dict[str, Any]]) -> list[int]:
        return [self.value(message, "message") for message in said]

    def step(self, kind: str, name: str, **fields: Any) -> int:
        """A step of any kind; its number."""
        number = len(self.steps) + 1
        at = self.started_at + number * SECOND
        row = canonical.StepRow(
            **self.key,
            step=number,
            step_kind=kind,
            name=name,
            trace_id=self.run_id,
            span_id=f"{number:016x}",
            model_call=0,
            tool_call=0,
            node=None,
            framework_step=None,
            task_step=None,
            task_step_name=None,
            task_steps_total=None,
            agent_name="orla",
            started_at=at,
            ended_at=at + SECOND // 2,
            duration_ms=500.0,
            status="ok",
            attempt=None,
            state_source=None,
            before_keys=[],
            before_values=[],
            after_keys=[],
            after_values=[],
            state_before_hash=None,
            state_after_hash=None,
        )
        self.steps.append(replace(row, **fields))
        return number

    def state(self, step: int, source: str = "explicit", **state: object) -> None:
        """The state in which the step began."""
        at = step - 1
        values = [self.value(value) for value in state.values()]
        self.steps[at] = replace(
            self.steps[at],
            state_source=source,
            before_keys=list(state),
            before_values=values,
            state_before_hash=hash_of(state),
        )

    def hear(self, *messages: dict[str, Any]) -> None:
        """Messages that the next model call reads besides what was said before."""
        self.history += messages

    def model(
        self, answer: dict[str, Any] | None, *, system: str = "be brief", model: str = "m-1", **fields: Any
    ) -> int:
        """A model call over all that was said; its step."""
        agent = fields.pop("agent_name", "orla")
        status = fields.pop("status", "ok")
        read = self.messages(self.history)
        out = self.messages([answer]) if answer is not None else []
        ordinal = len(self.models) + 1
        step = self.step("model", model, model_call=ordinal, agent_name=agent, status=status)
        at = self.steps[-1].started_at
        row = canonical.ModelCallRow(
            **self.key,
            ordinal=ordinal,
            step=step,
            trace_id=self.run_id,
            span_id=f"{step:016x}",
            agent_name=agent,
            provider="acme",
            request_model=model,
            response_model=model,
            parameters="{}",
            system_value=self.value([{"type": "text", "content": system}]) if system else 0,
            tools_value=0,
            input_values=read,
            output_values=out,
            history="full",
            finish_reasons=["stop"],
            input_tokens=10,
            output_tokens=2,
            cached_tokens=None,
            reasoning_tokens=None,
            started_at=at,
            duration_ms=500.0,
            status=status,
            error_type=None,
            error_message=None,
            call_hash=hash_of([self.history, answer]),
            input_hash=hash_of(self.history),
            output_hash=hash_of(answer),
            system_hash=hash_of(system),
            tools_hash=hash_of(None),
            parameters_hash=hash_of({}),
        )
        self.models.append(replace(row, **fields))
        if answer is not None:
            self.edge(message_ref(hash_of(answer)), "wasGeneratedBy", step_ref(self.run_id, step), step=step)
            self.history.append(answer)
        return step

    def tool(self, name: str, arguments: object, result: object, *, heard: bool = True, **fields: Any) -> int:
        """An executed tool call whose result the next model call reads; its step (0 when it was not executed)."""
        executed = fields.get("status", "ok") != "not_executed"
        agent = fields.get("agent_name", "orla")
        step = 0
        if executed:
            step = self.step("tool", name, tool_call=len(self.tools) + 1, agent_name=agent)
        row = canonical.ToolCallRow(
            **self.key,
            ordinal=len(self.tools) + 1,
            step=step or None,
            trace_id=self.run_id,
            span_id=f"{step:016x}",
            asked_by=len(self.models) or None,
            agent_name=agent,
            tool_name=name,
            tool_call_id=None,
            arguments=json.dumps(arguments),
            result=json.dumps(result),
            result_source="span",
            arguments_hash=hash_of(arguments),
            result_hash=hash_of(result),
            effect=None,
            idempotency_key=None,
            attempt=None,
            started_at=self.steps[-1].started_at if executed else None,
            duration_ms=500.0,
            status="ok",
            error_type=None,
            error_message=None,
        )
        self.tools.append(replace(row, **fields))
        if executed:
            self.steps[-1] = replace(self.steps[-1], status=self.tools[-1].status)
            if self.models:
                asked = step_ref(self.run_id, self.models[-1].step)
                self.edge(step_ref(self.run_id, step), "wasInformedBy", asked, step=step)
            if heard:
                said = gives(result)
                self.edge(
                    message_ref(hash_of(said)), "wasGeneratedBy", step_ref(self.run_id, step), step=step
                )
                self.history.append(said)
        return step

    def edge(self, subject: str, relation: str, object_: str, *, step: int | None = None) -> None:
        self.edges.append(
            canonical.EdgeRow(
                **self.key,
                subject=subject,
                relation=relation,
                object=object_,
                role=None,
                evidence="matched",
                step=step,
                at=self.started_at + (step or 0) * SECOND,
            )
        )

    def change(self, step: int, key: str, value: object, *, changed_at: int) -> None:
        """The state of this key differs as `step` begins; None: the key is gone."""
        number = 0 if value is None else self.value(value)
        self.changes.append(
            canonical.StateChangeRow(
                **self.key, step=step, key=key, value=number, changed_at_step=changed_at, span_id="c" * 16
            )
        )

    def run_row(self) -> canonical.RunRow:
        answer = self.history[-1] if self.history and self.history[-1]["role"] == "assistant" else None
        ended = self.started_at + (len(self.steps) + 1) * SECOND
        row = canonical.RunRow(
            **self.key,
            deleted=False,
            origin_run_id=self.run_id,
            parent_run_id=None,
            parent_link=None,
            conversation_id=None,
            run_kind="production",
            agent_name="orla",
            agent_version="1.0",
            service_name="svc",
            service_version=None,
            environment=None,
            started_at=self.started_at,
            ended_at=ended,
            duration_ms=(ended - self.started_at) / 1e6,
            outcome="ok",
            incomplete_because=None,
            input="hello",
            output=None,
            input_hash=hash_of("hello"),
            answer_ref=message_ref(hash_of(answer)) if answer else None,
            steps=len(self.steps),
            model_calls=len(self.models),
            tool_calls=len(self.tools),
            errors=0,
            input_tokens=10 * len(self.models),
            output_tokens=2 * len(self.models),
            trace_ids=[self.run_id],
            dialects=["test"],
            flagged=False,
            newest_ended_at=ended,
            arrived_at=ended,
            through_sequence=1,
            final_history=[],
            final_history_hash="",
            history_run_id=None,
            interpreted_by="test",
            problems=len(self.problems),
        )
        return replace(row, **self.run_fields)

    def crossings(self) -> list[canonical.CrossingRow]:
        found = crossings_of(self.run_id, [(edge.subject, edge.object) for edge in self.edges])
        return [
            canonical.CrossingRow(**self.key, reference=reference, side=side) for reference, side in found
        ]

    def rows(self) -> list[object]:
        return [
            *self.values.values(),
            *self.models,
            *self.tools,
            *self.steps,
            *self.changes,
            *self.edges,
            *self.crossings(),
            *self.problems,
            self.run_row(),
        ]

    def tell(self, store: Store) -> Story:
        """Write all rows."""
        write(store, self.rows())
        return self
