"""Runs told for `why`: effects to undo, values out of date, hostile texts, what has no content, what still runs."""

from __future__ import annotations

import time

from scenes import HOSTILE, START, Scene
from story import SECOND, Story, calls, text

from retrospan.schemas import attributes

#: What would be markup, a link, an image or a way out of a quotation.
MARKUP = (
    '<script>alert(1)</script><img src=x onerror=alert(1)>"><a href="javascript:alert(1)">x</a>'
    "[click](javascript:alert(1)) ![i](http://evil.example/x.png) `tick` ```\n# heading\n</q></small>&lt;b&gt; "
)
LONG = "word " * 200_000
(
    BROKE,
    STALE,
    FIRST,
    SECOND_ONE,
    HARMFUL,
    SILENT,
    RUNNING,
    GONE,
    ALONE,
    LOOPING,
    MANY,
    MISSENT,
    INSIDE,
    FATES,
) = (
    f"{name}{'0' * (32 - len(name))}"
    for name in (
        "b20e",
        "57a1e",
        "f125",
        "5ec0",
        "bad1",
        "511e27",
        "2b221",
        "60e",
        "a10e",
        "100b",
        "3a27",
        "3155e27",
        "1251de",
        "fa7e5",
    )
)


def broke() -> Scene:
    """A run that paid, wrote a mail, and failed: the payment is to be undone, the mail was."""
    scene = Scene(BROKE, begin=START, asked="Refund order O-9.")
    scene.resource["service.name"] = "till"
    write = {attributes.EFFECT: "write", attributes.IDEMPOTENCY_KEY: "pay-1"}
    scene.says(calls("pay", "c1", order="O-9", amount=250))
    scene.tool("pay", {"order": "O-9", "amount": 250}, {"ok": True}, call_id="c1", more=write)
    scene.says(calls("look_up", "c2", order="O-9"))
    read = {attributes.EFFECT: "read"}
    scene.tool("look_up", {"order": "O-9"}, None, error="NotFound: no order O-9", call_id="c2", more=read)
    scene.says(text("assistant", ""), error="TimeoutError: the model did not answer in 60 s")
    scene.root.status, scene.root.status_message = "error", "the model did not answer"
    return scene


def limit(run_id: str, name: str, value: int, seconds: int) -> Scene:
    """A run that sets a limit."""
    scene = Scene(run_id, begin=START + seconds * SECOND, asked="Set the limit.")
    scene.resource["service.name"] = "limits"
    scene.says(text("assistant", "Done."))
    said = {
        attributes.ENTITY_TYPE: "config",
        attributes.ENTITY_ID: "limits",
        attributes.CHANGES: {"max": value},
        attributes.OBSERVATION_ID: name,
    }
    scene.event(attributes.OBSERVATION, 1, said)
    return scene


def stale() -> Scene:
    """A run that reads a limit as it was before another run changed it."""
    scene = Scene(STALE, begin=START + 60 * SECOND, asked="Use the limit.")
    scene.resource["service.name"] = "limits"
    scene.says(text("assistant", "The limit is 10."))
    said = {attributes.ENTITY_TYPE: "config", attributes.ENTITY_ID: "limits", attributes.FIELD: "max"}
    scene.event(attributes.USE, 1, {**said, attributes.OBSERVATION_ID: "first-limit"})
    return scene


def harmful() -> Scene:
    """A run of which every text wants to be something else."""
    scene = Scene(
        HARMFUL, agent=f"{MARKUP}{HOSTILE}", version=MARKUP, begin=START, asked=MARKUP + HOSTILE + LONG
    )
    scene.resource["service.name"] = MARKUP
    scene.says(calls(MARKUP, "c1", **{MARKUP: HOSTILE, "long": LONG}))
    scene.tool(
        MARKUP,
        {MARKUP: HOSTILE, "long": LONG},
        LONG,
        error=f"{MARKUP}: {HOSTILE}{MARKUP}{LONG}",
        call_id="c1",
    )
    scene.says(text("assistant", MARKUP + HOSTILE), error=f"{MARKUP}: {MARKUP}")
    scene.root.status = "error"
    return scene


def silent() -> Story:
    """A run whose instrumentation keeps contents to itself."""
    scene = Scene(SILENT, begin=START, asked=None)
    scene.resource["service.name"] = "quiet"
    kept = {"gen_ai.input.messages": None, "gen_ai.output.messages": None, "gen_ai.system_instructions": None}
    scene.says(text("assistant", "x"), more=kept)
    scene.tool("send_email", None, None)
    scene.says(text("assistant", "x"), more=kept)
    return scene


