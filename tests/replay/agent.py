"""An agent that loops over a model and a tool, and what it raises when its record does not answer it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import openai
import pytest
from replay.recorded import (
    QUESTION,
    SYSTEM,
)

from retrospan.exporter.replay import replay, tool
from retrospan.schemas.bundle.form import Bundle
from retrospan.schemas.errors import ReplayMiss


class Agent:
    """A loop of model and tools, as many write it. Its spy notes each time that a tool really runs."""

    def __init__(
        self, *, system: str = SYSTEM, url: str | None = None, effect: Any = None, swallows: bool = False
    ) -> None:
        self.ran: list[str] = []
        self.system, self.swallows = system, swallows
        self.client = openai.OpenAI(api_key="none", base_url=url or "http://model.invalid/v1")

        @tool(effect=effect)
        def get_weather(city: str) -> dict[str, int]:
            self.ran.append(city)
            return {"temp_c": 20}

        self.tools: dict[str, Callable[..., object]] = {"get_weather": get_weather}

    def run(self, question: str = QUESTION) -> str:
        messages: list[Any] = [
            {"role": "system", "content": self.system},
            {"role": "user", "content": question},
        ]
        for _ in range(5):
            try:
                said = self.client.chat.completions.create(model="gpt-4o-mini", messages=messages)
            except openai.OpenAIError:
                if not self.swallows:
                    raise
                return "sorry"
            message = said.choices[0].message
            if not message.tool_calls:
                return str(message.content)
            messages.append(message.to_dict())
            for call in message.tool_calls:
                assert call.type == "function"
                result = self.tools[call.function.name](**json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})
        return "too many turns"


def missed(agent: Agent, record: Bundle, question: str = QUESTION) -> ReplayMiss:
    with pytest.raises(ReplayMiss) as found, replay(record) as r:
        agent.run(question)
    assert agent.ran == []
    assert r.report.verdict == "parts"
    assert str(found.value) == r.report.missed
    return found.value
