"""Text that compresses like prose: made-up words, drawn as often as Zipf's law has it, from a seed."""

from __future__ import annotations

import random
from itertools import accumulate

VOCABULARY = 6_000
STREAM_WORDS = 250_000
_CONSONANTS, _VOWELS = "bcdfghklmnprstvwz", "aeiou"


class Words:
    """A long stream of words; every text is a slice of it, so a text costs no more than its copy."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        chances = [1 / rank for rank in range(1, VOCABULARY + 1)]
        words = [self._word() for _ in chances]
        drawn = self._random.choices(words, cum_weights=list(accumulate(chances)), k=STREAM_WORDS)
        self._stream = " ".join(drawn)

    def text(self, length: int) -> str:
        """Return `length` characters, at least one, that no earlier call is likely to have returned."""
        length = max(1, length)
        start = self._random.randrange(len(self._stream) - length)
        return self._stream[start : start + length]

    def _word(self) -> str:
        syllables = self._random.choices((1, 2, 3, 4), (3, 5, 3, 1))[0]
        return "".join(
            self._random.choice(_CONSONANTS) + self._random.choice(_VOWELS) for _ in range(syllables)
        )
