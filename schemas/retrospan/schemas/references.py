"""References: how a thing is named in provenance, `kind:id`. In a part `/` and `%` are percent-encoded, nothing else.

The SQL functions `retrospan_reference` and `retrospan_step_reference` write the same.
"""

from __future__ import annotations


def _part(text: str) -> str:
    return text.replace("%", "%25").replace("/", "%2F")


def run_ref(run_id: str) -> str:
    return f"run:{_part(run_id)}"


def span_ref(trace_id: str, span_id: str) -> str:
    return f"span:{trace_id}/{span_id}"


def step_ref(run_id: str, step: int) -> str:
    return f"step:{_part(run_id)}/{step}"


def message_ref(message_hash: str) -> str:
    return f"message:{message_hash}"


def output_ref(output_id: str) -> str:
    return f"output:{_part(output_id)}"


def observation_ref(observation_id: str) -> str:
    return f"observation:{_part(observation_id)}"


def entity_ref(entity_type: str, entity_id: str) -> str:
    return f"entity:{_part(entity_type)}/{_part(entity_id)}"


def document_ref(document_id: str) -> str:
    return f"document:{_part(document_id)}"
