"""Names that agents chose stay on the line of the sentence that names them: nobody else writes lines of a message."""

from __future__ import annotations

from typing import cast

from retrospan.ingest.cli.client.empty import no_runs_match
from retrospan.ingest.cli.client.entities import unknown_entity
from retrospan.ingest.cli.client.references import describe
from retrospan.ingest.cli.client.session import Session
from retrospan.ingest.cli.commands.state import _describe
from retrospan.ingest.cli.terminal.moments import Moment, Zone

FORGED = "orla\r\nerror: nothing is stored\x1b[31m"
SHOWN = "orla\\r\\nerror: nothing is stored\\x1b[31m"


class _Answers:
    """A session whose every question has the same row for an answer."""

    zone, now = Zone(utc=True), Moment(0)

    class warehouse:
        address = "127.0.0.1:8123"

    def ask(self, question: str, **asked: object) -> list[dict[str, object]]:
        del question, asked
        return [{"entity_type": "order", "entity_id": FORGED, "said": 1, "total": 1}]


SESSION = cast(Session, _Answers())


def test_agents_that_there_are() -> None:
    said = no_runs_match(SESSION, {"total": 3, "agents": [FORGED]}, None, "", "nobody")
    assert said == f"No runs with agent nobody among 3 runs. Agents: {SHOWN}."
    meant = no_runs_match(SESSION, {"total": 3, "agents": [FORGED]}, None, "", FORGED[:-1])
    assert meant.endswith(f"Did you mean --agent {SHOWN}?")


def test_runs_in_a_list_of_the_nearest() -> None:
    run: dict[str, object] = {
        "run_id": FORGED,
        "agent_name": FORGED,
        "outcome": "ok",
        "started_at": None,
        "input": FORGED,
    }
    said = describe(SESSION, run)
    assert said.count(SHOWN) == 3 and "\n" not in said


def test_entities_in_a_list_of_the_nearest() -> None:
    lines = str(unknown_entity(SESSION, "order/1")).splitlines()
    assert len(lines) == 2 and lines[1] == f"order/{SHOWN}  1 statement"


def test_the_step_whose_state_is_shown() -> None:
    assert _describe({"step": 2, "step_kind": "tool", "name": FORGED}) == f"step 2 (tool {SHOWN})"
