"""A small agent as a graph of steps: each records its number, its state before and after, and its decision.

    python examples/steps.py
    retrospan show last; retrospan state last --step 2

Needs a collector: `retrospan serve`, or the variable OTEL_EXPORTER_OTLP_ENDPOINT.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from retrospan.exporter import decide, derive, instrument, observe, output, run, step, use


@dataclass
class State:
    question: str
    customer: str
    documents: list[str] = field(default_factory=list)
    action: str = ""
    answer: str = ""


DOCUMENTS = {"refund": "Refunds are possible for 14 days.", "hours": "We are open from 9 to 5."}


@step("search", 1, 3, state="state")
def search(state: State) -> None:
    state.documents = [text for word, text in DOCUMENTS.items() if word in state.question]


@step("decide", 2, 3, state="state")
def choose(state: State) -> None:
    use(f"customer/{state.customer}", "tier")
    state.action = "answer" if state.documents else "ask a person"
    decide(
        "next action",
        state.action,
        options=["answer", "ask a person"],
        rationale=f"{len(state.documents)} documents were found",
    )


@step("answer", 3, 3, state="state")
def answer(state: State) -> None:
    state.answer = " ".join(state.documents) or "Somebody will call you."
    seen = observe(f"customer/{state.customer}", {"last_answer": state.answer}, source="agent")
    derive(f"output:{output(f'answer-{state.customer}')}", f"observation:{seen}")


NODES = {"search": (search, "decide"), "decide": (choose, "answer"), "answer": (answer, "")}


def main() -> None:
    instrumentation = instrument(service_name="examples")
    state = State("Can I get a refund?", "C-1042")
    with run("support", version="1.0", kind="demo", input=state.question, state=state) as recorded:
        name = "search"
        while name:
            work, name = NODES[name]
            work(state)
    print(recorded.id)
    instrumentation.shutdown()


if __name__ == "__main__":
    main()
