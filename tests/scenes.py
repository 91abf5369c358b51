"""Interpreted runs written by hand, for questions to be asked about. Served by `serve_scenes.py`."""

from __future__ import annotations

from scene import START, Scene

from retrospan.schemas.canonical import StateChangeRow

HOSTILE = "\x1b[2J\x1b]0;owned\x07\x9b31mred\u202eevil\x00\x7f [b]not markup[/b] 日本語"


def refund() -> Scene:
    scene = Scene(
        "4bf92f3577b34da6a3ce929d0e0e4736",
        output="Refunds are possible within 30 days.",
        begin=START + 9 * 10**9,
    )
    start: dict[str, object] = {"customer": {"id": "C-1042", "email": "ada@example.com"}}
    policy = {**start, "policy": {"refund_days": 30, "source": "kb-17"}}
    scene.state = dict(start)
    scene.changes.append(
        StateChangeRow(
            tenant="default", run_id=scene.run_id, generation=1, step=1, key="customer",
            value=scene.value(start["customer"]), changed_at_step=0, span_id="0" * 15 + "1",
        )
    )  # fmt: skip
    scene.model(call=("search_docs", {"query": "refund policy", "top_k": 2}), after=start)
    documents = [{"id": "kb-17", "text": "Goods may be returned within 30 days. " * 40}]
    scene.tool("search_docs", {"query": "refund policy", "top_k": 2}, documents, after=policy)
    scene.observe("record/C-1042", "status", "delay_notified", learned_ms=60_000)
    scene.observe("record/C-1042", "owner", None)
    scene.model("Refunds are possible within 30 days.", after=policy)
    return scene


def pair(run_id: str, ship: bool, begin: int) -> Scene:
    scene = Scene(run_id, begin=begin, input="Ship O-77 today?")
    scene.model(call=("get_weather", {"city": "Oslo"}), after={"order": "O-77"})
    scene.tool("get_weather", {"city": "Oslo"}, {"city": "Oslo", "temp_c": -3}, after={"order": "O-77"})
    if ship:
        held: dict[str, object] = {"order": "O-77", "ship_today": "no"}
        scene.model(call=("update_record", {"id": "O-77", "value": "no"}), after={"order": "O-77"})
        scene.tool("update_record", {"id": "O-77", "value": "no"}, {"ok": True}, after=held)
        scene.model("O-77 is held today.", after=held)
        scene.output = "O-77 is held today."
    else:
        scene.model(call=("send_email", {"to": "ops@example.com"}), after={"order": "O-77"})
        scene.tool("send_email", {"to": "ops@example.com"}, {"message_id": "m-502"}, after={"order": "O-77"})
        scene.model("I asked ops@example.com.", after={"order": "O-77"})
        scene.output = "I asked ops@example.com."
    return scene


def loop() -> Scene:
    scene = Scene("91c0d7e2a4b34da6a3ce929d0e0e4736", begin=START + 10**9, input="Find the warranty.")
    for _ in range(4):
        scene.model(call=("search_docs", {"query": "zeta-9 warranty"}))
        scene.tool("search_docs", {"query": "zeta-9 warranty"}, [])
    scene.model("I found nothing.")
    scene.output = "I found nothing."
    scene.doubt("arguments", "not JSON")
    for _ in range(2):
        scene.doubt("finish_reasons", "the answer ended for tool calls, and none is read in it")
    return scene


def cut_short() -> Scene:
    scene = Scene(
        "d2209b6c00b34da6a3ce929d0e0e4736",
        begin=START + 2 * 10**9,
        outcome="incomplete",
        because="missing_parent",
    )
    scene.model(call=("send_email", {"to": "ada@example.com"}))
    scene.tool("send_email", {"to": "ada@example.com"}, None, status="error", error="connection reset")
    scene.model(call=("get_weather", {"city": "Oslo"}))
    scene.tool("get_weather", {"city": "Oslo"}, None, status="not_executed")
    return scene


def hostile() -> Scene:
    scene = Scene(
        "bad0000000b34da6a3ce929d0e0e4736", agent=HOSTILE, version=HOSTILE, begin=START + 3 * 10**9,
        outcome="error", input=HOSTILE, output=HOSTILE, system=HOSTILE,
    )  # fmt: skip
    scene.model(HOSTILE, call=(HOSTILE, {HOSTILE: HOSTILE}), after={HOSTILE: HOSTILE}, model=HOSTILE)
    scene.tool(
        HOSTILE, {HOSTILE: HOSTILE}, HOSTILE, after={HOSTILE: [HOSTILE]}, status="error", error=HOSTILE
    )
    scene.model(HOSTILE, after={HOSTILE: HOSTILE}, error=HOSTILE)
    scene.observe("evil/one", HOSTILE, HOSTILE)
    scene.doubt(HOSTILE, HOSTILE)
    scene.observe(f"evil/{HOSTILE}", "name", HOSTILE)
    return scene


def scenes() -> list[Scene]:
    twin = Scene("4bf92f35aaaaaaaaa3ce929d0e0e4736", agent="milo", begin=START - 10**9, input="Another one.")
    twin.model("Done.")
    named = Scene("batch/12", agent="nightly", begin=START - 2 * 10**9, input=None)
    named.model("Ran.")
    named.observe("record/C-1042", "status", "open")
    named.observe("record/C-1042", "owner", "ops/night")
    named.observe("pipeline/a/b", "cursor", {"day": "2026-09-20"})
    return [
        refund(),
        pair("7f3e91d0a4b34da6a3ce929d0e0e4736", True, START + 4 * 10**9),
        pair("b83f51aaa4b34da6a3ce929d0e0e4736", False, START + 5 * 10**9),
        loop(),
        cut_short(),
        hostile(),
        twin,
        named,
    ]
