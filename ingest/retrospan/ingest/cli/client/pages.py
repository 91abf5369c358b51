"""A run in pages of steps: showing a long one takes the memory of a page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from retrospan.ingest.cli.client.collector_client import Row
from retrospan.ingest.cli.client.rows import whole
from retrospan.ingest.cli.client.session import Asked, Session

STEPS = 5_000
#: Greater than any step's and any call's number; the last page has what is not a step.
LAST = 2**32 - 1


@dataclass(slots=True)
class Page:
    """Steps `first` to `last`, and, of tool calls that are not steps, what these model calls asked for.

    The model calls are known once the page's own were read.
    """

    first: int
    last: int
    first_call: int = 0
    last_call: int = LAST


@dataclass(frozen=True, slots=True)
class Pages:
    """A run's steps and calls, page by page. `most` characters of a long text are fetched, 0 for all of them."""

    session: Session
    run_id: str
    pages: list[Page]
    most_of_models: int
    most_of_tools: int

    def __iter__(self) -> Iterator[tuple[list[Row], list[Row], list[Row]]]:
        """Yield the steps, model calls and tool calls of each page, in order."""
        for page in self.pages:
            yield self.steps(page), self.model_calls(page), self.tool_calls(page)

    def ask_ahead(self) -> None:
        """Have the first page asked for, but for what depends on an answer: its tool calls, where more pages follow."""
        steps, model_calls, tool_calls = self.questions(self.pages[0])
        self.session.ask_ahead(model_calls, steps, *([tool_calls] if len(self.pages) == 1 else []))

    def steps(self, page: Page) -> list[Row]:
        """Return the page's steps."""
        name, parameters = self.questions(page)[0]
        return self.session.ask(name, **parameters)

    def model_calls(self, page: Page) -> list[Row]:
        """Return the page's model calls, in order; pages are to be asked for in order."""
        name, parameters = self.questions(page)[1]
        found = self.session.ask(name, **parameters)
        at = self.pages.index(page)
        if page.first_call <= page.last_call and at + 1 < len(self.pages):
            before = max(page.first_call - 1, 0)
            page.last_call = max([before, *(whole(call, "ordinal") or 0 for call in found)])
            self.pages[at + 1].first_call = page.last_call + 1
        return found

    def tool_calls(self, page: Page) -> list[Row]:
        """Return the page's tool calls, in order. Its model calls are to be asked for before."""
        name, parameters = self.questions(page)[2]
        return self.session.ask(name, **parameters)

    def questions(self, page: Page) -> list[Asked]:
        """Return the three questions, for one page."""
        steps: Asked = ("show_steps", {"run_id": self.run_id, "first": page.first, "last": page.last})
        return [
            steps,
            ("show_model_calls", {**steps[1], "most": self.most_of_models}),
            (
                "show_tool_calls",
                {
                    **steps[1],
                    "first_call": page.first_call,
                    "last_call": page.last_call,
                    "most": self.most_of_tools,
                },
            ),
        ]


def pages_of(steps: int) -> list[Page]:
    """Return the pages of a run of so many steps, at least one."""
    firsts = range(1, max(steps, 1) + 1, STEPS)
    return [Page(first, first + STEPS - 1 if first + STEPS in firsts else LAST) for first in firsts]


def page_of(step: int) -> Page:
    """One step, and no call that is not a step."""
    return Page(step, step, first_call=1, last_call=0)
