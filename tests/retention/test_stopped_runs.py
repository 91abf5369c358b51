"""Runs of agents that were killed: what they said before is deleted as what others say at the end."""

from __future__ import annotations

import pytest
from keeping import Keeper
from stopped_agent import PROCESS, RUN, said_before_it_died
from telling import alive, killed, logs_request, spans_request

from retrospan.ingest.interpret.rows.lists import TABLES
from retrospan.ingest.retention.policy.policy import read_policy

POLICY = read_policy('[payloads]\nincomplete = "2d"\n[keep]\nincomplete = "9d"\n', "stopped.toml")
SAID = ("check the orders", '"checked":2', "seen 7")


def where(keeper: Keeper, text: str) -> set[str]:
    """The tables in which a text is found, whatever the column; in JSON within JSON too."""
    return {
        table
        for table in ("raw_spans", "raw_logs", *TABLES.values())
        for form in {text, text.replace('"', '\\"'), text.replace('"', '\\\\"')}
        if keeper.rows(
            f"SELECT count() FROM {table} WHERE position(toString(tuple(*)), {{text:String}}) > 0", text=form
        )
        != [[0]]
    }


@pytest.mark.long
def test_what_a_killed_run_had_said_is_deleted_with_its_payloads_and_then_with_it(keeper: Keeper) -> None:
    done, logs = said_before_it_died()
    keeper.log.append(tenant="default", traces=b"".join(spans_request(one.ended()) for one in done), items=3)
    keeper.log.append(
        tenant="default", logs=logs_request(*logs, alive(PROCESS), killed(PROCESS)), items=len(logs) + 2
    )
    keeper.settle()
    assert keeper.rows("SELECT run_id, outcome FROM runs") == [[RUN, "killed"]]
    assert all("raw_logs" in where(keeper, said) for said in SAID)
    keeper.after(3)
    assert keeper.apply(POLICY) == [RUN]
    keeper.settle()
    assert [where(keeper, said) for said in SAID] == [set(), set(), set()]
    assert keeper.rows("SELECT run_id, agent_name, outcome, steps FROM runs") == [[RUN, "clerk", "killed", 3]]
    keeper.reload()
    assert [where(keeper, said) for said in SAID] == [set(), set(), set()]
    assert all(not checked.wrong for checked in keeper.verify())
    keeper.after(10)
    assert keeper.apply(POLICY) == [RUN]
    keeper.settle()
    trace = done[0].trace_id.hex()
    assert where(keeper, trace) == set()
    assert keeper.runs() == []
    assert all(not checked.wrong for checked in keeper.verify())
