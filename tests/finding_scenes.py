"""Runs told for findings: healthy ones that come near each rule, and one with each fault.

A run is made by the number it has, and always the same. `runs_with_findings` are a warehouse of them: 400 over 14 days.
"""

from __future__ import annotations

from collections.abc import Callable

from finding_runs import RUNS, Run, order
from story import text

from retrospan.schemas import attributes, semconv

NAMES = ("Ann Lee", "Bob Ray", "Cy Horn", "Di Park", "Ed Moss", "Flo Nash")
CITIES = ("oslo", "bergen", "paris", "rome", "kyiv", "lima")


def plain(number: int) -> Run:
    run = Run(number, "Where is my order?")
    found = order(run)
    run.does("find_order", {"customer": "C-1042"}, found)
    return run.says(
        f"Your order {found['order_id']} comes on {found['delivery_date']}. The order total is €{found['order_total']}."
    )


def retried(number: int) -> Run:
    """A tool that fails three times, then succeeds."""
    run = Run(number, "Read the record.")
    for _ in range(3):
        run.does("read_record", {"id": "R-9"}, error="RecordLocked: record R-9 is locked by another writer")
    run.does("read_record", {"id": "R-9"}, {"record": "R-9", "plan": "pro"})
    return run.says("The plan is pro.")


def polled(number: int) -> Run:
    """A question that is asked until the answer changes."""
    run = Run(number, "Is the export done?")
    for _ in range(4):
        run.does("export_status", {"job": "J-77"}, {"status": "pending", "progress": 40})
    run.does("export_status", {"job": "J-77"}, {"status": "done", "progress": 100})
    return run.says("The export is done.")


def waited(number: int) -> Run:
    """A pause and a question by turns; the run ends before the answer changes."""
    run = Run(number, "Start the build and see how it goes.")
    for _ in range(4):
        run.does("wait", {"seconds": 30}, "ok")
        run.does("build_status", {"build": "B-5"}, {"status": "running"})
    return run.says("The build is still running.")


def polled_apart(number: int) -> Run:
    """Equal answers in a row, and another one after something else was done."""
    run = Run(number, "Tell me when the room is free.")
    for _ in range(3):
        run.does("room_status", {"room": "R-12"}, {"taken_until": "14:00", "seats": 4})
    run.does("search_docs", {"query": "room rules"}, "Leave the room clean.")
    run.does("room_status", {"room": "R-12"}, {"taken_until": None, "seats": 4})
    return run.says("The room is free now.")


def paged(number: int) -> Run:
    """Pages, the last of them empty."""
    run = Run(number, "Count the open tickets.")
    for page in range(1, 6):
        run.does(
            "list_tickets",
            {"state": "open", "page": page},
            [f"T-{page}{n}" for n in range(3)] if page < 5 else [],
        )
    return run.says("There are 12 open tickets.")


def listed(number: int) -> Run:
    """The same question about one person after another, each without an answer."""
    run = Run(number, "Who of the team has open tickets?")
    for name in NAMES:
        run.does("search_tickets", {"query": f"open tickets of {name}"}, [])
    return run.says("None of them has open tickets.")


def listed_lower(number: int) -> Run:
    """The same, about cities in lower case."""
    run = Run(number, "Any storm warnings in our cities?")
    for city in CITIES:
        run.does("search_warnings", {"query": f"storm warning {city} today"}, "No results.")
    return run.says("There are no warnings.")


def topics(number: int) -> Run:
    """Three topics that share a word, none of which is known."""
    run = Run(number, "Do we have policies for these?")
    for topic in ("Refund Policy", "Return Policy", "Cancellation Policy"):
        run.does("search_docs", {"query": topic}, [])
    return run.says("None of the three exists.")


def found_at_last(number: int) -> Run:
    """A question in other words until something is found."""
    run = Run(number, "What is our policy for late parcels?")
    for query in ("late parcels policy", "policy for late parcels", "parcels late policy rule"):
        run.does("search_docs", {"query": query}, [])
    run.does("search_docs", {"query": "delayed shipments"}, ["Delayed shipments are refunded after 9 days."])
    return run.says("They are refunded after 9 days.")


def acknowledged(number: int) -> Run:
    """Writes that all return the same."""
    run = Run(number, "Note the three decisions and tell everyone.")
    for note in ("we ship on monday", "monday is when we ship", "ship monday, we said"):
        run.does("append_note", {"text": note}, {"ok": True})
    for name in NAMES[:3]:
        run.does(
            "send_mail",
            {"to": f"{name.split()[0].lower()}@example.com", "text": "We ship."},
            {"status": "sent"},
        )
    for _ in range(4):
        run.does("press_key", {"key": "Down"}, "ok")
    return run.says("Done.")


