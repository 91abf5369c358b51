"""What is held, flagged or golden survives, with what it rests on; deleted runs stay deleted after a rebuild."""

from __future__ import annotations

import json

import pytest
from keeping import DAY, MINUTE, Keeper, agent_run, linked_run, trace_of
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from retrospan.ingest.interpret.rows.lists import TABLES
from retrospan.ingest.retention.receipts.evidence import key_of
from retrospan.ingest.verify.request import VerifyRequest
from retrospan.schemas import attributes
from retrospan.schemas.errors import BadRequest, NotFound

#: Spans by the view, and as they were counted when their trace was read.
_COUNTED = "SELECT (SELECT count() FROM spans), (SELECT sum(spans) FROM span_arrivals)"


def edge(keeper: Keeper, run: str, subject: str, relation: str, thing: str, evidence: str) -> None:
    """Put a stated edge beside those that the interpreter found."""
    store = keeper.warehouse.connect()
    store.command(
        "INSERT INTO canon_edges (tenant, run_id, generation, subject, relation, object, evidence) "
        "SELECT 'default', run_id, generation, {subject:String}, {relation:String}, {thing:String}, {evidence:String} "
        "FROM canon_runs FINAL WHERE run_id = {run:String}",
        {
            "run": trace_of(run),
            "subject": subject,
            "relation": relation,
            "thing": thing,
            "evidence": evidence,
        },
    )
    store.close()


def traced_from(keeper: Keeper, reference: str) -> set[str]:
    """Everything that provenance leads to from a reference, by the edges that are left."""
    edges: dict[str, set[str]] = {}
    for subject, thing in keeper.rows("SELECT subject, object FROM provenance_edges"):
        edges.setdefault(str(subject), set()).add(str(thing))
    found, waiting = {reference}, [reference]
    while waiting:
        fresh = edges.get(waiting.pop(), set()) - found
        found |= fresh
        waiting += fresh
    return found


@pytest.mark.long
def test_s0_3_an_output_is_traced_to_its_observations_after_all_else_has_gone(keeper: Keeper) -> None:
    # The evaluation's output was derived from the output of a run, which used two observations of two others; the
    # evaluation was also given an answer of a fifth run. Of a sixth only the content is alike.
    answer = "the limit is 100 since Tuesday"
    keeper.send(
        [
            agent_run("eval-2841", "eval", asked="judge this"),
            agent_run("writer", "ok"),
            *(agent_run(f"source-{n}", "ok") for n in (4091, 4092)),
            agent_run("alike", "ok"),
            *(agent_run(f"unrelated-{n}", kind) for n, kind in enumerate(("ok", "error", "test", "eval"))),
            agent_run("teller", "ok", said=answer),
            agent_run("listener", "golden", asked="hello"),
        ]
    )
    keeper.settle()
    edge(keeper, "eval-2841", "output:verdict-2841", "wasDerivedFrom", "output:report-7", "stated")
    step = f"step:{trace_of('writer')}/1"
    edge(keeper, "writer", "output:report-7", "wasGeneratedBy", step, "stated")
    for n in (4091, 4092):
        edge(keeper, "writer", step, "used", f"observation:{n}", "stated")
        source = f"step:{trace_of(f'source-{n}')}/1"
        edge(keeper, f"source-{n}", f"observation:{n}", "wasGeneratedBy", source, "stated")
    edge(keeper, "eval-2841", "output:verdict-2841", "wasDerivedFrom", f"run:{trace_of('alike')}", "inferred")
    edge(keeper, "listener", "output:l", "wasDerivedFrom", f"run:{trace_of('teller')}", "matched")
    keeper.marks.flag({"run": trace_of("eval-2841"), "reason": "disputed"})

    keeper.after(31)
    rests = ("eval-2841", "writer", "source-4091", "source-4092", "teller", "listener")
    kept = sorted(trace_of(name) for name in rests)
    assert len(keeper.apply()) == 5
    assert keeper.runs() == kept
    traced = traced_from(keeper, "output:verdict-2841")
    sources = {f"step:{trace_of(f'source-{n}')}/1" for n in (4091, 4092)}
    assert sources | {"observation:4091", "observation:4092", "output:report-7"} <= traced

    keeper.after(91)  # the flag has had its time, and nothing rests on the others any more
    assert set(keeper.apply()) == {trace_of(name) for name in rests} - {
        trace_of("listener"),
        trace_of("teller"),
    }


