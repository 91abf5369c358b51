"""Runs told for questions to be asked about: what the interpreter makes of them is served by `serve_scenes.py`."""

from __future__ import annotations

from collections.abc import Mapping

from story import MS, SECOND, Message, Story, calls, text

from retrospan.ingest.prices.history import PriceHistory
from retrospan.ingest.prices.price_file import parse_prices
from retrospan.schemas import attributes, semconv

START = 1_789_999_200 * SECOND  # 2026-09-21 14:00:00 UTC
PRICES = PriceHistory(
    (
        (
            0,
            (
                parse_prices(
                    """
                    currency = "USD"
                    [[price]]
                    provider = "openai"
                    models = "gpt-4o-mini-2024"
                    per_million = { input = 0.15, cache_read = 0.075, output = 0.6 }
                    """,
                    "scenes",
                ),
            ),
        ),
    )
)
HOSTILE = "\x1b[2J\x1b]0;owned\x07\x9b31mred\u202eevil\x00\x7f [b]not markup[/b] 日本語"


class Scene(Story):
    """A story of the shop: steps take 10 ms each, 100 ms apart."""

    def __init__(
        self,
        run_id: str,
        *,
        agent: str = "orla",
        version: str = "1.4.2",
        begin: int = START,
        asked: str | None = "Find the refund policy.",
    ) -> None:
        super().__init__(
            run_id,
            agent=agent,
            version=version,
            conversation="c-88",
            started_at=begin - 100 * MS,
            beat=100 * MS,
            takes=10 * MS,
        )
        self.root.started_at = begin
        self.prices = PRICES
        self.resource["service.name"] = "shop"
        if asked is not None:
            self.hear(text("user", asked))

    def says(
        self,
        answer: Message,
        *,
        model: str = "gpt-4o-mini",
        error: str | None = None,
        more: Mapping[str, object] | None = None,
    ) -> None:
        """Add a model call."""
        number = sum("chat" in act.name for act in self.acts) + 1
        asks = any(part["type"] == "tool_call" for part in answer["parts"])
        said: dict[str, object] = {
            semconv.PROVIDER_NAME: "openai",
            semconv.RESPONSE_MODEL: f"{model}-2024",
            semconv.TOOL_DEFINITIONS: [{"type": "function", "function": {"name": "search_docs"}}],
            semconv.RESPONSE_FINISH_REASONS: ["tool_calls" if asks else "stop"],
            semconv.USAGE_INPUT_TOKENS: 100 * number,
            semconv.USAGE_OUTPUT_TOKENS: 20,
            "gen_ai.request.temperature": 0.0,
        }
        self.model(answer, system="You are orla.", model=model, error=error, more={**said, **(more or {})})

    def held(self, before: dict[str, object], after: dict[str, object]) -> None:
        """Say in which state the last step began and ended."""
        self.state(len(self.acts), **before)
        self.state_after(len(self.acts), **after)

    def observe(self, entity: str, name: str, value: object, learned_ms: int = 5) -> None:
        """State something about `TYPE/ID` in the last step; None clears."""
        kind, _, entity_id = entity.partition("/")
        said = {
            attributes.ENTITY_TYPE: kind,
            attributes.ENTITY_ID: entity_id,
            attributes.CHANGES: {name: value},
        }
        self.event(attributes.OBSERVATION, len(self.acts), said)
        self.acts[-1].arrived_at = self.acts[-1].started_at + learned_ms * MS


def refund() -> Scene:
    scene = Scene("4bf92f3577b34da6a3ce929d0e0e4736", begin=START + 9 * SECOND)
    start: dict[str, object] = {"customer": {"id": "C-1042", "email": "ada@example.com"}}
    policy = {**start, "policy": {"refund_days": 30, "source": "kb-17"}}
    asked: dict[str, object] = {"query": "refund policy", "top_k": 2}
    scene.says(calls("search_docs", "c1", **asked))
    scene.held(start, start)
    scene.observe("record/C-1042", "owner", None)
    documents = [{"id": "kb-17", "text": "Goods may be returned within 30 days. " * 40}]
    scene.tool("search_docs", asked, documents, call_id="c1")
    scene.held(start, policy)
    scene.observe("record/C-1042", "status", "delay_notified", learned_ms=60_000)
    scene.says(text("assistant", "Refunds are possible within 30 days."))
    scene.held(policy, policy)
    return scene


