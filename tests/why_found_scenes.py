"""Runs told for `why` that end well by their status, and about which rules or the model's API say otherwise."""

from __future__ import annotations

from scenes import START, Scene
from story import Story, calls, text

from retrospan.schemas import semconv

CONTRADICTED, CUT_OFF, CUT_CALL, MADE_UP_FOR, WITHHELD, GAVE_UP, NAMED_ERROR, NO_TOOL = (
    f"{name}{'0' * (32 - len(name))}"
    for name in ("c027", "c07ff", "c07ca", "3ade", "311e1d", "9a5e", "2a3ed", "2070")
)
LIMIT = {semconv.RESPONSE_FINISH_REASONS: ["length"]}


def _asked(run_id: str, asked: str) -> Scene:
    scene = Scene(run_id, begin=START, asked=asked)
    scene.resource["service.name"] = f"orders {run_id[:5]}"
    scene.root.status = "ok"
    return scene


def contradicted() -> Scene:
    """A run whose answer names another order than the one that was looked up."""
    scene = _asked(CONTRADICTED, "Where is my order?")
    scene.says(calls("get_order", "c1", customer="Ada"))
    scene.tool("get_order", {"customer": "Ada"}, {"order_id": "ORD-5512", "state": "shipped"}, call_id="c1")
    scene.says(text("assistant", "Your order ORD-5521 has shipped."))
    return scene


def cut_off() -> Scene:
    """A run whose answer ends in the middle of a word."""
    scene = _asked(CUT_OFF, "Write to Ada.")
    scene.says(text("assistant", "Dear Ada, your ord"), more=LIMIT)
    return scene


def cut_call(run_id: str, error: str | None) -> Scene:
    """A run that asks for a call at its limit of tokens, which the tool takes or refuses."""
    scene = _asked(run_id, "Write to Ada.")
    scene.says(calls("send_mail", "c1", body="Dear Ada, your ord"), more=LIMIT)
    scene.tool("send_mail", {"body": "Dear Ada, your ord"}, error or "sent", error=error, call_id="c1")
    scene.says(text("assistant", "It is done."))
    return scene


def withheld() -> Scene:
    """A run whose only answer a filter withheld."""
    scene = _asked(WITHHELD, "Tell me a secret.")
    scene.says(
        text("assistant", ""), more={semconv.RESPONSE_FINISH_REASONS: ["FinishReason.PROHIBITED_CONTENT"]}
    )
    return scene


def gave_up() -> Scene:
    """A run that is told to be ok though its last step failed and it did nothing after it."""
    scene = _asked(GAVE_UP, "Where is my order?")
    scene.says(text("assistant", "I look it up."))
    scene.tool("get_order", {"order": "ORD-5512"}, None, error="TimeoutError: no answer in 60 s")
    return scene


def named_error() -> Scene:
    """A run that says that it is done though its helper returned the text of an error."""
    scene = _asked(NAMED_ERROR, "Look into kettles.")
    for number, result in enumerate(("ERROR: no answer in 60 s", "Errors are rare with kettles.")):
        scene.says(calls("ask_helper", f"c{number}", about=f"kettles {number}"))
        scene.tool("ask_helper", {"about": f"kettles {number}"}, result, call_id=f"c{number}")
    scene.says(text("assistant", "It is done."))
    return scene


def no_tool() -> Scene:
    """A run that calls a tool which it does not have, and says that it is done."""
    scene = _asked(NO_TOOL, "Cancel my order.")
    scene.says(calls("cancel_order", "c1", order="ORD-1"))
    told = {"type": "tool_call_response", "id": "c1", "response": "Unknown tool name: 'cancel_order'."}
    scene.hear({"role": "tool", "parts": [told]})
    scene.says(text("assistant", "It is cancelled."))
    return scene


def found_scenes() -> list[Story]:
    """Return every run."""
    calls_cut = [cut_call(CUT_CALL, "ValueError: the body ends too soon"), cut_call(MADE_UP_FOR, None)]
    return [contradicted(), cut_off(), *calls_cut, withheld(), gave_up(), named_error(), no_tool()]
