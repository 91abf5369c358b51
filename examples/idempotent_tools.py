"""Tools that are safe to repeat: after a lost answer, a retry recognises by its key that the mail was already sent.

    python examples/idempotent_tools.py
    retrospan sql "SELECT tool_name, effect_status, times_executed, problem FROM effects"

`charge` uses the key; `notify` does not look at it, and the view `effects` says that it was executed twice.
"""

from __future__ import annotations

import time

from retrospan.exporter import effect, instrument, run, step

#: What the other side remembers: in earnest a table with the key as its primary key.
DONE: dict[str, str] = {}
ANSWERS_LOST = {"charge": 1}


def charge(customer: str, cents: int) -> str:
    arguments = {"customer": customer, "cents": cents}
    with effect("charge", arguments, effect="write") as charging:
        if charging.key in DONE:
            charging.skip(DONE[charging.key])
            return DONE[charging.key]
        DONE[charging.key] = receipt = f"receipt for {cents}"
        charging.status("executed")
        if ANSWERS_LOST["charge"]:
            ANSWERS_LOST["charge"] -= 1
            raise TimeoutError("the payment service did not answer in time")
        charging.result(receipt)
        return receipt


@effect(effect="write")
def notify(customer: str) -> str:
    return f"{customer} was told"


@effect(effect="read")
def look_up(customer: str) -> dict[str, str]:
    return {"name": customer, "tier": "gold"}


def main() -> None:
    instrumentation = instrument(service_name="examples")
    with run("billing", kind="demo"):
        with step("look", 1, 2):
            look_up("C-1042")
        backoff_ms = 0
        for attempt in (1, 2):
            try:
                with step("charge and tell", 2, 2, attempt=attempt, backoff_ms=backoff_ms):
                    notify("C-1042")
                    print(charge("C-1042", 4200))
                    break
            except TimeoutError:
                backoff_ms = 10
                time.sleep(backoff_ms / 1000)
    instrumentation.shutdown()


if __name__ == "__main__":
    main()
