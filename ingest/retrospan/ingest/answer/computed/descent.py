"""Where a run begins in the run that it goes on from: how many steps of its parent it inherits. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from retrospan.ingest.answer.computed.alignment import Key


class Descent(NamedTuple):
    """How a run descends from the other."""

    link: str
    """`forks` or `resumes`."""
    fork_step: int
    """The parent's step that was forked, as it was stated, 0 if it was not: not every framework counts as we do."""


def inherited_steps(descent: Descent, parent: Sequence[Key], child: Sequence[Key], unfinished: int) -> int:
    """Return how many steps of the parent came before the child's first.

    A child that begins as its parent does was run from the start, also in a loop, where the forked step is equal to the
    first: it repeats all that came before that. Else it begins with the step that was forked, if that has the kind and
    name of the child's first; else with the parent's first step that is equal to it. A resumed run with neither begins
    with `unfinished`, the parent's first step that has not ended, counted from 0, or its length.
    """
    if not child:
        return 0
    first = child[0]
    stated = descent.fork_step - 1
    if 0 <= stated < len(parent) and parent[stated] == first and not _repeats(parent, child, stated):
        return stated
    if parent and parent[0] == first:
        return 0
    if 0 <= stated < len(parent) and parent[stated][:2] == first[:2]:
        return stated
    if first in parent:
        return parent.index(first)
    return unfinished if descent.link == "resumes" else 0


def _repeats(parent: Sequence[Key], child: Sequence[Key], steps: int) -> bool:
    return steps > 0 and [*child[:steps]] == [*parent[:steps]]
