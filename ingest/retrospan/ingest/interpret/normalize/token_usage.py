"""The tokens that a model call took."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class TokenUsage:
    """Token counts; `input` includes what was read from and written to a cache, `reasoning` is part of `output`.

    `modal` are counts of one modality, by their bucket, such as `input_audio`.
    """

    input: int | None = None
    output: int | None = None
    cached: int | None = None
    reasoning: int | None = None
    written: int | None = None
    modal: dict[str, int] = field(default_factory=dict)

    def completed(self, other: TokenUsage) -> TokenUsage:
        """Return the counts of a call that two tell: of two the larger, as an SDK may leave out what was cached."""
        return TokenUsage(
            _larger(self.input, other.input),
            _larger(self.output, other.output),
            _larger(self.cached, other.cached),
            _larger(self.reasoning, other.reasoning),
            _larger(self.written, other.written),
            {**other.modal, **self.modal},
        )

    def buckets(self) -> dict[str, int]:
        """Return counts that do not overlap, by bucket: a side's add up to its total.

        `input` and `output` are what is in none of the others: `cache_read`, `cache_write`, `reasoning`, and one for each
        modality that is counted, such as `input_audio`, `cache_read_audio` or `output_image`. A side whose total is not
        known, or whose parts are more than it, has no buckets. Where a modality and something else are counted that may
        overlap, the modalities are left out.
        """
        if self.modal:
            return self._by_modality()
        found: dict[str, int] = {}
        _add_side(found, "input", self.input, ("cache_read", self.cached), ("cache_write", self.written))
        _add_side(found, "output", self.output, ("reasoning", self.reasoning))
        return found

    def _by_modality(self) -> dict[str, int]:
        cached, given, made = (
            {name: count for name, count in self.modal.items() if name.startswith(side)}
            for side in ("cache_read_", "input_", "output_")
        )
        of_no_modality = 0 if self.cached is None else self.cached - sum(cached.values())
        if of_no_modality or self.written:
            cached, given = {}, {}
        for name, count in cached.items():
            whole = "input_" + name.removeprefix("cache_read_")
            if whole in given:
                given[whole] -= count
        read = {**cached} if cached else {"cache_read": self.cached}
        found: dict[str, int] = {}
        _add_side(found, "input", self.input, *{**given, **read, "cache_write": self.written}.items())
        parts = {**({} if self.reasoning else made), "reasoning": self.reasoning}
        _add_side(found, "output", self.output, *parts.items())
        return found


def _larger(one: int | None, other: int | None) -> int | None:
    return max((count for count in (one, other) if count is not None), default=None)


def _add_side(found: dict[str, int], name: str, total: int | None, *parts: tuple[str, int | None]) -> None:
    """Add the buckets of one side, in place."""
    if total is None:
        return
    known = [(part, count) for part, count in parts if count is not None]
    left = total
    for _, count in known:
        left -= count
        if count < 0 or left < 0:
            return
    found[name] = left
    found.update(known)
