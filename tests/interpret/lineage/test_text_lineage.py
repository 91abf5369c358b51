"""Values inside texts: which earlier document, result or message an argument or an answer has them from. Pure."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from made_runs import act, agent, asks, chat, returned, rows, said, tool

from retrospan.ingest.interpret.lineage import earlier_texts
from retrospan.ingest.interpret.lineage.places import place_of
from retrospan.ingest.interpret.lineage.telling_values import telling_values
from retrospan.ingest.json_text import read_value
from retrospan.schemas.hashing import hash_of
from retrospan.schemas.references import document_ref

WRONG = "accounts@acme-billing.example"
CONTACTS = {
    "acme": f"Acme's invoices go to {WRONG}, attention of the treasurer.",
    "bolt": "Bolt is invoiced by post; its number is BLT-20417.",
    "coda": "For Coda see https://coda.example/pay?from=us (the portal), from 12 June 2026 on.",
    "dune": 'Dune wants "Payables Dept North" on each invoice above 1,299.50 EUR.',
    "echo": "Echo has not said anything of the kind yet.",
}


def _retrieval(place: int, texts: dict[str, str], store: str = "contacts", **more: Any) -> Any:
    found = json.dumps([{"id": name, "content": text} for name, text in texts.items()])
    return act("retrieval", place, gen_ai__data_source__id=store, gen_ai__retrieval__documents=found, **more)


def _doc(name: str, text: str | None = None, store: str | None = "contacts") -> str:
    return document_ref(name, store, hash_of(CONTACTS[name] if text is None else text))


def _origins(*spans: Any, role: str = "argument") -> set[tuple[str, str | None, str | None]]:
    """Return what arguments, or answers, were taken from: reference, role and place."""
    found = rows(agent(), *spans)
    short = {f"message:{value.hash}": f"message {value.number}" for value in found.values}
    return {
        (
            short.get(
                edge.object, edge.object.rpartition("/")[2] if edge.object[:5] == "step:" else edge.object
            ),
            edge.role,
            edge.place,
        )
        for edge in found.edges
        if edge.role is not None and edge.role.startswith(role) and edge.evidence == "inferred"
    }


def test_the_document_with_the_wrong_address_is_named_with_the_place() -> None:
    found = _origins(
        _retrieval(1, CONTACTS),
        chat(2, [said("user", "Invoice them all.")], "Sending."),
        tool(3, arguments={"to": WRONG, "body": "Dear treasurer"}, result="sent"),
    )
    begin = CONTACTS["acme"].index(WRONG)
    assert found == {(_doc("acme"), "argument to", f"[{begin}:{begin + len(WRONG)}]")}


@pytest.mark.parametrize(
    ("argument", "document"),
    [
        ("BLT-20417", "bolt"),
        ("Pay BLT-20417 now", "bolt"),
        ("https://coda.example/pay?from=us", "coda"),
        ("2026-06-12", "coda"),
        ("June 12, 2026", "coda"),
        (1299.5, "dune"),
        ("1.299,50 EUR", "dune"),
        ("Payables Dept North", "dune"),
        ({"lines": [{"ref": "BLT-20417"}]}, "bolt"),
        (WRONG.upper(), "acme"),  # of addresses capitals make no difference
        ("accounts@acme-billing.example.org", None),
        ("BLT-204170", None),
        ("20417", None),
        ("Echo has not said", None),
        ("invoices go to", None),
        ("true", None),
        (12, None),
        ("June", None),
        ("", None),
        (None, None),
        ("аccounts@acme-billing.example", None),  # its first letter is Cyrillic
        ("accounts\u200b@acme-billing.example", None),
    ],
)
def test_what_an_argument_has_from_a_document(argument: object, document: str | None) -> None:
    found = _origins(_retrieval(1, CONTACTS), tool(2, arguments={"x": argument}, result="ok"))
    inside = ".lines[0].ref" if isinstance(argument, dict) else ""
    assert {(reference, role) for reference, role, _ in found} == (
        {(_doc(document), f"argument x{inside}")} if document else set()
    )


@pytest.mark.parametrize(
    ("arguments", "role"),
    [
        ({"message": {"to": WRONG, "cc": []}}, "argument message.to"),
        ({"lines": ["nothing", f"mail to {WRONG}, please"]}, "argument lines[1]"),
        ({"a b": {"c d": WRONG}}, 'argument a b["c d"]'),
        ({"payload": '{"to": ["' + WRONG + '"]}'}, "argument payload.to[0]"),
        ([{"to": WRONG}], "argument [0].to"),
        (WRONG, "argument"),
    ],
)
def test_where_in_the_arguments_a_value_stands_is_its_role(arguments: object, role: str) -> None:
    found = _origins(_retrieval(1, CONTACTS), tool(2, arguments=arguments, result="ok"))
    assert {(reference, role) for reference, role, _ in found} == {(_doc("acme"), role)}


def test_a_value_that_stands_in_several_places_may_be_from_any_of_them() -> None:
    texts = {**CONTACTS, "fork": f"Or write to <{WRONG}>."}
    found = _origins(_retrieval(1, texts), tool(2, arguments={"to": WRONG}, result="ok"))
    assert {(reference, role) for reference, role, _ in found} == {
        (_doc("acme"), "argument to, one of 2"),
        (_doc("fork", texts["fork"]), "argument to, one of 2"),
    }
    many = {f"d{number}": f"{number}: {WRONG}" for number in range(9)}
    found = _origins(_retrieval(1, many), tool(2, arguments={"to": WRONG}, result="ok"))
    assert {role for _, role, _ in found} == {"argument to, one of 9"} and len(found) == 5


def test_what_the_user_said_is_a_place_too_and_instructions_count_as_one() -> None:
    asked = chat(2, [said("user", f"Write to {WRONG}.")], "Sending.")
    sent = tool(3, arguments={"to": WRONG}, result="ok")
    assert {(reference.split()[0], role) for reference, role, _ in _origins(asked, sent)} == {
        ("message", "argument to")
    }
    assert {role for _, role, _ in _origins(_retrieval(1, CONTACTS), asked, sent)} == {
        "argument to, one of 2"
    }
    instructed = chat(
        2,
        [said("user", "Go.")],
        "Sending.",
        gen_ai__system_instructions=json.dumps([{"type": "text", "content": f"Use {WRONG}."}]),
    )
    assert _origins(instructed, sent) == set(), "instructions have no reference"
    assert {role for _, role, _ in _origins(_retrieval(1, CONTACTS), instructed, sent)} == {
        "argument to, one of 2"
    }


def test_a_prompt_that_holds_the_documents_is_no_other_place() -> None:
    prompt = "Context:\n" + "\n".join(CONTACTS.values())
    found = _origins(
        _retrieval(1, CONTACTS),
        chat(2, [said("user", prompt)], "Sending."),
        tool(3, arguments={"to": WRONG}, result="ok"),
    )
    assert {(reference, role) for reference, role, _ in found} == {(_doc("acme"), "argument to")}


def test_an_answer_names_the_documents_that_it_states_values_of() -> None:
    found = _origins(
        _retrieval(1, CONTACTS), chat(2, [said("user", "Where?")], f"Write to {WRONG}."), role="value"
    )
    assert {(reference, role) for reference, role, _ in found} == {(_doc("acme"), "value")}


def test_a_text_that_a_tool_returned_and_its_documents() -> None:
    text = f"Found one contact. Its address is {WRONG}. Nothing else."
    edges = _origins(
        tool(1, arguments={"q": "acme"}, gen_ai__tool__call__result=text), tool(2, arguments={"to": WRONG})
    )
    begin = text.index(WRONG)
    assert edges == {("1", "argument to", f"[{begin}:{begin + len(WRONG)}]")}
    hits = [{"doc_id": "a", "text": f"Write to {WRONG}."}, {"doc_id": "b", "text": "Nothing."}]
    edges = _origins(tool(1, arguments={"q": "acme"}, result=hits), tool(2, arguments={"to": WRONG}))
    assert edges == {
        ("1", "argument to", "[0].text[9:38]"),
        (_doc("a", hits[0]["text"], None), "argument to", "[9:38]"),
    }


def test_what_was_asked_for_with_the_value_is_not_where_it_is_from() -> None:
    found = _origins(
        tool(1, arguments={"address": WRONG}, result=f"{WRONG} is valid."),
        tool(2, arguments={"to": WRONG}, result="ok"),
    )
    assert found == set()


def test_what_came_back_after_the_call_was_decided_on_is_not_where_it_is_from() -> None:
    asked = chat(
        1, [said("user", "Go.")], asks("search", {"q": "a"}, "c1"), asks("search", {"q": "BLT-20417"}, "c2")
    )
    look = tool(2, arguments={"q": "a"}, result="Its number is BLT-20417.", gen_ai__tool__call__id="c1")
    both = tool(3, arguments={"q": "BLT-20417"}, result="x", gen_ai__tool__call__id="c2")
    assert _origins(asked, look, both) == set()
    later = chat(
        4,
        [said("user", "Go."), returned("c1", "Its number is BLT-20417."), returned("c2", "x")],
        asks("search", {"q": "BLT-20417"}, "c3"),
    )
    then = tool(5, arguments={"q": "BLT-20417"}, result="x", gen_ai__tool__call__id="c3")
    assert {(reference, role) for reference, role, _ in _origins(asked, look, both, later, then)} == {
        ("2", "argument q")
    }


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("v2.10, gpt-4.1-mini, 10.0.0.1, 2026, 10000, 12.50, 3pm, true, A-17", []),
        ("ORD-4471 and 12,500.75; id 90210-4471-2", ["ORD-4471", "12,500.75", "90210-4471-2"]),
        ("31 February 2026, 2026-13-01", []),
        ("see <https://x.example/a_b>, ok", ["https://x.example/a_b"]),
        ("ada.b+c@x-y.example.", ["ada.b+c@x-y.example"]),
        ("“Ada Lovelace” and 'no name here' and \"Acme GmbH\"", ["Ada Lovelace", "Acme GmbH"]),
    ],
)
def test_values_that_tell_something(text: str, values: list[str]) -> None:
    assert [value.text for value in telling_values(f"Of it: {text}")[0]] == values


@pytest.mark.parametrize(
    ("said", "place"),
    [
        ('{"a": [{"b": "ORD-4471"}, 1]}', "a[0].b"),
        ('{"a b": {"ORD-4471": 1}}', '["a b"].ORD-4471'),
        ('{"a": "see ORD-4471\\n"}', "a[4:12]"),
        ("ORD-44711, ORD-4471-B, XORD-4471", None),
        ("ORD-44711 ORD-4471.", "[10:18]"),
        ("[" * 5000, None),
        ("{", None),
    ],
)
def test_where_a_value_stands(said: str, place: str | None) -> None:
    assert place_of(read_value(said), telling_values("ORD-4471")[0][0]) == place


_BOMBS = ["a@" * 50_000, "a." * 50_000, "a-" * 50_000, "1," * 50_000, "https://" * 20_000, '"A ' * 30_000,
          "1 Jan" * 20_000, "@" * 100_000, "x@y." * 30_000, "\ud800" * 50_000, "٣" * 50_000]  # fmt: skip


@pytest.mark.parametrize("bomb", _BOMBS, ids=[each[:5].encode("unicode_escape").decode() for each in _BOMBS])
def test_a_hostile_text_costs_no_more_than_any_other(bomb: str) -> None:
    """Of which the bound is generous: quadratic time would be hours."""
    began = time.process_time()
    values, read = telling_values({"a": bomb, "b": [bomb] * 100})
    assert read == 4_000 and len(values) <= 40
    for value in telling_values(f"{WRONG} ORD-4471")[0]:
        assert place_of(bomb, value) is None
    assert time.process_time() - began < 5


def test_a_hundred_thousand_addresses_are_read_and_the_one_is_found() -> None:
    listed = " ".join(f"user{number}@acme-billing.example" for number in range(3_500))
    assert len(listed) > 100_000
    found = _origins(
        _retrieval(1, {**CONTACTS, "list": listed}),
        tool(2, arguments={"to": "user3000@acme-billing.example", "body": listed}, result=listed),
    )
    begin = listed.index("user3000@")
    assert (_doc("list", listed), "argument to", f"[{begin}:{begin + 29}]") in found
    assert 1 < len(found) <= 41


def test_nothing_is_said_of_what_there_is_no_room_to_search(monkeypatch: pytest.MonkeyPatch) -> None:
    spans = [_retrieval(1, CONTACTS), tool(2, arguments={"to": WRONG}, result="ok")]
    assert len(_origins(*spans)) == 1
    for bound in ("MOST_INDEXED", "MOST_SEARCHED"):
        with monkeypatch.context() as patch:
            patch.setattr(earlier_texts, bound, 100)
            assert _origins(*spans) == set()
    named = [_retrieval(1, CONTACTS), tool(2, arguments={"to": "Payables Dept North"}, result="ok")]
    assert len(_origins(*named)) == 1
    monkeypatch.setattr(earlier_texts, "MOST_SCANNED", 100)
    assert _origins(*named) == set()
