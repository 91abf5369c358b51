"""The context of a query command: its flags, the screen, the collector, and the questions."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from retrospan.ingest.cli.client.ahead import Ahead
from retrospan.ingest.cli.client.collector_client import CollectorClient, Parameter, Row
from retrospan.ingest.cli.client.questions import statement, with_values
from retrospan.ingest.cli.terminal.moments import Moment, Zone
from retrospan.ingest.cli.terminal.screen import Screen
from retrospan.ingest.cli.terminal.values import dump, json_line

#: A question's name and its parameters.
Asked = tuple[str, Mapping[str, Parameter]]


@dataclass(slots=True)
class Session:
    """One question command's run."""

    arguments: argparse.Namespace
    screen: Screen
    warehouse: CollectorClient
    zone: Zone
    now: Moment = field(default_factory=Moment.now)
    _runs: dict[str, Row] = field(default_factory=dict[str, Row])
    _ahead: Ahead = field(init=False)

    def __post_init__(self) -> None:
        self._ahead = Ahead(self._answer)

    @classmethod
    def open(cls, arguments: argparse.Namespace) -> Session:
        """Return the session of a parsed command; raises ConfigError when RETROSPAN_URL is not an address."""
        screen = Screen.open(
            arguments.color,
            wide=arguments.wide,
            pager=not getattr(arguments, "no_pager", True) and not arguments.json,
        )
        return cls(arguments, screen, CollectorClient.from_environ(os.environ), Zone(arguments.utc))

    def ask(self, question: str, **parameters: Parameter) -> list[Row]:
        """Return the rows of a question of `queries/questions`."""
        begun = self._ahead.take(question, parameters)
        return self._answer(question, parameters) if begun is None else begun

    def ask_ahead(self, *asked: Asked) -> None:
        """Have questions asked, several at once, that will be asked: `ask` then waits for what is left to wait for."""
        for question, parameters in asked:
            self._ahead.begin(question, parameters)

    def _answer(self, question: str, parameters: Mapping[str, Parameter]) -> list[Row]:
        return self.warehouse.ask(statement(question), parameters).rows

    def one(self, question: str, **parameters: Parameter) -> Row | None:
        """Return the first row of a question, or None."""
        rows = self.ask(question, **parameters)
        return rows[0] if rows else None

    def run(self, run_id: str) -> Row | None:
        """Return a run's row of the view, or None. Each is asked for once: later it is what it was.

        The view takes three times as long to plan as what most runs need: most are closed, and nobody marked them.
        """
        if run_id not in self._runs:
            found = self.one("settled_run", run_id=run_id) or self.one("show_run", run_id=run_id)
            if found is None:
                return None
            self._runs[run_id] = found
        return self._runs[run_id]

    def print_sql(self, *asked: Asked) -> int:
        """Print the statements of questions with their values, ready to paste; return 0."""
        for place, (question, parameters) in enumerate(asked):
            if place:
                self.screen.line()
            lines = with_values(statement(question), parameters).split("\n")
            if len(asked) > 1:
                lines[-1] += ";"
            for line in lines:
                self.screen.line(line)
        return 0

    def print_json(self, rows: Sequence[Row], **extra: str) -> None:
        """Print each row as one JSON object; `extra` members come first."""
        for row in rows:
            self.screen.data(json_line({**extra, **row}) + "\n")

    def print_object(self, value: dict[str, object]) -> None:
        """Print one JSON object that is not a row."""
        self.screen.data(dump(value) + "\n")

    def zone_note(self) -> str:
        return f"times {self.zone.name()}"
