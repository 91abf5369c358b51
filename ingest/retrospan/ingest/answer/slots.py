"""Places for queries: so many at the same time, and of one token so many. Shared by the ports of a process."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter, deque
from concurrent.futures import Future

from retrospan.schemas.errors import TOO_MANY_QUERIES, SqlError

WAIT_SECONDS = 2.0


class Slots:
    """A query waits a moment for a slot, first come, first served; a token that uses all its slots waits for its own.

    Safe to share between event loops.
    """

    def __init__(self, most: int, most_of_a_token: int) -> None:
        self._most = most
        self._most_of_a_token = most_of_a_token
        self._counting = threading.Lock()
        self._taken: Counter[str] = Counter()
        self._waiting: deque[tuple[str, Future[None]]] = deque()

    def wanted_from(self, token: str) -> bool:
        """Return whether somebody waits for a place that a query of this token has."""
        with self._counting:
            full = self._taken.total() >= self._most
            return any(full or waiting == token for waiting, _ in self._waiting)

    async def take(self, token: str) -> None:
        """Take a place; give it back with `give_back`. `token` is '' where there are none.

        Raises:
            SqlError: there was none within two seconds.
        """
        turn: Future[None] = Future()
        with self._counting:
            self._waiting.append((token, turn))
            self._let_in()
        if turn.done():
            return
        try:
            await asyncio.wait_for(asyncio.wrap_future(turn), WAIT_SECONDS)
        except TimeoutError as cause:
            if self._withdraw(token, turn):
                return  # it came at the last moment
            raise self._none_free(token) from cause
        except asyncio.CancelledError:
            if self._withdraw(token, turn):
                self.give_back(token)
            raise

    def give_back(self, token: str) -> None:
        """Free the slot of a query that has ended, in the engine too."""
        with self._counting:
            self._taken[token] -= 1
            if not self._taken[token]:
                del self._taken[token]
            self._let_in()

    def _withdraw(self, token: str, turn: Future[None]) -> bool:
        """Wait no longer; return whether the place was given meanwhile."""
        with self._counting:
            self._waiting = deque(entry for entry in self._waiting if entry[1] is not turn)
            return turn.done() and not turn.cancelled()

    def _none_free(self, token: str) -> SqlError:
        with self._counting:
            total = self._taken.total()
            whose = "" if total >= self._most else f" of the token {token!r}"
            count = total if not whose else self._taken[token]
        return SqlError(
            f"{count} queries{whose} are running already. Try again in a moment.", code=TOO_MANY_QUERIES
        )

    def _let_in(self) -> None:
        """Give out what is free. The lock is held."""
        for entry in list(self._waiting):
            token, turn = entry
            if self._taken.total() >= self._most:
                return
            if self._has_room(token):
                self._waiting.remove(entry)
                if turn.set_running_or_notify_cancel():
                    self._taken[token] += 1
                    turn.set_result(None)

    def _has_room(self, token: str) -> bool:
        of_token = self._taken[token] < self._most_of_a_token or not token
        return self._taken.total() < self._most and of_token