def turn(name: str, at: int, asked: list[tuple[str, str]], said: str, conversation: str) -> bytes:
    """The request of a run that is one turn of a conversation, begun so many minutes before now."""
    request = ExportTraceServiceRequest.FromString(agent_run(name, "ok", said=said))
    for span in request.resource_spans[0].scope_spans[0].spans:
        span.start_time_unix_nano -= at * MINUTE
        span.end_time_unix_nano -= at * MINUTE
        if conversation:
            span.attributes.add(key="gen_ai.conversation.id").value.string_value = conversation
        for each in span.attributes:
            if each.key == "gen_ai.input.messages":
                each.value.string_value = json.dumps(
                    [{"role": role, "parts": [{"type": "text", "content": text}]} for role, text in asked]
                )
    return request.SerializeToString()


@pytest.mark.long
def test_a_run_that_said_the_same_words_is_not_kept_for_a_held_one(keeper: Keeper) -> None:
    """Of the words of a run without an answerer there, those count that an earlier turn of the conversation said."""
    first = [("user", "Refund A-17.")]
    told = [*first, ("assistant", "Done."), ("user", "Thanks.")]
    keeper.send(
        [
            turn("earlier", 30, first, "Done.", "chat-9"),
            turn("held", 20, told, "You are welcome.", "chat-9"),
            turn("later", 10, told, "Done.", "chat-9"),
            turn("elsewhere", 25, first, "Done.", "chat-10"),
            turn("alone", 25, first, "Done.", ""),
            turn("polite", 15, first, "You are welcome.", "chat-9"),
        ]
    )
    keeper.settle()
    keeper.marks.hold({"run": trace_of("held")})
    keeper.after(31)
    went = keeper.apply()
    assert keeper.runs() == sorted(trace_of(name) for name in ("earlier", "held"))
    assert set(went) == {trace_of(name) for name in ("later", "elsewhere", "alone", "polite")}


@pytest.mark.long
def test_holds_and_flags_survive_a_rebuild_and_deleted_runs_stay_deleted(keeper: Keeper) -> None:
    keeper.send([agent_run(name, "ok") for name in ("held", "flagged", "unflagged", "plain", "short")])
    keeper.settle()
    for name in ("held", "short"):
        keeper.marks.hold({"run": trace_of(name), "until": keeper.now + 40 * DAY if name == "short" else 0})
    keeper.marks.flag({"run": trace_of("flagged"), "by": "me", "reason": "odd"})
    keeper.marks.flag({"run": trace_of("unflagged")})
    keeper.marks.flag({"run": trace_of("unflagged"), "remove": True})
    shown = "SELECT run_id, flagged, held FROM runs ORDER BY flagged, held, run_id"
    before = keeper.rows(shown)
    assert {(name, flagged, held) for name, flagged, held in before} == {
        (trace_of("held"), False, True),
        (trace_of("short"), False, True),
        (trace_of("flagged"), True, False),
        (trace_of("unflagged"), False, False),
        (trace_of("plain"), False, False),
    }
    keeper.after(8)
    assert keeper.apply() == sorted(trace_of(name) for name in ("plain", "unflagged"))
    kept = keeper.rows(shown)
    assert kept == [row for row in before if row[0] not in (trace_of("plain"), trace_of("unflagged"))]

    keeper.reload()  # the log still has the bytes: nothing was archived
    assert keeper.rows(shown) == kept
    for name, table in TABLES.items():
        rows = keeper.rows(
            f"SELECT {key_of(name)} FROM {table}{'' if name != 'runs' else ' WHERE NOT deleted'}"
        )
        assert not {row[0] for row in rows} & {trace_of("plain"), trace_of("unflagged")}, table
    assert trace_of("plain") not in keeper.traces()
    assert not keeper.loader.missing_rows()

    keeper.after(41)
    assert keeper.apply() == [trace_of("short")], "its hold ended by itself"
    keeper.marks.hold({"run": trace_of("held"), "lift": True})
    assert keeper.apply() == [trace_of("held")]
    assert keeper.runs() == [trace_of("flagged")]


@pytest.mark.long
def test_a_run_with_a_very_long_id_is_held_flagged_and_let_go(keeper: Keeper) -> None:
    run = "r/" + "ü" * 5000
    keeper.send([named_run(run)])
    keeper.settle()
    assert keeper.runs() == [run]
    assert keeper.marks.hold({"run": run})["set"] is True
    assert keeper.marks.flag({"run": run})["set"] is True
    keeper.after(100)
    assert keeper.plan() == []
    assert VerifyRequest.of({"run": run}).run == run
    keeper.marks.hold({"run": run, "lift": True})
    with pytest.raises(BadRequest, match=r"'reason' is 'xxx.*at most 4,000 characters"):
        keeper.marks.flag({"run": run, "reason": "x" * 4001})
    assert keeper.apply() == [run]