def opposite(number: int) -> Run:
    """A question that asks for another value than the one that is on record."""
    run = Run(
        number,
        "Move the delivery date of my order to 2026-07-14, and what if the order total was 410.55 EUR?",
    )
    found = order(run)
    run.does("find_order", {"customer": "C-1042"}, found)
    run.does("change_order", {"order_id": found["order_id"], "delivery_date": "2026-07-14"}, {"ok": True})
    return run.says("The delivery date is 2026-07-14. Order total: 410.55 EUR would ship at no cost.")


def computed(number: int) -> Run:
    """Values that follow from what was returned: a discount, a sum, another unit, a day some days later."""
    run = Run(
        number, "What do I pay with 10 % off and 4.90 for shipping, and until when can I return it (30 days)?"
    )
    run.does(
        "find_order",
        {"customer": "C-7"},
        {
            "order_id": "ORD-5150",
            "order_total": 120.0,
            "currency": "EUR",
            "delivery_date": "2026-06-11",
            "weight_grams": 1500,
        },
    )
    return run.says(
        "The order total is €108.00, with shipping €112.90. Weight: 1.5 kg. Delivery date: 2026-07-11 is when the "
        "30 days end."
    )


def rounded(number: int) -> Run:
    run = Run(number, "Roughly, what was it?")
    run.does("find_order", {"customer": "C-7"}, {"order_total": 119.95, "currency": "EUR", "item_count": 3})
    return run.says("The order total is 120 EUR, for about 40 EUR each.")


def several(number: int) -> Run:
    """A field that has a value of its own in each of several rows."""
    run = Run(number, "Which order is the largest?")
    rows = [{"order_id": f"ORD-10{n}", "order_total": 10.5 * n, "currency": "EUR"} for n in range(1, 5)]
    run.does("list_orders", {"customer": "C-7"}, rows)
    return run.says("The largest is ORD-104. The order total is 42.0 EUR.")


def said_before(number: int) -> Run:
    """Values that stand in the instructions, and an example of a form."""
    run = Run(number, "How do I name my order when I call? And the order total of 77.10 EUR, is it right?")
    run.does(
        "find_order", {"customer": "C-7"}, {"order_id": "ORD-4471", "order_total": 78.2, "currency": "EUR"}
    )
    return run.says(
        "Name its number in a form such as ORD-4470. The order total of 77.10 EUR is not right: it is 78.20 EUR."
    )


def truncated(number: int) -> Run:
    """A result that is not whole: what it left out may be what the answer says."""
    run = Run(number, "Read me the report.")
    run.does(
        "read_report",
        {"id": "X"},
        {"report_id": "REP-20311", "text": "It begins so and goes on [truncated 9000 chars]"},
    )
    return run.says("The report REP-20312 follows it.")


def confirmed(number: int) -> Run:
    """A payment that fails and is carried out at the second try, by its key."""
    run = Run(number, "Pay the bill.")
    key = f"pay-{number}"
    run.does("pay", {"bill": "B-1"}, error="ReadTimeout: no answer", effect="write", idempotency__key=key)
    run.does(
        "pay",
        {"bill": "B-1"},
        {"paid": True, "receipt": f"RC-{number:05d}"},
        effect="write",
        idempotency__key=key,
    )
    return run.says("It is paid.")


def tidied(number: int) -> Run:
    """Context that was summarised, and a run that went on well."""
    run = Run(number, "Compare the three offers.")
    for offer in "ABC":
        run.does(
            "read_offer", {"offer": offer}, f"Offer {offer}: {run.chance.randrange(100, 999)} EUR a month."
        )
    run.history = [*run.history[:1], text("user", "Summary: three offers were read.")]
    return run.says("Offer A is the best.")


def thorough(number: int) -> Run:
    """Many calls that each find something, with a prompt that grows."""
    run = Run(number, "Read all chapters.")
    for chapter in range(1, 11):
        run.does("read_chapter", {"chapter": chapter}, f"Chapter {chapter}: {'words ' * 20}{number}")
        run.tokens += 800
    return run.says("All ten are read.")


HEALTHY: tuple[Callable[[int], Run], ...] = (
    plain,
    retried,
    polled,
    waited,
    polled_apart,
    paged,
    listed,
    listed_lower,
    topics,
    found_at_last,
    acknowledged,
    opposite,
    computed,
    rounded,
    several,
    said_before,
    truncated,
    confirmed,
    tidied,
    thorough,
)


def exact_loop(number: int) -> Run:
    run = Run(number, "What is the warranty of the Zeta-9?")
    for _ in range(4):
        run.does("search_docs", {"query": "Zeta-9 warranty"}, [])
    return run.says("I could not find it.")


