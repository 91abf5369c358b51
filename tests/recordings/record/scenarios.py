"""What the fake model says, step by step, and what a truthful record of it must hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

#: Stands for the tool by which a framework hands a conversation over; its name is the framework's.
HANDOFF = "HANDOFF"


@dataclass(frozen=True)
class Call:
    """A tool call that the model asks for."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Step:
    """One answer of the model: text, tool calls or both; or a refusal with HTTP status 400."""

    text: str | None = None
    calls: tuple[Call, ...] = ()
    fails: bool = False


@dataclass(frozen=True)
class Turn:
    """What the user says, and the model's answers to it, the last one for the user."""

    user: str
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Scenario:
    """A conversation in full."""

    name: str
    turns: tuple[Turn, ...]
    failing_tool: tuple[int, str] | None = None
    """Which tool call fails, counted from 0, and what it says."""

    @property
    def steps(self) -> list[tuple[int, int, Step]]:
        """Every answer with the numbers of its turn and of its place in it."""
        return [(t, s, step) for t, turn in enumerate(self.turns) for s, step in enumerate(turn.steps)]

    def call_id(self, turn: int, step: int, place: int) -> str:
        """The id that the server gives to a tool call."""
        return f"call_{self.name}_{turn}_{step}_{place}"


def input_tokens(turn: int, step: int) -> int:
    """What the server says that a request held."""
    return 100 + 500 * turn + 50 * step


def output_tokens(turn: int, step: int) -> int:
    """What the server says that its answer held."""
    return 20 + 50 * turn + 5 * step


def _asks(name: str, **arguments: Any) -> Call:
    return Call(name, arguments)


def _chain(user: str, *steps: Call | str | Step) -> Turn:
    def step(what: Call | str | Step) -> Step:
        if isinstance(what, Step):
            return what
        return Step(text=what) if isinstance(what, str) else Step(calls=(what,))

    return Turn(user, tuple(map(step, steps)))


_LETTER = (
    "Hei Ada,\n\nYour parcel to Oslo is delayed by snow (-3 °C). You may return it within 30 days for a full "
    "refund.\n\nVennlig hilsen,\nOrla ☃"
)
_SHIPS_TO_BERGEN = _asks("update_record", record_id="C-2077", field="shipping_city", value="Bergen")

SCENARIOS: dict[str, Scenario] = {
    scenario.name: scenario
    for scenario in (
        Scenario(
            "normal",
            (
                _chain(
                    "Customer C-1042 (ada@example.com) asks about the refund policy and whether the weather in Oslo "
                    "delays the parcel. Check both, mark the record and e-mail the customer.",
                    Step(
                        "I will look up the refund policy first.",
                        (_asks("search_docs", query="refund policy", top_k=2),),
                    ),
                    _asks("get_weather", city="Oslo"),
                    _asks("update_record", record_id="C-1042", field="status", value="delay_notified"),
                    _asks("send_email", to="ada@example.com", subject="Your parcel to Oslo", body=_LETTER),
                    "Refunds are possible within 30 days; snow in Oslo delays the parcel. I marked C-1042 as "
                    "delay_notified and e-mailed ada@example.com.",
                ),
            ),
        ),
        Scenario(
            "loop",
            (
                _chain(
                    "Find the warranty terms of the product Zeta-9.",
                    *[_asks("search_docs", query="zeta-9 warranty", top_k=2)] * 6,
                    "I could not find any warranty terms for Zeta-9 after 6 searches, so I give up.",
                ),
            ),
        ),
        Scenario(
            "tool_error",
            (
                _chain(
                    "Change the shipping city of record C-2077 to Bergen and confirm to bo@example.com.",
                    _SHIPS_TO_BERGEN,
                    _SHIPS_TO_BERGEN,
                    _asks(
                        "send_email",
                        to="bo@example.com",
                        subject="Address changed",
                        body="C-2077 now ships to Bergen.",
                    ),
                    "C-2077 now ships to Bergen; the first attempt failed because the record was locked.",
                ),
            ),
            failing_tool=(0, "record C-2077 is locked by another writer"),
        ),
        Scenario(
            "parallel",
            (
                _chain(
                    "Compare the weather in Oslo and Bergen and look up the shipping rules.",
                    Step(
                        calls=(
                            _asks("get_weather", city="Oslo"),
                            _asks("get_weather", city="Bergen"),
                            _asks("search_docs", query="shipping rules", top_k=1),
                        )
                    ),
                    "Oslo has snow, Bergen has rain; parcels are held in snow.",
                ),
            ),
        ),
        Scenario(
            "multiturn",
            (
                _chain(
                    "What is the weather in Oslo?",
                    _asks("get_weather", city="Oslo"),
                    "It is -3 °C and snowing in Oslo.",
                ),
                _chain(
                    "Thanks. E-mail that to ops@example.com.",
                    _asks(
                        "send_email", to="ops@example.com", subject="Weather", body="-3 °C and snow in Oslo."
                    ),
                    "Done, I e-mailed ops@example.com.",
                ),
            ),
        ),
        Scenario(
            "llm_error",
            (
                _chain(
                    "What is the weather in Bergen?", _asks("get_weather", city="Bergen"), Step(fails=True)
                ),
            ),
        ),
        Scenario(
            "big",
            (
                _chain(
                    "Read the full manual and tell me its last word.",
                    _asks("search_docs", query="full manual", top_k=1),
                    "The last word is BIGEND.",
                ),
            ),
        ),
        Scenario(
            "handoff",
            (
                _chain(
                    "Which weather does Oslo have? Let the right colleague answer.",
                    _asks(HANDOFF),
                    _asks("get_weather", city="Oslo"),
                    "Oslo has snow and -3 °C.",
                ),
            ),
        ),
    )
}


def expected_of(
    scenario: Scenario, request_model: str, response_model: str, answers_apart: bool = False
) -> dict[str, Any]:
    """What the script orders, as a manifest holds it; each turn's last step is asked for twice when answers are apart."""
    calls = [
        (call, scenario.call_id(turn, number, place))
        for turn, number, step in scenario.steps
        for place, call in enumerate(step.calls)
    ]
    answered = [(turn, number) for turn, number, step in scenario.steps if not step.fails]
    if answers_apart:
        last = {turn: (turn, number) for turn, number, step in scenario.steps if not step.calls}
        answered += [at for at in last.values() if at in answered]
    error: dict[str, Any] | None = None
    for place, (_, _, step) in enumerate(scenario.steps):
        if step.fails:
            error = {"llm_call_index": place, "http_status": 400, "code": "context_length_exceeded"}
    if scenario.failing_tool:
        place, message = scenario.failing_tool
        error = {"tool_call_index": place, "tool": calls[place][0].name, "message": message}
    return {
        "user_turns": [turn.user for turn in scenario.turns],
        "llm_calls": len(answered) + sum(step.fails for _, _, step in scenario.steps),
        "tool_calls": len(calls),
        "tool_names_in_order": [call.name for call, _ in calls],
        "tool_args_in_order": [call.arguments for call, _ in calls],
        "tool_call_ids_in_order": [call_id for _, call_id in calls],
        "final_answers": [turn.steps[-1].text for turn in scenario.turns if not turn.steps[-1].fails],
        "request_model": request_model,
        "response_model": response_model,
        "input_tokens_total": sum(input_tokens(*at) for at in answered),
        "output_tokens_total": sum(output_tokens(*at) for at in answered),
        "error_step": error,
        "note": "",
    }
