"""Places for queries: so many at the same time, and of one token so many. Belongs to the thread of one event loop."""

from __future__ import annotations

import asyncio
from collections import Counter, deque

from retrospan.ingest.answer.failures import TOO_MANY_QUERIES
from retrospan.schemas.errors import SqlError

WAIT_SECONDS = 2.0


class Slots:
    """A query waits a moment for a slot, first come, first served; a token that uses all its slots waits for its own."""

    def __init__(self, most: int, most_of_a_token: int) -> None:
        self._most = most
        self._most_of_a_token = most_of_a_token
        self._taken: Counter[str] = Counter()
        self._waiting: deque[tuple[str, asyncio.Future[None]]] = deque()

    def wanted_from(self, token: str) -> bool:
        """Return whether somebody waits for a place that a query of this token has."""
        full = self._taken.total() >= self._most
        return any(full or waiting == token for waiting, _ in self._waiting)

    async def take(self, token: str) -> None:
        """Take a place; give it back with `give_back`. `token` is '' where there are none.

        Raises:
            SqlError: there was none within two seconds.
        """
        if not self._waiting and self._has_room(token):
            self._taken[token] += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((token, turn))
        self._let_in()
        try:
            await asyncio.wait_for(turn, WAIT_SECONDS)
        except TimeoutError as cause:
            self._waiting = deque(entry for entry in self._waiting if entry[1] is not turn)
            total = self._taken.total()
            whose = "" if total >= self._most else f" of the token {token!r}"
            count = total if not whose else self._taken[token]
            raise SqlError(
                f"{count} queries{whose} are running already. Try again in a moment.", code=TOO_MANY_QUERIES
            ) from cause

    def give_back(self, token: str) -> None:
        """Free the slot of a query that has ended, in the engine too."""
        self._taken[token] -= 1
        if not self._taken[token]:
            del self._taken[token]
        self._let_in()

    def _let_in(self) -> None:
        for entry in list(self._waiting):
            token, turn = entry
            if self._taken.total() >= self._most:
                return
            if self._has_room(token):
                self._waiting.remove(entry)
                if not turn.done():
                    self._taken[token] += 1
                    turn.set_result(None)

    def _has_room(self, token: str) -> bool:
        of_token = self._taken[token] < self._most_of_a_token or not token
        return self._taken.total() < self._most and of_token
