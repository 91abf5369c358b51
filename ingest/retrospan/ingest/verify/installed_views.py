"""Compares the views that readers query with those of this release: who alters one alters every answer.

Each is made once more in the scratch database, and the engine tells how it understands both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from retrospan.ingest.answer.guard.lexer import Token, tokens
from retrospan.ingest.verify.report import VerifiedPart
from retrospan.ingest.verify.scratch import SCRATCH
from retrospan.ingest.verify.sql import load
from retrospan.queries.catalogue import views
from retrospan.schemas.errors import SqlError
from retrospan.schemas.migrate import DATABASE
from retrospan.schemas.store import Store
from retrospan.schemas.typed_rows import typed_rows


def check_views(store: Store, part: VerifiedPart, go_on: Callable[[], None]) -> None:
    """Report every view that is not the one of this release. The scratch database is there, and stays."""
    for view in views():
        go_on()
        wrong = ""
        try:
            store.command(view.definition.replace(f" {view.name}\n", f" {SCRATCH}.{view.name}\n", 1))
            asked = {"name": view.name, "main": DATABASE, "scratch": SCRATCH}
            texts = typed_rows(store, tuple[str, str], load("definitions"), asked)
            if not texts[0][0] or not is_alike(*texts[0]):
                wrong = "is not that of this release: `retrospan migrate` makes it anew"
        except SqlError:
            wrong = "cannot be compared: what it reads from is not as this release makes it"
        if wrong:
            part.report_wrong(f"view {view.name}", wrong, view=view.name)
        else:
            part.count(views=1)


def is_alike(one: str, other: str) -> bool:
    """Return whether two definitions select the same.

    Some releases of the engine write brackets around a call, or an element of what it returns, and some do not.
    """
    return one == other or _words(one) == _words(other)


def _words(definition: str) -> list[str]:
    found = [token for token in tokens(definition) if token.kind != "blank"]
    ends = _ends(found)
    dropped: set[int] = set()
    for start, end in ends.items():
        is_call = start > 0 and found[start - 1].kind in ("word", "name")
        if found[start].is_mark("(") and not is_call and found[start + 1].kind in ("word", "name"):
            inner = ends.get(start + 2, -1) + 1  # behind the call
            if inner == end or ends.get(inner) == end - 1:
                dropped |= {start, end}
    return [token.text for place, token in enumerate(found) if place not in dropped]


def _ends(found: Sequence[Token]) -> dict[int, int]:
    """Return where each bracket closes, by where it opens."""
    ends: dict[int, int] = {}
    opened: list[int] = []
    for place, token in enumerate(found):
        if token.kind == "mark" and token.text in "([":
            opened.append(place)
        elif token.kind == "mark" and token.text in ")]" and opened:
            ends[opened.pop()] = place
    return ends
