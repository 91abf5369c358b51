"""Text that compresses like prose: made-up words, drawn as often as Zipf's law has it, from a seed."""

from __future__ import annotations

import random
from functools import lru_cache
from itertools import accumulate
from typing import Any

VOCABULARY = 6_000
STREAM_WORDS = 250_000
_CONSONANTS, _VOWELS = "bcdfghklmnprstvwz", "aeiou"


class Words:
    """A long stream of words; every text is a slice of it, so a text costs no more than its copy.

    The stream itself takes a fifth of a second of processor: who wants few texts asks for a shorter one.
    """

    def __init__(self, seed: int, words: int = STREAM_WORDS) -> None:
        self._stream, state = _drawn(seed, words)
        self._random = random.Random()
        self._random.setstate(state)

    def text(self, length: int) -> str:
        """Return `length` characters, at least one, that no earlier call is likely to have returned."""
        length = max(1, length)
        start = self._random.randrange(len(self._stream) - length)
        return self._stream[start : start + length]


@lru_cache(maxsize=16)
def _drawn(seed: int, words: int) -> tuple[str, tuple[Any, ...]]:
    """Return the stream of a seed, and how its chance goes on."""
    chance = random.Random(seed)
    chances = [1 / rank for rank in range(1, VOCABULARY + 1)]
    vocabulary = [_word(chance) for _ in chances]
    drawn = chance.choices(vocabulary, cum_weights=list(accumulate(chances)), k=words)
    return " ".join(drawn), chance.getstate()


def _word(chance: random.Random) -> str:
    syllables = chance.choices((1, 2, 3, 4), (3, 5, 3, 1))[0]
    return "".join(chance.choice(_CONSONANTS) + chance.choice(_VOWELS) for _ in range(syllables))