def named_run(run: str) -> bytes:
    """The export request of a run that says what it is called."""
    request = ExportTraceServiceRequest.FromString(agent_run("named", "ok"))
    root = request.resource_spans[0].scope_spans[0].spans[0]
    root.attributes.add(key=attributes.RUN_ID).value.string_value = run
    return request.SerializeToString()


def test_a_hold_is_not_shortened(keeper: Keeper) -> None:
    keeper.send([agent_run("a", "ok")])
    keeper.settle()
    run = trace_of("a")
    keeper.marks.hold({"run": run, "until": keeper.now + 10 * DAY})
    with pytest.raises(BadRequest, match="a hold cannot be shortened"):
        keeper.marks.hold({"run": run, "until": keeper.now + 5 * DAY})
    keeper.marks.hold({"run": run})
    with pytest.raises(BadRequest, match="for ever already"):
        keeper.marks.hold({"run": run, "until": keeper.now + 50 * DAY})
    with pytest.raises(BadRequest, match="in the past"):
        keeper.marks.hold({"run": run, "until": keeper.now - DAY})
    with pytest.raises(NotFound, match="no run"):
        keeper.marks.flag({"run": "nobody"})
    with pytest.raises(BadRequest, match="does not take 'why'"):
        keeper.marks.flag({"run": run, "why": "x"})


@pytest.mark.long
def test_what_was_said_of_a_trace_holds_for_the_run_that_it_was_joined_to(keeper: Keeper) -> None:
    keeper.send([linked_run("later", "first", "continues"), agent_run("plain", "ok")])
    keeper.settle()
    first, later, plain = map(trace_of, ("first", "later", "plain"))
    assert keeper.runs() == sorted([later, plain])
    keeper.marks.hold({"run": later})
    keeper.marks.flag({"run": later})
    keeper.send([agent_run("first", "ok")])
    keeper.settle()
    shown = "SELECT run_id, aliases, joined_by, flagged, held FROM runs ORDER BY run_id = {plain:String}"
    assert keeper.rows(shown, plain=plain) == [
        [first, [later], ["link"], True, True],
        [plain, [], [], False, False],
    ]
    keeper.after(100)
    assert keeper.apply() == [plain]
    with pytest.raises(BadRequest, match="for ever already"):
        keeper.marks.hold({"run": first, "until": keeper.now + DAY})
    keeper.marks.flag({"run": first, "remove": True})
    keeper.marks.hold({"run": first, "lift": True})
    assert keeper.rows(shown, plain=plain) == [[first, [later], ["link"], False, False]]
    assert keeper.apply() == [first]


def test_what_rests_on_a_trace_keeps_the_run_that_it_was_joined_to(keeper: Keeper) -> None:
    keeper.send(
        [
            linked_run("later", "first", "continues"),
            linked_run("heir", "later", "resumes"),
            agent_run("first", "ok"),
        ]
    )
    keeper.settle()
    keeper.marks.hold({"run": trace_of("heir")})
    assert keeper.rows("SELECT run_id, parent_run_id FROM runs WHERE parent_run_id IS NOT NULL") == [
        [trace_of("heir"), trace_of("later")]
    ]
    keeper.after(100)
    assert keeper.apply() == []
    assert keeper.runs() == sorted([trace_of("first"), trace_of("heir")])


@pytest.mark.long
def test_spans_that_come_after_the_deletion_are_a_run_of_their_own(keeper: Keeper) -> None:
    keeper.send([agent_run("late", "ok")])
    keeper.settle()
    keeper.after(8)
    assert keeper.apply() == [trace_of("late")]
    assert keeper.rows(_COUNTED) == [[0, 0]], "nothing is counted that was deleted"
    keeper.send([agent_run("late", "incomplete")])
    keeper.settle()
    assert keeper.rows("SELECT run_id, outcome, steps FROM runs") == [[trace_of("late"), "running", 1]]
    assert keeper.rows(_COUNTED) == [[1, 1]]
    keeper.reload()
    assert keeper.rows(_COUNTED) == [[1, 1]], "what came late, and not what was deleted"


@pytest.mark.long
def test_a_run_of_which_something_came_in_is_not_due(keeper: Keeper) -> None:
    keeper.send([agent_run("a", "ok")])
    keeper.settle()
    store = keeper.warehouse.connect()
    store.command(
        "ALTER TABLE canon_runs UPDATE arrived_at = arrived_at - INTERVAL 9 DAY WHERE 1 SETTINGS mutations_sync = 1"
    )
    store.close()
    keeper.after(0)
    assert keeper.plan() == keeper.apply() == [], "its row says nine days, its spans came now"