def wording_loop(number: int) -> Run:
    run = Run(number, "What is the warranty of the Zeta-9?")
    for query in (
        "Zeta-9 warranty",
        "warranty of the Zeta-9",
        "how long is the guarantee of Zeta-9",
        "Zeta-9 warranty terms",
    ):
        run.does("search_docs", {"query": query}, [])
    return run.says("I could not find it.")


def alternation(number: int) -> Run:
    run = Run(number, "Make the test pass.")
    for _ in range(4):
        run.does("read_file", {"path": "cart.py"}, "def total(cart): return sum(cart)")
        run.does("run_test", {"name": "test_cart"}, "AssertionError: total() is 3, not 4")
    return run.says("It does not pass.")


def repeated_failures(number: int) -> Run:
    run = Run(number, "Read the record.")
    for _ in range(4):
        run.does("read_record", {"id": "R-9"}, error="KeyError: no field 'plan' in record R-9")
    return run.says("I could not read it.")


def idle_growth(number: int) -> Run:
    run = Run(number, "Find the owner of order ORD-9090.")
    for _ in range(4):
        for tool in ("find_order", "find_owner", "find_account"):
            run.tokens += 200
            run.does(tool, {"query": "ORD-9090"}, [])
    return run.says("Nobody knows.")


def full_context(number: int) -> Run:
    run = Run(number, "Summarise the manual.")
    run.does("read_manual", {"id": "M-1"}, "words " * 50)
    return run.says(
        "It is long.", more={semconv.USAGE_INPUT_TOKENS: 121_000, attributes.CONTEXT_LIMIT: 128_000}
    )


def lost_context(number: int) -> Run:
    run = Run(number, "Book the flight as I said.")
    run.does("read_wishes", {"traveller": "T-1"}, {"seat": "aisle", "bags": 0})
    run.does("find_flights", {"to": "OSL"}, [{"flight": "SK-4012"}])
    run.history = [run.history[0], *run.history[-2:]]
    run.does("book", {"flight": "SK-4012"}, {"booking": "pending", "hold_minutes": 15})
    return run.fails("the booking lacks a seat")


def contradiction(number: int) -> Run:
    """The identifier, the amount and the day of an order, each told otherwise."""
    run = Run(number, "Where is my order?")
    found = {"order_id": "ORD-4471", "order_total": 129.9, "currency": "EUR", "delivery_date": "2026-06-11"}
    run.does("find_order", {"customer": "C-1042"}, found)
    return run.says(
        "Your order ORD-4417 is on its way, delivery date: June 20, 2026. The order total is €192.85."
    )


def unconfirmed_effect(number: int) -> Run:
    run = Run(number, "Pay the bill.")
    key = f"bill-{number}"
    run.does("pay", {"bill": "B-1"}, error="ReadTimeout: no answer", effect="write", idempotency__key=key)
    return run.says("The payment did not answer.")


FAULTS: dict[str, Callable[[int], Run]] = {
    each.__name__: each
    for each in (
        exact_loop,
        wording_loop,
        alternation,
        repeated_failures,
        idle_growth,
        full_context,
        lost_context,
        contradiction,
        unconfirmed_effect,
    )
}
#: Every so many-th run of the fortnight has a fault, each in turn.
EVERY = 20
ODD = 390


def odd_sequence(number: int) -> Run:
    """An agent that has always looked up and answered refunds without having looked up."""
    run = Run(number, "Refund my order.", agent="till")
    run.does("refund", {"order": "ORD-1"}, {"refunded": True, "reference": "RF-90001"})
    run.does("find_order", {"customer": "C-1"}, {"order_id": "ORD-1000"})
    return run.says("It is refunded.")


def usual(number: int) -> Run:
    """What the agent `till` does every day."""
    run = Run(number, "Refund my order.", agent="till")
    found = order(run)
    run.does("find_order", {"customer": "C-1"}, found)
    if number % 3:
        run.does("refund", {"order": found["order_id"]}, {"refunded": True, "reference": "RF-90001"})
    return run.says("It is refunded.")


def runs_with_findings() -> list[Run]:
    """Return 400 runs: each twentieth with a fault, half of the others by one agent with few habits."""
    faults = [*FAULTS.values()]
    made: list[Run] = []
    for number in range(RUNS):
        if number % EVERY == EVERY - 1:
            made.append(faults[number // EVERY % len(faults)](number))
        elif number == ODD:
            made.append(odd_sequence(number))
        elif number % 2:
            made.append(usual(number))
        else:
            made.append(HEALTHY[number // 2 % len(HEALTHY)](number))
    return made
