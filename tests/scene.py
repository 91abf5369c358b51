"""An interpreted run under construction: the rows that the interpreter would write for it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field

from retrospan.schemas.canonical import (
    EdgeRow,
    ModelCallRow,
    ProblemRow,
    RunRow,
    StateChangeRow,
    StepRow,
    ToolCallRow,
    ValueRow,
)
from retrospan.schemas.stated import ObservationRow

START = 1_789_999_200_000_000_000  # 2026-09-21 14:00:00 UTC
MS = 1_000_000


def digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:32]


def compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@dataclass
class Scene:
    """One run under construction: steps take 10 ms each, 100 ms apart."""

    run_id: str
    agent: str | None = "orla"
    version: str | None = "1.4.2"
    begin: int = START
    outcome: str = "ok"
    because: str | None = None
    input: str | None = "Find the refund policy."
    output: str | None = None
    system: str = "You are orla."
    state: dict[str, object] = field(default_factory=dict)
    values: list[ValueRow] = field(default_factory=list)
    models: list[ModelCallRow] = field(default_factory=list)
    tools: list[ToolCallRow] = field(default_factory=list)
    steps: list[StepRow] = field(default_factory=list)
    changes: list[StateChangeRow] = field(default_factory=list)
    edges: list[EdgeRow] = field(default_factory=list)
    observations: list[ObservationRow] = field(default_factory=list)
    problems: list[ProblemRow] = field(default_factory=list)
    history: list[int] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.input is not None:
            self.history.append(self.message("user", [{"type": "text", "content": self.input}], 1))

    def value(self, said: object, kind: str = "json", role: str = "", first_call: int = 0) -> int:
        text = compact(said)
        if text not in self.numbers:
            self.numbers[text] = len(self.values) + 1
            self.values.append(
                ValueRow(
                    tenant="default",
                    run_id=self.run_id,
                    generation=1,
                    number=len(self.values) + 1,
                    kind=kind,
                    hash=digest(said),
                    role=role,
                    first_call=first_call,
                    json=text,
                )
            )
        return self.numbers[text]

    def message(self, role: str, parts: list[dict[str, object]], call: int) -> int:
        return self.value({"role": role, "parts": parts}, "message", role, call)

    def span(self) -> str:
        return f"{len(self.steps) + 1:016x}"

    def step(
        self, kind: str, name: str, model: int, tool: int, status: str, after: dict[str, object] | None
    ) -> None:
        number = len(self.steps) + 1
        started = self.begin + (number - 1) * 100 * MS
        known = after is not None
        before = dict(self.state)
        for key, said in (after or {}).items():
            if before.get(key) != said:
                self.changes.append(
                    StateChangeRow(
                        tenant="default",
                        run_id=self.run_id,
                        generation=1,
                        step=number + 1,
                        key=key,
                        value=self.value(said),
                        changed_at_step=number,
                        span_id=self.span(),
                    )
                )
        row = StepRow(
            tenant="default",
            run_id=self.run_id,
            generation=1,
            step=number,
            step_kind=kind,
            name=name,
            trace_id=self.run_id,
            span_id=self.span(),
            model_call=model,
            tool_call=tool,
            node=None,
            framework_step=None,
            task_step=None,
            task_step_name=None,
            task_steps_total=None,
            agent_name=self.agent,
            started_at=started,
            ended_at=started + 10 * MS,
            duration_ms=10.0,
            status=status,
            attempt=None,
            state_source="explicit" if known else None,
            before_keys=list(before) if known else [],
            before_values=[self.value(said) for said in before.values()] if known else [],
            after_keys=list(after or {}),
            after_values=[self.value(said) for said in (after or {}).values()],
            state_before_hash=digest(before) if known else None,
            state_after_hash=digest(after) if known else None,
        )
        self.steps.append(row)
        if after is not None:
            self.state = dict(after)

    def model(
        self,
        text: str = "",
        call: tuple[str, object] | None = None,
        after: dict[str, object] | None = None,
        error: str | None = None,
        model: str = "gpt-4o-mini",
    ) -> None:
        ordinal = len(self.models) + 1
        parts: list[dict[str, object]] = [{"type": "text", "content": text}] if text else []
        if call is not None:
            parts.append({"type": "tool_call", "id": f"c{ordinal}", "name": call[0], "arguments": call[1]})
        system = self.value([{"type": "text", "content": self.system}])
        tools = self.value([{"type": "function", "function": {"name": "search_docs"}}])
        given = list(self.history)
        output = [self.message("assistant", parts, ordinal)] if parts else []
        name = self.agent or "model"
        hashes = [self.values[number - 1].hash for number in (*given, *output)]
        row = ModelCallRow(
            tenant="default",
            run_id=self.run_id,
            generation=1,
            ordinal=ordinal,
            step=len(self.steps) + 1,
            trace_id=self.run_id,
            span_id=self.span(),
            agent_name=self.agent,
            provider="openai",
            request_model=model,
            response_model=f"{model}-2024",
            parameters='{"temperature":0.0}',
            system_value=system,
            tools_value=tools,
            input_values=given,
            output_values=output,
            history="full",
            finish_reasons=["tool_calls" if call else "stop"],
            input_tokens=100 * ordinal,
            output_tokens=20,
            cached_tokens=None,
            reasoning_tokens=None,
            started_at=self.begin + len(self.steps) * 100 * MS,
            duration_ms=10.0,
            status="error" if error else "ok",
            error_type="RateLimitError" if error else None,
            error_message=error,
            call_hash=digest([self.system, hashes]),
            input_hash=digest(hashes[: len(given)]),
            output_hash=digest(hashes[len(given) :]),
            system_hash=digest(self.system),
            tools_hash=digest("tools"),
            parameters_hash=digest("parameters"),
        )
        self.models.append(row)
        self.step("model", name, ordinal, 0, row.status, after)
        if output:
            self.history += output
            subject = f"message:{self.values[output[0] - 1].hash}"
            self.edge(subject, "wasGeneratedBy", f"step:{self.run_id}/{len(self.steps)}", "stated")

    def tool(
        self,
        name: str,
        arguments: object,
        result: object,
        after: dict[str, object] | None = None,
        status: str = "ok",
        error: str | None = None,
    ) -> None:
        ordinal = len(self.tools) + 1
        executed = status != "not_executed"
        text = None if result is None else result if isinstance(result, str) else compact(result)
        self.tools.append(
            ToolCallRow(
                tenant="default",
                run_id=self.run_id,
                generation=1,
                ordinal=ordinal,
                step=len(self.steps) + 1 if executed else None,
                trace_id=self.run_id,
                span_id=self.span() if executed else None,
                asked_by=len(self.models) or None,
                agent_name=self.agent,
                tool_name=name,
                tool_call_id=f"c{len(self.models)}",
                arguments=None if arguments is None else compact(arguments),
                result=text,
                result_source="span" if text is not None else None,
                arguments_hash=digest(arguments),
                result_hash=None if text is None else digest(text),
                effect=None,
                idempotency_key=None,
                attempt=None,
                started_at=self.begin + len(self.steps) * 100 * MS if executed else None,
                duration_ms=10.0 if executed else None,
                status=status,
                error_type="ToolError" if error else None,
                error_message=error,
            )
        )
        if not executed:
            return
        self.step("tool", name, 0, ordinal, status, after)
        number = len(self.steps)
        if self.models:
            asked = self.models[-1].step
            self.edge(
                f"step:{self.run_id}/{number}", "wasInformedBy", f"step:{self.run_id}/{asked}", "stated"
            )
        if text is not None:
            response = [{"type": "tool_call_response", "id": f"c{len(self.models)}", "response": result}]
            said = self.message("tool", response, len(self.models) + 1)
            self.history.append(said)
            subject = f"message:{self.values[said - 1].hash}"
            self.edge(subject, "wasGeneratedBy", f"step:{self.run_id}/{number}", "matched")

    def observe(
        self, entity: str, name: str, value: object, learned_ms: int = 5, correction: bool = False
    ) -> None:
        """A statement about `TYPE/ID`, made in the last step; None clears."""
        kind, _, entity_id = entity.partition("/")
        at = self.begin + max(len(self.steps) - 1, 0) * 100 * MS
        self.observations.append(
            ObservationRow(
                tenant="default",
                run_id=self.run_id,
                generation=1,
                entity_type=kind,
                entity_id=entity_id,
                field=name,
                observation_id=digest([self.run_id, len(self.observations)]),
                op="clear" if value is None else "set",
                value=None if value is None else compact(value),
                value_hash="" if value is None else digest(value),
                valid_from=at,
                known_from=at + learned_ms * MS,
                said_at=at,
                step=len(self.steps) or None,
                trace_id=self.run_id,
                span_id=self.span(),
                agent_name=self.agent,
                source=None,
                confidence=None,
                priority=1000 if correction else 0,
                correction=correction,
                reason=None,
            )
        )

    def edge(self, subject: str, relation: str, object_: str, evidence: str) -> None:
        self.edges.append(
            EdgeRow(
                tenant="default",
                run_id=self.run_id,
                generation=1,
                subject=subject,
                relation=relation,
                object=object_,
                role=None,
                evidence=evidence,
                step=len(self.steps),
                at=self.begin + len(self.steps) * 100 * MS,
            )
        )

    def doubt(self, field: str, reason: str) -> None:
        key = {"tenant": "default", "run_id": self.run_id}
        self.problems.append(
            ProblemRow(**key, generation=1, span_id=self.span(), field=field, raw="", reason=reason)
        )

    def run(self) -> RunRow:
        ended = None if self.outcome == "incomplete" else self.begin + len(self.steps) * 100 * MS
        return RunRow(
            tenant="default",
            run_id=self.run_id,
            generation=1,
            deleted=False,
            origin_run_id=self.run_id,
            parent_run_id=None,
            parent_link=None,
            conversation_id="c-88",
            run_kind="production",
            agent_name=self.agent,
            agent_version=self.version,
            service_name="shop",
            service_version=None,
            environment=None,
            started_at=self.begin,
            ended_at=ended,
            duration_ms=None if ended is None else (ended - self.begin) / MS,
            outcome=self.outcome,
            incomplete_because=self.because,
            input=self.input,
            output=self.output,
            input_hash=digest(self.input),
            answer_ref=f"message:{self.values[self.history[-1] - 1].hash}" if self.history else None,
            steps=len(self.steps),
            model_calls=len(self.models),
            tool_calls=len(self.tools),
            errors=sum(1 for step in self.steps if step.status == "error"),
            input_tokens=sum(call.input_tokens or 0 for call in self.models) or None,
            output_tokens=sum(call.output_tokens or 0 for call in self.models) or None,
            trace_ids=[self.run_id],
            dialects=["genai"],
            flagged=False,
            newest_ended_at=ended or self.begin + len(self.steps) * 100 * MS,
            arrived_at=self.begin,
            through_sequence=1,
            final_history=self.history,
            final_history_hash=digest(self.history),
            history_run_id=None,
            interpreted_by="scenes",
            problems=len(self.problems),
        )