def running() -> Scene:
    """A run that began a moment ago and has not ended."""
    scene = Scene(RUNNING, begin=time.time_ns() - 10 * SECOND, asked="Wait for it.")
    scene.resource["service.name"] = "slow"
    scene.says(calls("get_weather", "c1", city="Oslo"))
    scene.has_root = False
    return scene


def alone() -> Scene:
    """The only run of its service, and nothing is wrong with it."""
    scene = Scene(ALONE, begin=START, asked="Say hello.")
    scene.resource["service.name"] = "hermit"
    scene.says(text("assistant", "Hello."))
    return scene


def looping() -> Scene:
    """A run that asks the same until the model does not answer in time."""
    scene = Scene(LOOPING, begin=START, asked="Find the terms.")
    scene.resource["service.name"] = "loops"
    for number in range(1, 6):
        scene.says(calls("search_docs", f"c{number}", query="terms"))
        scene.tool("search_docs", {"query": "terms"}, [], call_id=f"c{number}")
    scene.says(text("assistant", ""), error="TimeoutError: timed out after 300 s")
    scene.root.status = "error"
    return scene


def many() -> Scene:
    """A run in which more goes wrong than a page holds."""
    scene = Scene(MANY, begin=START, asked="Try everything. " * 400)
    scene.resource["service.name"] = "clumsy"
    for number in range(1, 61):
        arguments = {"place": f"place-{number}", "why": "because " * 60}
        scene.says(calls(f"tool_{number}", f"c{number}", **arguments))
        scene.tool(
            f"tool_{number}",
            arguments,
            None,
            error=f"Failed: no place-{number} here " + "x" * 400,
            call_id=f"c{number}",
        )
    scene.root.status = "error"
    return scene


#: Five documents of addresses, in the one of Acme a wrong one.
CONTACTS = {
    name: f"{name.title()}: invoices go to billing@{name}.{domain}, attention of the treasurer."
    for name, domain in (
        ("acme", "exmaple"),
        ("bolt", "example"),
        ("coda", "example"),
        ("dune", "example"),
        ("echo", "example"),
    )
}


def missent() -> Scene:
    """A run that sends an invoice to an address which one of five documents has wrong."""
    scene = Scene(MISSENT, begin=START, agent="biller", asked="Send Acme its invoice.")
    scene.resource["service.name"] = "billing"
    scene.retrieval("contacts", CONTACTS)
    to = "billing@acme.exmaple"
    scene.says(calls("send_email", "c1", to=to, body="Dear treasurer, here is your invoice."))
    arguments = {"to": to, "body": "Dear treasurer, here is your invoice."}
    scene.tool("send_email", arguments, None, error=f"Refused: {to} has no mail server", call_id="c1")
    scene.says(text("assistant", "The invoice could not be sent."))
    scene.root.status = "error"
    return scene


def missent_inside() -> Scene:
    """The same with an address that stands inside an argument, beside one that no document has."""
    scene = Scene(INSIDE, begin=START, agent="clerk", asked="Send Acme its invoice, with a copy to us.")
    scene.resource["service.name"] = "post"
    scene.retrieval("contacts", CONTACTS)
    to = "billing@acme.exmaple"
    arguments = {
        "message": {"to": [{"address": "us@post.example"}, {"address": to}], "body": "Your invoice."}
    }
    scene.says(calls("send_email", "c1", **arguments))
    scene.tool("send_email", arguments, None, error=f"Refused: {to} has no mail server", call_id="c1")
    scene.says(text("assistant", "The invoice could not be sent."))
    scene.root.status = "error"
    return scene


def fates() -> Scene:
    """A run that states each thing that can become of an effect."""
    scene = Scene(FATES, begin=START, asked="Ship the orders.")
    scene.resource["service.name"] = "docks"
    for number, status in enumerate(("planned", "executed", "skipped", "failed", "unknown")):
        more = {
            attributes.EFFECT: "write",
            attributes.IDEMPOTENCY_KEY: status,
            attributes.EFFECT_STATUS: status,
        }
        scene.says(calls("ship", f"c{number}", order=number))
        scene.tool("ship", {"order": number}, {"seen": number}, call_id=f"c{number}", more=more)
    scene.says(text("assistant", "That is all."))
    return scene


def why_scenes() -> list[Story]:
    """Return every run."""
    limits = [limit(FIRST, "first-limit", 10, 0), limit(SECOND_ONE, "second-limit", 20, 5)]
    return [
        broke(),
        *limits,
        stale(),
        harmful(),
        silent(),
        running(),
        alone(),
        looping(),
        many(),
        missent(),
        missent_inside(),
        fates(),
    ]
