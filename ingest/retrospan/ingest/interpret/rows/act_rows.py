"""The acts of a run as canonical rows: model calls, tool calls and steps."""

from __future__ import annotations

from retrospan.ingest.interpret.calls.calls import ModelCall, ToolCall
from retrospan.ingest.interpret.run import InterpretedRun
from retrospan.ingest.interpret.spans.key import Key, text_of_attribute, whole_number
from retrospan.ingest.interpret.spans.span import Attributes
from retrospan.ingest.interpret.steps.context_use import ContextUse
from retrospan.ingest.interpret.steps.run_step import RunStep
from retrospan.ingest.interpret.steps.values import Values
from retrospan.ingest.json_text import write_json
from retrospan.schemas import canonical as rows
from retrospan.schemas.attributes import ATTEMPT, CONTEXT_TOKENS, EFFECT, IDEMPOTENCY_KEY
from retrospan.schemas.hashing import hash_of_hashes, hash_of_texts


def model_call_row(
    key: Key, call: ModelCall, use: ContextUse, step: int, values: Values
) -> rows.ModelCallRow:
    span = call.span
    system = values.other(span.system) if span.system else 0
    tools = values.other(span.tool_definitions) if span.tool_definitions is not None else 0
    parameters = write_json(span.parameters)
    system_hash = values.hash(system) if system else ""
    tools_hash = values.hash(tools) if tools else ""
    parameters_hash = values.hash_by_text(span.parameters, parameters)
    input_hash = values.hash_of_all(call.input_values)
    request = [span.provider, span.request_model, system_hash, tools_hash, parameters_hash, input_hash]
    return rows.ModelCallRow(
        tenant=key["tenant"],
        run_id=key["run_id"],
        generation=key["generation"],
        ordinal=call.ordinal,
        step=step,
        trace_id=span.sent.trace_id,
        span_id=span.sent.span_id,
        agent_name=span.agent_name,
        provider=span.provider,
        request_model=span.request_model,
        response_model=span.response_model,
        parameters=parameters,
        system_value=system,
        tools_value=tools,
        input_values=call.input_values,
        output_values=call.output_values,
        history=call.history,
        finish_reasons=span.finish_reasons,
        input_tokens=span.tokens.input,
        output_tokens=span.tokens.output,
        cached_tokens=span.tokens.cached,
        reasoning_tokens=span.tokens.reasoning,
        started_at=span.sent.started_at,
        duration_ms=span.sent.duration_ms,
        status="incomplete" if span.is_unfinished else "error" if span.failed else "ok",
        error_type=span.error_type,
        error_message=span.error_message,
        call_hash=hash_of_texts(request),
        output_hash=hash_of_hashes([values.hash(number) for number in call.output_values]),
        system_hash=system_hash,
        tools_hash=tools_hash,
        parameters_hash=parameters_hash,
        input_hash=input_hash,
        context_limit=use.limit,
        goes_on=use.goes_on,
        messages_new=use.new,
        messages_lost=None if use.lost is None else len(use.lost),
        lost_hashes=[values.hash(number) for number in use.lost or []],
        lost_how=use.how,
        context_tokens=whole_number(span.sent.attributes.get(CONTEXT_TOKENS)),
        cache_write_tokens=span.tokens.written,
        token_buckets=write_json(buckets) if (buckets := span.tokens.buckets()) else None,
        time_to_first_chunk_ms=span.first_chunk_ms,
        prompt_name=span.prompt_name,
        prompt_version=span.prompt_version,
    )


def tool_call_row(
    key: Key, ordinal: int, tool: ToolCall, step: int | None, run: InterpretedRun
) -> rows.ToolCallRow:
    span = tool.span
    asking = run.calls.models[tool.asked.by - 1].span if tool.asked else None
    sent = span.sent if span else None
    attributes: Attributes = sent.attributes if sent else {}
    known_result = tool.result_source is not None
    return rows.ToolCallRow(
        tenant=key["tenant"],
        run_id=key["run_id"],
        generation=key["generation"],
        ordinal=ordinal,
        step=step,
        trace_id=sent.trace_id if sent else None,
        span_id=sent.span_id if sent else None,
        asked_by=tool.asked.by if tool.asked else None,
        agent_name=span.agent_name if span else asking.agent_name if asking else None,
        tool_name=tool.name,
        tool_call_id=tool.call_id,
        arguments=run.values.text(tool.arguments) if tool.has_arguments else None,
        result=_result_text(tool.result, run.values) if known_result else None,
        result_source=tool.result_source,
        arguments_hash=run.values.compared(tool.arguments) if tool.has_arguments else None,
        result_hash=run.values.compared(tool.result) if known_result else None,
        effect=text_of_attribute(attributes.get(EFFECT)),
        idempotency_key=text_of_attribute(attributes.get(IDEMPOTENCY_KEY)),
        attempt=whole_number(attributes.get(ATTEMPT)),
        started_at=sent.started_at if sent else None,
        duration_ms=sent.duration_ms if sent else None,
        status=tool.status,
        error_type=span.error_type if span and tool.status != "ok" else None,
        error_message=tool.error_message,
    )


def _result_text(result: object, values: Values) -> str:
    """Return a result as the contract shows it: text as it is, everything else as JSON."""
    return result if isinstance(result, str) else values.text(result)


def step_row(key: Key, step: RunStep, tool_ordinals: dict[ToolCall, int]) -> rows.StepRow:
    span, sent = step.span, step.span.sent
    attributes = sent.attributes
    known = step.before or step.after
    return rows.StepRow(
        tenant=key["tenant"],
        run_id=key["run_id"],
        generation=key["generation"],
        step=step.number,
        step_kind=step.kind,
        name=step.name,
        trace_id=sent.trace_id,
        span_id=sent.span_id,
        model_call=step.model.ordinal if step.model else 0,
        tool_call=tool_ordinals[step.tool] if step.tool else 0,
        node=span.node.name if span.node else None,
        framework_step=span.node.step if span.node else None,
        task_step=span.task.step if span.task else None,
        task_step_name=span.task.name if span.task else None,
        task_steps_total=span.task.total if span.task else None,
        agent_name=span.agent_name,
        started_at=sent.started_at,
        ended_at=sent.ended_at or None,
        duration_ms=sent.duration_ms,
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
        query=span.query,
        data_source=span.data_source,
    )
