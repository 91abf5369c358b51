"""How a sentence names the rows that it rests on: `failures, step 2`."""

from __future__ import annotations

from retrospan.ingest.why.sentence import Basis, Sentence

_PLACES = ("step", "ordinal", "model_call", "first_step", "position")
#: What tells a row of a view of two sides from its others.
_WORDS = ("metric", "part")
#: What tells the rows that are not there from others of their view that may be.
_KINDS = ("severity",)


def reference(sentence: Sentence) -> str:
    """Return the views it rests on, each once, with the place in the run where that is told by a number."""
    return "; ".join(dict.fromkeys(_named(basis) for basis in sentence.rests_on))


def _named(basis: Basis) -> str:
    if not basis.is_there:
        kinds = [str(basis.where[name]) for name in _KINDS if name in basis.where]
        return f"{' '.join([basis.view, *kinds])}: none"
    numbers = [f"{name} {basis.where[name]}" for name in _PLACES if isinstance(basis.where.get(name), int)]
    words = [str(basis.where[name]) for name in _WORDS if isinstance(basis.where.get(name), str)]
    return " ".join([basis.view, *(numbers or words)[:1]])


def left_out(count: int) -> str:
    """Return what stands for sentences that were taken away."""
    return f"{count:,} more {'sentence' if count == 1 else 'sentences'}: --full shows them"
