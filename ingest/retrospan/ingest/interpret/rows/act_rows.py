"""The acts of a run as canonical rows: model calls, tool calls and steps."""

from __future__ import annotations

from retrospan.ingest.interpret.assembly.calls import ModelCall, ToolCall
from retrospan.ingest.interpret.assembly.context_use import ContextUse
from retrospan.ingest.interpret.assembly.steps import Step
from retrospan.ingest.interpret.assembly.values import Values
from retrospan.ingest.interpret.run import Run
from retrospan.ingest.interpret.spans.key import Key, text_of_attribute, whole_number
from retrospan.ingest.interpret.spans.span import Attributes
from retrospan.ingest.json_text import write_json
from retrospan.schemas import canonical as rows
from retrospan.schemas.attributes import ATTEMPT, CONTEXT_TOKENS, EFFECT, IDEMPOTENCY_KEY
from retrospan.schemas.hashing import hash_of


def model_call_row(
    key: Key, call: ModelCall, use: ContextUse, step: int, values: Values
) -> rows.ModelCallRow:
    reading = call.reading
    system = values.other(reading.system) if reading.system else 0
    tools = values.other(reading.tool_definitions) if reading.tool_definitions is not None else 0
    hashes = {
        "system_hash": values.hash(system) if system else "",
        "tools_hash": values.hash(tools) if tools else "",
        "parameters_hash": hash_of(reading.parameters),
        "input_hash": hash_of([values.hash(number) for number in call.given]),
    }
    request = [reading.provider, reading.request_model, *hashes.values()]
    return rows.ModelCallRow(
        **key,
        ordinal=call.ordinal,
        step=step,
        trace_id=reading.span.trace_id,
        span_id=reading.span.span_id,
        agent_name=reading.agent_name,
        provider=reading.provider,
        request_model=reading.request_model,
        response_model=reading.response_model,
        parameters=write_json(reading.parameters),
        system_value=system,
        tools_value=tools,
        input_values=call.given,
        output_values=call.said,
        history=call.history,
        finish_reasons=reading.finish_reasons,
        input_tokens=reading.tokens.input,
        output_tokens=reading.tokens.output,
        cached_tokens=reading.tokens.cached,
        reasoning_tokens=reading.tokens.reasoning,
        started_at=reading.span.started_at,
        duration_ms=reading.span.duration_ms,
        status="error" if reading.failed else "ok",
        error_type=reading.error_type,
        error_message=reading.error_message,
        call_hash=hash_of(request),
        output_hash=hash_of([values.hash(number) for number in call.said]),
        **hashes,
        context_limit=use.limit,
        goes_on=use.goes_on,
        messages_new=use.new,
        messages_lost=None if use.lost is None else len(use.lost),
        lost_hashes=[values.hash(number) for number in use.lost or []],
        lost_how=use.how,
        context_tokens=whole_number(reading.span.attributes.get(CONTEXT_TOKENS)),
    )


def tool_call_row(key: Key, ordinal: int, tool: ToolCall, step: int | None, run: Run) -> rows.ToolCallRow:
    reading = tool.reading
    asking = run.calls.models[tool.asked.by - 1].reading if tool.asked else None
    span = reading.span if reading else None
    attributes: Attributes = span.attributes if span else {}
    known_result = tool.result_source is not None
    return rows.ToolCallRow(
        **key,
        ordinal=ordinal,
        step=step,
        trace_id=span.trace_id if span else None,
        span_id=span.span_id if span else None,
        asked_by=tool.asked.by if tool.asked else None,
        agent_name=reading.agent_name if reading else asking.agent_name if asking else None,
        tool_name=tool.name,
        tool_call_id=tool.call_id,
        arguments=write_json(tool.arguments) if tool.has_arguments else None,
        result=_result_text(tool.result) if known_result else None,
        result_source=tool.result_source,
        arguments_hash=hash_of(run.values.comparable(tool.arguments)) if tool.has_arguments else None,
        result_hash=hash_of(run.values.comparable(tool.result)) if known_result else None,
        effect=text_of_attribute(attributes.get(EFFECT)),
        idempotency_key=text_of_attribute(attributes.get(IDEMPOTENCY_KEY)),
        attempt=whole_number(attributes.get(ATTEMPT)),
        started_at=span.started_at if span else None,
        duration_ms=span.duration_ms if span else None,
        status=tool.status,
        error_type=reading.error_type if reading else None,
        error_message=reading.error_message if reading else None,
    )


def _result_text(result: object) -> str:
    """Return a result as the contract shows it: text as it is, everything else as JSON."""
    return result if isinstance(result, str) else write_json(result)


def step_row(key: Key, step: Step, tool_ordinals: dict[int, int]) -> rows.StepRow:
    reading, span = step.reading, step.reading.span
    attributes = span.attributes
    known = step.before or step.after
    return rows.StepRow(
        **key,
        step=step.number,
        step_kind=step.kind,
        name=step.name,
        trace_id=span.trace_id,
        span_id=span.span_id,
        model_call=step.model.ordinal if step.model else 0,
        tool_call=tool_ordinals[id(step.tool)] if step.tool else 0,
        node=reading.node.name if reading.node else None,
        framework_step=reading.node.step if reading.node else None,
        task_step=reading.task.step if reading.task else None,
        task_step_name=reading.task.name if reading.task else None,
        task_steps_total=reading.task.total if reading.task else None,
        agent_name=reading.agent_name,
        started_at=span.started_at,
        ended_at=span.ended_at or None,
        duration_ms=span.duration_ms,
        status=step.status,
        attempt=whole_number(attributes.get(ATTEMPT)),
        state_source=known.source if known else None,
        before_keys=[*step.before.keys] if step.before else [],
        before_values=[*step.before.values] if step.before else [],
        after_keys=[*step.after.keys] if step.after else [],
        after_values=[*step.after.values] if step.after else [],
        state_before_hash=step.before.hash if step.before else None,
        state_after_hash=step.after.hash if step.after else None,
        state_schema=known.schema if known else None,
    )
