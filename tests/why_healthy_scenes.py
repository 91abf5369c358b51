"""Runs told for `why` that are well though they call a tool again, leave something out, or go on from another."""

from __future__ import annotations

from collections.abc import Sequence

from scenes import START, Scene
from story import SECOND, Message, Story, calls, text

from retrospan.ingest.interpret.spans.span import Link
from retrospan.schemas import attributes

POLLED, RETRIED, IN_VAIN, WHOLE, LEFT_OUT, ADDED, STOPPED, RESUMED = (
    f"{name}{'0' * (32 - len(name))}"
    for name in ("b0111", "2e721ed", "1a7a1a", "3401e", "1ef70", "added0", "570bbed", "2e5c4ed")
)
BUSY = "HTTPError: 503 Service Unavailable"


def polled() -> Scene:
    """A run that asks until what it waits for is there."""
    scene = Scene(POLLED, begin=START, asked="Deploy it, and wait until it is there.")
    scene.resource["service.name"] = "polling"
    for number, state in enumerate(["rolling out"] * 4 + ["live"]):
        scene.says(calls("get_deploy", f"c{number}", id="D-1"))
        scene.tool("get_deploy", {"id": "D-1"}, {"state": state}, call_id=f"c{number}")
    scene.says(text("assistant", "It is live."))
    return scene


def booked(run_id: str, *, at_last: bool) -> Scene:
    """A run that tries again until a room is booked, or until it gives up."""
    scene = Scene(run_id, begin=START, asked="Book the room.")
    scene.resource["service.name"] = f"booking {run_id[:4]}"
    for number in range(4):
        error = None if at_last and number == 3 else BUSY
        scene.says(calls("book", f"c{number}", room="R-1"))
        scene.tool("book", {"room": "R-1"}, error or {"ok": True}, call_id=f"c{number}", error=error)
    scene.says(text("assistant", "Booked." if at_last else "It cannot be booked."))
    scene.root.status = "ok" if at_last else "error"
    return scene


def asked_for(tools: Sequence[str], run_id: str, begin: int, *, error: str | None = None) -> Scene:
    """A run that is asked for two lookups at once and executes some."""
    scene = Scene(run_id, begin=begin, asked="Look both up.")
    scene.resource["service.name"] = "lookups"
    parts = [calls(name, f"c{name}", of=name)["parts"][0] for name in ("stock", "price")]
    both: Message = {"role": "assistant", "parts": parts}
    scene.says(both)
    for name in tools:
        scene.tool(name, {"of": name}, f"{name} is 4", call_id=f"c{name}")
    scene.says(text("assistant", "" if error else "Both are 4."), error=error)
    scene.root.status = "error" if error else "ok"
    return scene


def resumed(parent: Scene) -> Scene:
    """A run that goes on where another stopped, with the question that the other was asked."""
    scene = Scene(RESUMED, begin=START + 30 * SECOND, asked="Book the room.")
    scene.resource["service.name"] = parent.resource["service.name"]
    root, link = parent.root, {attributes.LINK_TYPE: "resumes"}
    scene.root.links.append(Link(trace_id=root.trace_id, span_id=root.span_id, attributes=link))
    scene.says(text("assistant", "Booked."))
    scene.root.status = "ok"
    return scene


def healthy_scenes() -> list[Story]:
    """Return every run."""
    whole = asked_for(("stock", "price"), WHOLE, START)
    left_out = asked_for(("stock",), LEFT_OUT, START + 5 * SECOND, error="BadRequest: a result is missing")
    added = asked_for(("stock", "price", "stock"), ADDED, START + 9 * SECOND, error="BadRequest: too many")
    in_vain = booked(IN_VAIN, at_last=False)
    return [polled(), booked(RETRIED, at_last=True), in_vain, whole, left_out, added, resumed(in_vain)]
