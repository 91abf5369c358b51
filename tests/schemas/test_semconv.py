"""Names of OpenTelemetry's conventions: as its registry has them, and written out in one module only."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from pathlib import Path

import opentelemetry.semconv._incubating.attributes as published

from retrospan.schemas import semconv

INTERPRET = Path(__file__).resolve().parents[2] / "ingest/retrospan/ingest/interpret"
OURS = {name: value for name, value in vars(semconv).items() if name.isupper()}
#: What the registry that is installed does not know: events, names that are newer than it, and those of vendors.
UNPUBLISHED = {
    semconv.CHOICE,
    semconv.CONVERSATION_COMPACTED,
    semconv.TOOL_MESSAGE,
    semconv.INPUT_VALUE,
    semconv.LLM_MODEL_NAME,
    semconv.LLM_TOKEN_COUNT_COMPLETION,
    semconv.LLM_TOKEN_COUNT_PROMPT,
    semconv.MEMORY_QUERY_TEXT,
    semconv.MEMORY_RECORDS,
    semconv.MEMORY_RECORD_ID,
    semconv.MEMORY_STORE_ID,
    semconv.MLFLOW_SPAN_INPUTS,
    semconv.MLFLOW_SPAN_OUTPUTS,
    semconv.OPENINFERENCE_SPAN_KIND,
    semconv.OUTPUT_VALUE,
    semconv.TRACELOOP_ENTITY_INPUT,
    semconv.TRACELOOP_ENTITY_OUTPUT,
    semconv.TRACELOOP_SPAN_KIND,
    semconv.PROMPT_VERSION,
    semconv.USAGE_CACHE_WRITE_INPUT_TOKENS,
    semconv.USAGE_TEXT_INPUT_TOKENS,
    semconv.USAGE_IMAGE_INPUT_TOKENS,
    semconv.USAGE_AUDIO_INPUT_TOKENS,
    semconv.USAGE_TEXT_CACHE_READ_INPUT_TOKENS,
    semconv.USAGE_IMAGE_CACHE_READ_INPUT_TOKENS,
    semconv.USAGE_AUDIO_CACHE_READ_INPUT_TOKENS,
    semconv.USAGE_TEXT_OUTPUT_TOKENS,
    semconv.USAGE_IMAGE_OUTPUT_TOKENS,
    semconv.USAGE_AUDIO_OUTPUT_TOKENS,
}


def registry() -> dict[str, str]:
    """Every attribute that OpenTelemetry publishes: what its package calls it, by its name."""
    found: dict[str, str] = {}
    for module in pkgutil.iter_modules(published.__path__):
        members = vars(importlib.import_module(f"{published.__name__}.{module.name}"))
        found |= {value: name for name, value in members.items() if name.isupper() and isinstance(value, str)}
    return found


def test_each_name_is_the_one_that_is_published() -> None:
    known = registry()
    assert len(known) > 500
    assert {value for value in OURS.values() if value not in known} == UNPUBLISHED
    for name, value in OURS.items():
        assert known.get(value, name).removeprefix("GEN_AI_") == name


def test_a_name_is_what_its_attribute_is_called() -> None:
    for name, value in OURS.items():
        letters = "".join(
            f"_{letter}" if letter.isupper() else letter for letter in value.removeprefix("gen_ai.")
        )
        assert name == letters.replace(".", "_").upper()


def test_interpretation_writes_no_name_out_that_has_a_constant_or_is_published() -> None:
    named = {*OURS.values(), *(value for value in registry() if "." in value)}
    files = [file for file in sorted(INTERPRET.rglob("*.py")) if file.parent.name != "dialects"]
    assert len(files) > 50
    written = {
        f"{file.relative_to(INTERPRET)}: {node.value}"
        for file in files
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in named
    }
    assert written == set()
