"""One step in full: what it was given, what it gave, how it went."""

from __future__ import annotations

import json

from retrospan.ingest.cli.client.collector_client import Row
from retrospan.ingest.cli.client.references import step_address
from retrospan.ingest.cli.client.rows import moment_of, number_of, text_of, texts_of, whole
from retrospan.ingest.cli.client.session import Session
from retrospan.ingest.cli.terminal.screen import Part
from retrospan.ingest.cli.terminal.table import show_wrapped
from retrospan.ingest.cli.terminal.text import count, duration, fitted
from retrospan.ingest.cli.terminal.values import MISSING, brief, message_text, parse
from retrospan.ingest.cli.views.timeline import NOT_RECORDED, failure, step_name
from retrospan.ingest.cli.views.tokens import tokens

#: Lines that one value may take on a terminal unless --full is given.
VALUE_LINES = 6
_LABEL = 10


def show_step(
    session: Session, run: Row, step: Row, model: Row | None, tool: Row | None, *, with_input: bool = True
) -> None:
    """Write the step's line and its values; `with_input` adds what a model call was given."""
    _show_line(session, run, step, model, tool)
    if model is not None:
        _show_model(session, str(run["run_id"]), model, with_input)
    elif tool is not None:
        _value(
            session, "arguments", parse(tool["arguments"]), whole(tool, "arguments_length"), tool["arguments"]
        )
        _value(session, "result", parse(tool["result"]), whole(tool, "result_length"), tool["result"])
        if tool["result_source"] == "message":
            session.screen.line(" " * _LABEL, ("result as the next model call was given it", "dim"))


def _show_line(session: Session, run: Row, step: Row, model: Row | None, tool: Row | None) -> None:
    facts = [session.zone.exact(moment_of(step, "started_at")), duration(number_of(step, "duration_ms"))]
    if model is not None:
        facts.append(f"{tokens(model)} tokens")
    for name, label in (
        ("node", "node"),
        ("agent_name", "agent"),
        ("attempt", "attempt"),
        ("task_step", "task step"),
    ):
        if step[name] is not None and step[name] != "":
            facts.append(f"{label} {step[name]}")
    failed = failure(model or tool or {**step, "error_type": None, "error_message": None})
    address = step_address(str(run["run_id"]), step["step"])
    session.screen.line(
        (address, "cyan"), "  ", str(step["step_kind"]), " ", (step_name(step, model), "bold"), "  ", "  ".join(facts),
        (f"  {session.zone_note()}", "dim"),
    )  # fmt: skip
    if failed:
        show_wrapped(session.screen, ["  "], failed, "red")


def _show_model(session: Session, run_id: str, model: Row, with_input: bool) -> None:
    finish = ", ".join(texts_of(model, "finish_reasons"))
    answered = text_of(model, "response_model")
    facts = [f"answered by {answered}"] if answered and answered != model["request_model"] else []
    facts += [f"finished: {finish}"] if finish else []
    for name, label in (("cached_tokens", "cached"), ("reasoning_tokens", "reasoning")):
        if whole(model, name):
            facts.append(f"{count(whole(model, name))} {label} tokens")
    if facts:
        session.screen.line((" " * _LABEL, ""), ("  ".join(facts), "dim"))
    ordinal = whole(model, "ordinal") or 0
    if with_input:
        setup = session.one("show_setup", run_id=run_id, model_call=ordinal)
        messages = session.ask("show_messages", run_id=run_id, model_call=ordinal)
        if setup is not None:
            _show_setup(session, setup)
        _show_input(session, [message for message in messages if message["direction"] == "input"])
        outputs = [parse(message["content"]) for message in messages if message["direction"] == "output"]
    else:
        parsed = parse(model["output_messages"])
        outputs = parsed if isinstance(parsed, list) else []
    for output in outputs:
        _value(session, "answer", message_text(output), None, "")
    if not outputs and model["status"] == "ok":
        _value(session, "answer", None, None, None)


def _show_setup(session: Session, setup: Row) -> None:
    for column, label in (
        ("parameters", "settings"),
        ("system_instructions", "system"),
        ("tool_definitions", "tools"),
    ):
        parsed = parse(setup[column])
        if parsed in (None, "", [], {}):
            continue
        if column == "system_instructions" and isinstance(parsed, list):
            parsed = " ".join(message_text({"parts": [part]}) for part in parsed)
        elif column == "tool_definitions" and isinstance(parsed, list) and not session.arguments.full:
            names = [str(_tool_name(tool)) for tool in parsed]
            parsed = f"{', '.join(names)} (definitions: --full)"
        _value(session, label, parsed, None, "")


def _tool_name(tool: object) -> object:
    """Return the name in a tool definition, whose shape differs by producer."""
    if isinstance(tool, dict):
        inner = tool.get("function")
        if "name" not in tool and isinstance(inner, dict):
            return inner.get("name", "?")
        return tool.get("name", "?")
    return brief(tool)


def _show_input(session: Session, messages: list[Row]) -> None:
    full = session.arguments.full or session.screen.width is None
    old = [message for message in messages if not message["new_in_call"]]
    if old and not full:
        session.screen.line(
            ("earlier", "dim"), "   ", f"{len(old)} messages already given to earlier calls (--full)"
        )
    for message in messages:
        if message["new_in_call"] or full:
            _value(session, str(message["role"]), message_text(parse(message["content"])), None, "")
    if not messages:
        _value(session, "input", None, None, None)


def _value(session: Session, label: str, value: object, length: int | None, raw: object) -> None:
    """Write one labelled value: JSON indented when it is long, cut to some lines on a terminal."""
    lead: list[Part] = [(f"{label:<{_LABEL - 1}} ", "dim")]
    if raw is None or value is MISSING:
        show_wrapped(session.screen, lead, NOT_RECORDED, "dim")
        return
    width, full = session.screen.width, bool(session.arguments.full)
    text = brief(value)
    if width is not None and not full:
        cut_by_engine = isinstance(raw, str) and raw != "" and length is not None and length > len(raw)
        text = fitted(
            text, (width - _LABEL) * VALUE_LINES, session.screen.mark, length if cut_by_engine else None
        )
    elif full and isinstance(value, dict | list) and len(text) > 80:
        text = json.dumps(value, ensure_ascii=False, indent=2)
    show_wrapped(session.screen, lead, text or '""')
