"""Sends several questions at once, before their answers are needed: a command waits for the slowest, not for the sum.

A question takes a collector some ten milliseconds of planning on one core, whatever it finds. Answers are the same as
one after the other: each question is a statement of its own in both.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from retrospan.ingest.cli.client.collector_client import Parameter, Row
from retrospan.schemas.errors import TOO_MANY_QUERIES, CollectorUnreachable, SqlError

#: Questions under way at once: fewer than a collector answers for one token at the same time.
AT_ONCE = 3

_Key = tuple[str, tuple[tuple[str, object], ...]]


class Ahead:
    """Answers under way, each for one who asks for it. Belongs to one thread; what it starts asks and nothing else."""

    def __init__(self, ask: Callable[[str, Mapping[str, Parameter]], list[Row]]) -> None:
        """`ask` answers one question. It is called from several threads."""
        self._ask = ask
        self._waiting: deque[_Answer] = deque()
        self._answers: dict[_Key, _Answer] = {}
        self._changed = threading.Condition()
        self._threads = 0
        self._trouble: CollectorUnreachable | None = None
        """Of any question: who is not there for one is not waited for with another."""

    def begin(self, question: str, parameters: Mapping[str, Parameter]) -> None:
        """Have a question asked as soon as fewer than `AT_ONCE` are under way. Returns at once."""
        answer = _Answer(question, parameters)
        with self._changed:
            self._answers[_key(question, parameters)] = answer
            self._waiting.append(answer)
            if self._threads == AT_ONCE:
                return
            self._threads += 1
        # Nobody waits for it where the command ends before: with an error, or because it needs no more.
        threading.Thread(target=self._work, name="retrospan-ahead-of-use", daemon=True).start()

    def take(self, question: str, parameters: Mapping[str, Parameter]) -> list[Row] | None:
        """Return the answer to a question that was begun, once it is there; None to one that was not.

        None too where the collector had no place for so many: nothing else is under way then, and it can be asked alone.
        Raises what else the question raised.
        """
        answer = self._answers.pop(_key(question, parameters), None)
        if answer is None:
            return None
        with self._changed:
            self._changed.wait_for(lambda: answer.is_there or self._trouble is not None)
            error = answer.error if answer.is_there else self._trouble
            if isinstance(error, SqlError) and error.code == TOO_MANY_QUERIES:
                self._changed.wait_for(lambda: not self._threads)
                return None
        if error is not None:
            raise error
        return answer.rows

    def _work(self) -> None:
        while True:
            with self._changed:
                if not self._waiting:
                    self._threads -= 1
                    self._changed.notify_all()
                    return
                answer = self._waiting.popleft()
            try:
                answer.rows = self._ask(answer.question, answer.parameters)
            except BaseException as error:  # noqa: BLE001 - whoever takes the answer gets it
                answer.error = error
            with self._changed:
                answer.is_there = True
                if isinstance(answer.error, CollectorUnreachable):
                    self._trouble = answer.error
                self._changed.notify_all()


@dataclass(slots=True)
class _Answer:
    """A question, and what came of it once `is_there`."""

    question: str
    parameters: Mapping[str, Parameter]
    is_there: bool = False
    rows: list[Row] = field(default_factory=list[Row])
    error: BaseException | None = None


def _key(question: str, parameters: Mapping[str, Parameter]) -> _Key:
    return question, tuple(
        (name, tuple(value) if isinstance(value, Sequence) and not isinstance(value, str) else value)
        for name, value in sorted(parameters.items())
    )
