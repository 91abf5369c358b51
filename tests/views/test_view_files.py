"""Each view file documents itself, and what it says is what ClickHouse finds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import retrospan.queries
from retrospan.ingest.warehouse.embedded import EmbeddedStore
from retrospan.queries.catalogue import HeaderError, View, load, read_view
from retrospan.queries.catalogue import views as all_views
from retrospan.queries.document import render
from retrospan.schemas.errors import NotFound

_TIME = "DateTime64(9, 'UTC')"
_WORD = "LowCardinality(String)"
_MAYBE_WORD = "LowCardinality(Nullable(String))"
_AMOUNT = "Nullable(Decimal(38, 12))"

# The contract: names, order and types. Columns may follow, none may change.
CONTRACT: dict[str, list[tuple[str, str]]] = {
    "spans": [
        ("tenant", _WORD),
        ("trace_id", "String"),
        ("span_id", "String"),
        ("parent_span_id", "String"),
        ("run_id", "String"),
        ("name", "String"),
        ("kind", _WORD),
        ("operation", _WORD),
        ("dialect", _WORD),
        ("service_name", "Nullable(String)"),
        ("scope_name", "String"),
        ("started_at", _TIME),
        ("ended_at", f"Nullable({_TIME})"),
        ("duration_ms", "Nullable(Float64)"),
        ("status", _WORD),
        ("status_message", "String"),
        ("attributes", "Map(String, String)"),
        ("resource", "Map(String, String)"),
        ("events", "String"),
        ("links", "String"),
        ("dropped", "UInt32"),
        ("variants", "UInt16"),
        ("skewed", "Bool"),
        ("ingested_at", _TIME),
    ],
    "spans_as_sent": [
        ("tenant", _WORD),
        ("trace_id", "String"),
        ("span_id", "String"),
        ("parent_span_id", "String"),
        ("name", "String"),
        ("kind", _WORD),
        ("service_name", "Nullable(String)"),
        ("scope_name", "String"),
        ("started_at", _TIME),
        ("ended_at", f"Nullable({_TIME})"),
        ("duration_ms", "Nullable(Float64)"),
        ("status", _WORD),
        ("status_message", "String"),
        ("events", "String"),
        ("links", "String"),
        ("dropped", "UInt32"),
        ("variants", "UInt16"),
        ("skewed", "Bool"),
        ("ingested_at", _TIME),
    ],
    "runs": [
        ("tenant", _WORD),
        ("run_id", "String"),
        ("origin_run_id", "String"),
        ("parent_run_id", "Nullable(String)"),
        ("parent_link", "Nullable(String)"),
        ("conversation_id", "Nullable(String)"),
        ("run_kind", _WORD),
        ("agent_name", "Nullable(String)"),
        ("agent_version", "Nullable(String)"),
        ("service_name", "Nullable(String)"),
        ("service_version", "Nullable(String)"),
        ("environment", "Nullable(String)"),
        ("started_at", _TIME),
        ("ended_at", f"Nullable({_TIME})"),
        ("duration_ms", "Nullable(Float64)"),
        ("outcome", _WORD),
        ("incomplete_because", "Nullable(String)"),
        ("input", "Nullable(String)"),
        ("output", "Nullable(String)"),
        ("steps", "UInt64"),
        ("model_calls", "UInt64"),
        ("tool_calls", "UInt64"),
        ("errors", "UInt64"),
        ("input_tokens", "Nullable(UInt64)"),
        ("output_tokens", "Nullable(UInt64)"),
        ("trace_ids", "Array(String)"),
        ("dialects", "Array(String)"),
        ("flagged", "Bool"),
        ("held", "Bool"),
        ("interpreted_by", _WORD),
    ],
    "model_calls": [
        ("tenant", _WORD),
        ("run_id", "String"),
        ("ordinal", "UInt32"),
        ("step", "UInt32"),
        ("span_id", "String"),
        ("agent_name", "Nullable(String)"),
        ("provider", "Nullable(String)"),
        ("request_model", "Nullable(String)"),
        ("response_model", "Nullable(String)"),
        ("parameters", "String"),
        ("system_instructions", "Nullable(String)"),
        ("input_messages", "Nullable(String)"),
        ("output_messages", "Nullable(String)"),
        ("tool_definitions", "Nullable(String)"),
        ("finish_reasons", "Array(String)"),
        ("input_tokens", "Nullable(UInt64)"),
        ("output_tokens", "Nullable(UInt64)"),
        ("cached_tokens", "Nullable(UInt64)"),
        ("reasoning_tokens", "Nullable(UInt64)"),
        ("started_at", _TIME),
        ("duration_ms", "Nullable(Float64)"),
        ("status", _WORD),
        ("error_type", "Nullable(String)"),
        ("error_message", "Nullable(String)"),
        ("call_hash", "String"),
        ("input_hash", "String"),
        ("output_hash", "String"),
    ],
    "tool_calls": [
        ("tenant", _WORD),
        ("run_id", "String"),
        ("ordinal", "UInt32"),
        ("step", "Nullable(UInt32)"),
        ("span_id", "Nullable(String)"),
        ("asked_by", "Nullable(UInt32)"),
        ("agent_name", "Nullable(String)"),
        ("tool_name", "String"),
        ("tool_call_id", "Nullable(String)"),
        ("arguments", "Nullable(String)"),
        ("result", "Nullable(String)"),
        ("result_source", "Nullable(String)"),
        ("arguments_hash", "Nullable(String)"),
        ("result_hash", "Nullable(String)"),
        ("effect", "Nullable(String)"),
        ("idempotency_key", "Nullable(String)"),
        ("attempt", "Nullable(UInt32)"),
        ("started_at", f"Nullable({_TIME})"),
        ("duration_ms", "Nullable(Float64)"),
        ("status", _WORD),
        ("error_type", "Nullable(String)"),
        ("error_message", "Nullable(String)"),
    ],
    "messages": [
        ("tenant", _WORD),
        ("run_id", "String"),
        ("model_call", "UInt32"),
        ("direction", _WORD),
        ("position", "UInt32"),
        ("role", _WORD),
        ("message_hash", "String"),
        ("content", "String"),
        ("first_call", "UInt32"),
        ("new_in_call", "Bool"),
    ],
    "steps": [
        ("tenant", _WORD),
        ("run_id", "String"),
        ("step", "UInt32"),
        ("step_kind", _WORD),
        ("name", "String"),
        ("span_id", "String"),
        ("node", "Nullable(String)"),
        ("framework_step", "Nullable(Int64)"),
        ("task_step", "Nullable(Int64)"),
        ("task_step_name", "Nullable(String)"),
        ("task_steps_total", "Nullable(Int64)"),
        ("agent_name", "Nullable(String)"),
        ("started_at", _TIME),
        ("duration_ms", "Nullable(Float64)"),
        ("status", _WORD),
        ("attempt", "Nullable(UInt32)"),
        ("state_source", "LowCardinality(Nullable(String))"),
        ("state_before", "Nullable(String)"),
        ("state_after", "Nullable(String)"),
        ("state_before_hash", "Nullable(String)"),
        ("state_after_hash", "Nullable(String)"),
    ],
    "provenance_edges": [
        ("tenant", _WORD),
        ("subject", "String"),
        ("relation", _WORD),
        ("object", "String"),
        ("role", "LowCardinality(Nullable(String))"),
        ("evidence", _WORD),
        ("run_id", "String"),
        ("step", "Nullable(UInt32)"),
        ("at", _TIME),
    ],
    "cost": [
        ("tenant", _WORD),
        ("run_id", "String"),
        ("model_call", "Nullable(UInt32)"),
        ("step", "Nullable(UInt32)"),
        ("agent_name", _MAYBE_WORD),
        ("tool_name", _MAYBE_WORD),
        ("bucket", _MAYBE_WORD),
        ("tokens", "Nullable(UInt64)"),
        ("price", "Nullable(Decimal(38, 6))"),
        ("currency", _MAYBE_WORD),
        ("price_list", _MAYBE_WORD),
        ("amount", _AMOUNT),
        ("at", _TIME),
        ("provider", _MAYBE_WORD),
        ("model", _MAYBE_WORD),
        ("unknown", _MAYBE_WORD),
        ("wasted", _MAYBE_WORD),
        ("agent_version", "Nullable(String)"),
        ("service_name", "Nullable(String)"),
        ("service_version", "Nullable(String)"),
        ("run_kind", _WORD),
    ],
    "prompt_shares": [
        ("tenant", _WORD),
        ("run_id", "String"),
        ("part", _WORD),
        ("message", "Nullable(String)"),
        ("role", _MAYBE_WORD),
        ("tool_name", "Nullable(String)"),
        ("first_call", "Nullable(UInt32)"),
        ("prompts", "UInt64"),
        ("bytes", "UInt64"),
        ("tokens_estimated", "Float64"),
        ("share", "Nullable(Float64)"),
        ("cost_estimated", "Nullable(Float64)"),
        ("currency", _MAYBE_WORD),
        ("text", "Nullable(String)"),
    ],
    "findings": [
        ("tenant", _WORD),
        ("run_id", "String"),
        ("rule", _WORD),
        ("severity", _WORD),
        ("step", "Nullable(UInt32)"),
        ("agent_name", _MAYBE_WORD),
        ("tool_name", _MAYBE_WORD),
        ("evidence", "Array(String)"),
        ("explanation", "String"),
        ("at", _TIME),
    ],
    "loops": [
        ("tenant", _WORD),
        ("run_id", "String"),
        ("agent_name", "Nullable(String)"),
        ("tool_name", "String"),
        ("arguments_hash", "String"),
        ("arguments", "Nullable(String)"),
        ("repeats", "UInt64"),
        ("first_step", "UInt32"),
        ("last_step", "UInt32"),
        ("same_result", "Bool"),
        ("started_at", f"Nullable({_TIME})"),
    ],
    "drift": [
        ("tenant", _WORD),
        ("metric", "String"),
        ("statistic", _WORD),
        ("value", "Float64"),
        ("p_value", "Nullable(Float64)"),
        ("threshold", "Float64"),
        ("baseline_n", "UInt64"),
        ("candidate_n", "UInt64"),
        ("drifted", "Bool"),
        ("examples", "Array(String)"),
        ("baseline_mean", "Nullable(Float64)"),
        ("candidate_mean", "Nullable(Float64)"),
    ],
    "circumstances": [
        ("tenant", _WORD),
        ("part", _WORD),
        ("name", "String"),
        ("value", "String"),
        ("baseline_runs", "UInt64"),
        ("candidate_runs", "UInt64"),
        ("baseline_n", "UInt64"),
        ("candidate_n", "UInt64"),
        ("p_value", "Nullable(Float64)"),
        ("changed", "Bool"),
        ("first_at", _TIME),
        ("baseline_examples", "Array(String)"),
        ("candidate_examples", "Array(String)"),
        ("found_in", "String"),
        ("found_call", "Nullable(UInt32)"),
    ],
    "context_use": [
        ("tenant", _WORD),
        ("run_id", "String"),
        ("model_call", "UInt32"),
        ("context_limit", "Nullable(UInt64)"),
        ("input_tokens", "Nullable(UInt64)"),
        ("messages_in", "Nullable(UInt64)"),
        ("messages_new", "Nullable(UInt64)"),
        ("messages_lost", "Nullable(UInt64)"),
        ("lost_how", "LowCardinality(Nullable(String))"),
    ],
    "failures": [
        ("tenant", _WORD),
        ("run_id", "String"),
        ("step", "Nullable(UInt32)"),
        ("span_id", "String"),
        ("origin", _WORD),
        ("class", "LowCardinality(Nullable(String))"),
        ("error_type", "Nullable(String)"),
        ("error_message", "Nullable(String)"),
        ("handled", "Bool"),
        ("at", _TIME),
    ],
    "agents": [
        ("tenant", _WORD),
        ("run_id", "String"),
        ("agent_name", "String"),
        ("parent_agent_name", "Nullable(String)"),
        ("asked_by", "Nullable(UInt32)"),
        ("first_step", "Nullable(UInt32)"),
        ("last_step", "Nullable(UInt32)"),
        ("model_calls", "UInt64"),
        ("tool_calls", "UInt64"),
        ("failures", "UInt64"),
        ("input_tokens", "Nullable(UInt64)"),
        ("output_tokens", "Nullable(UInt64)"),
        ("cost", _AMOUNT),
        ("currency", _MAYBE_WORD),
        ("cost_unknown", _MAYBE_WORD),
    ],
    "evaluations": [
        ("tenant", _WORD),
        ("run_id", "String"),
        ("step", "Nullable(UInt32)"),
        ("span_id", "String"),
        ("name", "LowCardinality(Nullable(String))"),
        ("score", "Nullable(Float64)"),
        ("label", "LowCardinality(Nullable(String))"),
        ("explanation", "Nullable(String)"),
        ("judged", "Nullable(String)"),
        ("judge", "LowCardinality(Nullable(String))"),
        ("at", _TIME),
        ("response_id", "Nullable(String)"),
        ("error_type", "Nullable(String)"),
    ],
    "logs": [
        ("tenant", _WORD),
        ("run_id", "String"),
        ("trace_id", "String"),
        ("span_id", "String"),
        ("step", "Nullable(UInt32)"),
        ("at", _TIME),
        ("severity", "LowCardinality(Nullable(String))"),
        ("event_name", _WORD),
        ("body", "String"),
        ("attributes", "Map(String, String)"),
    ],
    "retries": [
        ("tenant", _WORD),
        ("run_id", "String"),
        ("step", "UInt32"),
        ("tool_name", "Nullable(String)"),
        ("attempt", "UInt32"),
        ("of_step", "Nullable(UInt32)"),
        ("backoff_ms", "Nullable(UInt64)"),
        ("error_type", "Nullable(String)"),
        ("status", _WORD),
    ],
    "observations": [
        ("tenant", _WORD),
        ("entity_type", _WORD),
        ("entity_id", "String"),
        ("field", "String"),
        ("op", _WORD),
        ("value", "Nullable(String)"),
        ("valid_from", _TIME),
        ("known_from", _TIME),
        ("run_id", "String"),
        ("step", "Nullable(UInt32)"),
        ("span_id", "String"),
        ("agent_name", "Nullable(String)"),
        ("source", "LowCardinality(Nullable(String))"),
        ("confidence", "Nullable(Float64)"),
        ("priority", "Int32"),
        ("correction", "Bool"),
        ("reason", "Nullable(String)"),
        ("observation_id", "String"),
    ],
    "entity_timeline": [
        ("tenant", _WORD),
        ("entity_type", _WORD),
        ("entity_id", "String"),
        ("field", "String"),
        ("old_value", "Nullable(String)"),
        ("new_value", "Nullable(String)"),
        ("at", _TIME),
        ("known_at", _TIME),
        ("run_id", "String"),
        ("step", "Nullable(UInt32)"),
        ("span_id", "String"),
        ("agent_name", "Nullable(String)"),
        ("source", "Nullable(String)"),
        ("correction", "Bool"),
        ("observation_id", "String"),
    ],
    "entity_state": [
        ("field", "String"),
        ("value", "String"),
        ("introduced_by", "String"),
        ("last_asserted_by", "String"),
        ("valid_from", _TIME),
        ("known_from", _TIME),
        ("source", "Nullable(String)"),
        ("correction", "Bool"),
    ],
    "overwrites": [
        ("tenant", _WORD),
        ("entity_type", _WORD),
        ("entity_id", "String"),
        ("field", "String"),
        ("old_value", "String"),
        ("new_value", "Nullable(String)"),
        ("at", _TIME),
        ("run_id", "String"),
        ("step", "Nullable(UInt32)"),
        ("agent_name", "Nullable(String)"),
        ("was_read", "Bool"),
        ("old_run_id", "String"),
    ],
    "stale_reads": [
        ("tenant", _WORD),
        ("entity_type", _WORD),
        ("entity_id", "String"),
        ("field", "String"),
        ("run_id", "String"),
        ("step", "Nullable(UInt32)"),
        ("agent_name", "Nullable(String)"),
        ("read_at", _TIME),
        ("value", "Nullable(String)"),
        ("observation_id", "String"),
        ("new_value", "Nullable(String)"),
        ("overwritten_at", _TIME),
        ("overwritten_by", "String"),
        ("overwritten_run_id", "String"),
    ],
    "decisions": [
        ("tenant", _WORD),
        ("run_id", "String"),
        ("step", "Nullable(UInt32)"),
        ("span_id", "String"),
        ("name", "Nullable(String)"),
        ("options", "Nullable(String)"),
        ("chosen", "Nullable(String)"),
        ("rationale", "Nullable(String)"),
        ("confidence", "Nullable(Float64)"),
        ("at", _TIME),
    ],
    "effects": [
        ("tenant", _WORD),
        ("run_id", "String"),
        ("origin_run_id", "String"),
        ("step", "Nullable(UInt32)"),
        ("tool_name", "String"),
        ("idempotency_key", "Nullable(String)"),
        ("effect", "LowCardinality(Nullable(String))"),
        ("effect_status", _WORD),
        ("times_executed", "UInt64"),
        ("compensated_by", "Nullable(String)"),
        ("problem", _WORD),
    ],
    "checkpoints": [
        ("tenant", _WORD),
        ("run_id", "String"),
        ("step", "Nullable(UInt32)"),
        ("span_id", "String"),
        ("checkpoint_id", "String"),
        ("parent_id", "Nullable(String)"),
        ("trigger", "LowCardinality(Nullable(String))"),
        ("at", _TIME),
    ],
    "approvals": [
        ("tenant", _WORD),
        ("run_id", "String"),
        ("step", "Nullable(UInt32)"),
        ("span_id", "String"),
        ("decision", _WORD),
        ("approver", "Nullable(String)"),
        ("explanation", "Nullable(String)"),
        ("at", _TIME),
    ],
    "texts": [
        ("tenant", _WORD),
        ("run_id", "String"),
        ("kind", _WORD),
        ("text", "String"),
        ("role", "LowCardinality(Nullable(String))"),
        ("agent_name", "Nullable(String)"),
        ("tool_name", "Nullable(String)"),
        ("step", "Nullable(UInt32)"),
        ("model_call", "Nullable(UInt32)"),
        ("tool_call", "Nullable(UInt32)"),
        ("at", "Nullable(DateTime64(9, 'UTC'))"),
    ],
    "span_arrivals": [
        ("tenant", _WORD),
        ("trace_id", "String"),
        ("ingested_at", "DateTime64(9, 'UTC')"),
        ("dialect", _WORD),
        ("spans", "UInt64"),
        ("outside", "UInt64"),
    ],
    "missing_layers": [
        ("tenant", _WORD),
        ("run_id", "String"),
        ("task_position", "Bool"),
        ("tool_outputs", "Bool"),
        ("decisions", "Bool"),
        ("retry_context", "Bool"),
        ("failure_context", "Bool"),
    ],
    "interpretation_problems": [
        ("tenant", _WORD),
        ("run_id", "String"),
        ("span_id", "Nullable(String)"),
        ("field", "String"),
        ("raw", "String"),
        ("reason", "String"),
    ],
    "batches": [
        ("tenant", _WORD),
        ("log", "UInt32"),
        ("epoch", "UInt32"),
        ("number", "UInt64"),
        ("first_record", "UInt64"),
        ("last_record", "UInt64"),
        ("records", "UInt64"),
        ("items", "UInt64"),
        ("bytes", "UInt64"),
        ("content_hash", "String"),
        ("loaded_at", _TIME),
        ("previous_hash", "String"),
        ("batch_hash", "String"),
    ],
    "retention_log": [
        ("tenant", _WORD),
        ("log", "UInt32"),
        ("number", "UInt64"),
        ("what", _WORD),
        ("subject", "String"),
        ("run_class", _WORD),
        ("rule", "String"),
        ("deleted_at", _TIME),
        ("by", "String"),
        ("last_arrival", _TIME),
        ("trace_ids", "Array(String)"),
        ("first_records", "Array(UInt64)"),
        ("last_records", "Array(UInt64)"),
        ("spans", "UInt64"),
        ("log_records", "UInt64"),
        ("arrivals", "UInt64"),
        ("rows", "UInt64"),
        ("bytes", "UInt64"),
        ("content_hash", "String"),
        ("hash_after", "String"),
        ("previous_hash", "String"),
        ("receipt_hash", "String"),
    ],
    "rejects": [
        ("tenant", _WORD),
        ("arrived_at", _TIME),
        ("signal", _WORD),
        ("spans", "UInt32"),
        ("reason", "String"),
        ("request_hash", "String"),
        ("sample", "String"),
    ],
    "run_state": [
        ("key", "String"),
        ("value", "String"),
        ("changed_at_step", "UInt32"),
        ("span_id", "String"),
    ],
    "provenance": [
        ("depth", "UInt32"),
        ("subject", "String"),
        ("relation", _WORD),
        ("object", "String"),
        ("evidence", _WORD),
        ("run_id", "String"),
        ("step", "Nullable(UInt32)"),
        ("at", f"Nullable({_TIME})"),
        ("label", "String"),
        ("truncated", "Bool"),
    ],
    "run_diff": [
        ("position", "UInt32"),
        ("step_a", "Nullable(UInt32)"),
        ("step_b", "Nullable(UInt32)"),
        ("change", _WORD),
        ("aspect", _WORD),
        ("value_a", "Nullable(String)"),
        ("value_b", "Nullable(String)"),
    ],
    "score_drift": [
        ("tenant", _WORD),
        ("name", _WORD),
        ("label", "String"),
        ("statistic", _MAYBE_WORD),
        ("value", "Nullable(Float64)"),
        ("p_value", "Nullable(Float64)"),
        ("threshold", "Float64"),
        ("baseline_n", "UInt64"),
        ("candidate_n", "UInt64"),
        ("drifted", "Bool"),
        ("examples", "Array(String)"),
        ("baseline_mean", "Nullable(Float64)"),
        ("candidate_mean", "Nullable(Float64)"),
        ("baseline_median", "Nullable(Float64)"),
        ("candidate_median", "Nullable(Float64)"),
        ("unknown", _MAYBE_WORD),
        ("baseline_runs", "UInt64"),
        ("candidate_runs", "UInt64"),
    ],
    "run_scores": [
        ("tenant", _WORD),
        ("run_id", "String"),
        ("name", _WORD),
        ("results", "UInt64"),
        ("scored", "UInt64"),
        ("mean", "Nullable(Float64)"),
        ("median", "Nullable(Float64)"),
        ("labels", "Array(String)"),
        ("unknown", _MAYBE_WORD),
        ("last_at", _TIME),
    ],
    "run_pairs": [
        ("tenant", _WORD),
        ("sides", _WORD),
        ("run_a", "Nullable(String)"),
        ("run_b", "Nullable(String)"),
        ("possible", "UInt64"),
        ("baseline_n", "UInt64"),
        ("candidate_n", "UInt64"),
        ("baseline_unknown", "UInt64"),
        ("candidate_unknown", "UInt64"),
    ],
    "run_divergence": [
        ("step_a", "Nullable(UInt32)"),
        ("step_b", "Nullable(UInt32)"),
        ("aspect", _WORD),
        ("cause", _WORD),
        ("value_a", "Nullable(String)"),
        ("value_b", "Nullable(String)"),
        ("identical", "Bool"),
        ("prefix", _WORD),
    ],
}

_SIDES = [
    *(
        (f"{side}_{bound}", "String")
        for side in ("baseline", "candidate")
        for bound in ("from", "to", "version")
    ),
    ("agent", "String"),
]
PARAMETERS = {
    "run_state": [("run_id", "String"), ("step", "UInt32")],
    "entity_state": [
        ("entity_type", "String"),
        ("entity_id", "String"),
        ("at", "String"),
        ("known_at", "String"),
    ],
    "provenance": [("ref", "String"), ("depth", "UInt32"), ("direction", "String")],
    "run_diff": [("a", "String"), ("b", "String")],
    "run_divergence": [("a", "String"), ("b", "String")],
    "drift": _SIDES,
    "circumstances": _SIDES,
    "score_drift": _SIDES,
    "run_pairs": [*_SIDES, ("most", "UInt32")],
}

_ZERO = {"String": "''", "UInt32": "1"}


def _called(view: View) -> str:
    given = ", ".join(f"{p.name} = {_ZERO[p.type]}" for p in view.parameters)
    return f"{view.name}({given})" if given else view.name


def test_the_views_are_those_of_the_contract() -> None:
    assert {view.name for view in all_views()} == CONTRACT.keys()


@pytest.mark.long
@pytest.mark.parametrize("view", all_views(), ids=lambda view: view.name)
def test_columns_and_parameters_are_those_of_contract_and_header(view: View, views: EmbeddedStore) -> None:
    # Of what the statement makes, whatever the definition says of it.
    read = _called(view) if view.parameters else f"({view.statement})"
    found = [(str(row[0]), str(row[1])) for row in views.rows(f"DESCRIBE TABLE {read}")]
    expected = CONTRACT[view.name]
    assert found[: len(expected)] == expected
    assert found == [(column.name, column.type) for column in view.columns]
    assert [(p.name, p.type) for p in view.parameters] == PARAMETERS.get(view.name, [])


@pytest.mark.parametrize(
    "view", [one for one in all_views() if not one.parameters], ids=lambda view: view.name
)
def test_clients_are_told_what_each_column_means(view: View, views: EmbeddedStore) -> None:
    found = views.rows(f"DESCRIBE TABLE {view.name}")
    told = [(column.name, column.type, column.meaning) for column in view.columns]
    assert [(str(row[0]), str(row[1]), str(row[4])) for row in found] == told


@pytest.mark.parametrize("view", all_views(), ids=lambda view: view.name)
def test_a_file_is_one_statement_that_names_its_columns(view: View) -> None:
    bare = re.sub(r"--[^\n]*|'(?:[^'\\]|\\.)*'", "", view.statement)
    assert ";" not in bare
    # Inside, `*` passes on what a stage before has named.
    while "(" in bare:
        bare = re.sub(r"\([^()]*\)", "", bare)
    assert re.search(r"\bSELECT\b", bare)
    assert not re.search(r"SELECT(\s+DISTINCT)?\s+(\w+\.)?\*", bare)


@pytest.mark.parametrize(
    "view",
    [
        # The SQL of two is planned for seconds.
        pytest.param(view, id=view.name, marks=[pytest.mark.long] if view.name.startswith("run_di") else [])
        for view in all_views()
    ],
)
def test_examples_run(view: View, views: EmbeddedStore) -> None:
    assert view.examples
    for example in view.examples:
        views.query(example, {"run_id": "r", "other_run_id": "s"})


def test_a_view_comes_after_those_it_reads() -> None:
    names = [view.name for view in all_views()]
    for view in all_views():
        for source in view.sources & set(names) - {view.name}:
            assert names.index(source) < names.index(view.name)


def test_the_documentation_is_what_the_headers_say() -> None:
    page = Path(retrospan.queries.__file__).parents[3] / "docs" / "views.md"
    assert page.read_text(encoding="utf-8") == render(all_views()), (
        "docs/views.md is stale: python -m retrospan.queries.document > docs/views.md"
    )


def test_an_unknown_view_is_not_found_and_the_message_names_the_views() -> None:
    with pytest.raises(NotFound, match=r"'run'.*run_diff"):
        load("run")


@pytest.mark.parametrize(
    "text",
    [
        "-- title: x\n-- params: none\nSELECT 1",
        "-- title: x\n-- returns:\n--   a String: b\nSELECT 1",
        "-- title: x\n-- params: none\n-- returns:\n--   a String\nSELECT 1",
        "-- title: x\n-- params: none\n-- returns:\n--   a String: b\n-- titel: y\nSELECT 1",
    ],
)
def test_a_header_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(HeaderError, match=r"broken\.sql"):
        read_view("broken", text)