def pair(run_id: str, ship: bool, begin: int) -> Scene:
    scene = Scene(run_id, begin=begin, asked="Ship O-77 today?")
    order: dict[str, object] = {"order": "O-77"}
    scene.says(calls("get_weather", "c1", city="Oslo"))
    scene.held({}, order)
    scene.tool("get_weather", {"city": "Oslo"}, {"city": "Oslo", "temp_c": -3}, call_id="c1")
    scene.held(order, order)
    if ship:
        held = {**order, "ship_today": "no"}
        scene.says(calls("update_record", "c2", id="O-77", value="no"))
        scene.held(order, order)
        scene.tool("update_record", {"id": "O-77", "value": "no"}, {"ok": True}, call_id="c2")
        scene.held(order, held)
        scene.says(text("assistant", "O-77 is held today."))
        scene.held(held, held)
    else:
        scene.says(calls("send_email", "c2", to="ops@example.com"))
        scene.held(order, order)
        scene.tool("send_email", {"to": "ops@example.com"}, {"message_id": "m-502"}, call_id="c2")
        scene.held(order, order)
        scene.says(text("assistant", "I asked ops@example.com."))
        scene.held(order, order)
    return scene


def loop() -> Scene:
    scene = Scene("91c0d7e2a4b34da6a3ce929d0e0e4736", begin=START + SECOND, asked="Find the warranty.")
    for number in range(1, 5):
        scene.says(calls("search_docs", f"c{number}", query="zeta-9 warranty"))
        scene.tool("search_docs", {"query": "zeta-9 warranty"}, [], call_id=f"c{number}")
    for _ in range(2):
        scene.says(
            text("assistant", "I found nothing."), more={semconv.RESPONSE_FINISH_REASONS: ["tool_calls"]}
        )
    scene.acts[-1].attributes = {**scene.acts[-1].attributes, attributes.STATE_AFTER: '{"cut":'}
    return scene


def cut_short() -> Scene:
    scene = Scene("d2209b6c00b34da6a3ce929d0e0e4736", begin=START + 2 * SECOND)
    scene.says(calls("send_email", "c1", to="ada@example.com"))
    scene.tool(
        "send_email", {"to": "ada@example.com"}, None, error="ToolError: connection reset", call_id="c1"
    )
    scene.says(calls("get_weather", "c2", city="Oslo"))
    scene.has_root = False
    return scene


def hostile() -> Scene:
    scene = Scene(
        "bad0000000b34da6a3ce929d0e0e4736",
        agent=HOSTILE,
        version=HOSTILE,
        begin=START + 3 * SECOND,
        asked=HOSTILE,
    )
    odd: dict[str, object] = {HOSTILE: HOSTILE}
    asked = calls(HOSTILE, "c1", **odd)
    asked["parts"].insert(0, {"type": "text", "content": HOSTILE})
    scene.says(asked, model=HOSTILE)
    scene.held(odd, odd)
    scene.tool(HOSTILE, odd, HOSTILE, error=f"ToolError: {HOSTILE}", call_id="c1")
    scene.held(odd, {HOSTILE: [HOSTILE]})
    scene.says(text("assistant", HOSTILE), model=HOSTILE, error=f"RateLimitError: {HOSTILE}")
    scene.held({HOSTILE: [HOSTILE]}, odd)
    scene.observe("evil/one", HOSTILE, HOSTILE)
    scene.observe(f"evil/{HOSTILE}", "name", HOSTILE)
    scene.acts[0].attributes = {**scene.acts[0].attributes, attributes.ATTEMPT: HOSTILE}
    scene.root.status = "error"
    return scene


def scenes() -> list[Scene]:
    twin = Scene("4bf92f35aaaaaaaaa3ce929d0e0e4736", agent="milo", begin=START - SECOND, asked="Another one.")
    twin.says(text("assistant", "Done."))
    for name, said in (("relevance", {"score.value": 0.75}), ("verdict", {"score.label": "pass"})):
        result = {
            "gen_ai.evaluation.name": name,
            **{f"gen_ai.evaluation.{key}": value for key, value in said.items()},
        }
        twin.event("gen_ai.evaluation.result", 1, result)
    named = Scene("batch/12", agent="nightly", begin=START - 2 * SECOND, asked=None)
    named.tool("sync", {"day": "2026-09-20"}, "Ran.", heard=False)
    named.observe("record/C-1042", "status", "open")
    named.observe("record/C-1042", "owner", "ops/night")
    named.observe("pipeline/a/b", "cursor", {"day": "2026-09-20"})
    return [
        refund(),
        pair("7f3e91d0a4b34da6a3ce929d0e0e4736", True, START + 4 * SECOND),
        pair("b83f51aaa4b34da6a3ce929d0e0e4736", False, START + 5 * SECOND),
        loop(),
        cut_short(),
        hostile(),
        twin,
        named,
    ]
