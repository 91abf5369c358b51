"""Looking for many texts at once finds what looking for each finds."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from retrospan.schemas.redaction.builtin import BUILTIN, BUILTIN_KEYS
from retrospan.schemas.redaction.hints import Hints

BUILT_IN = [hint.encode() for group in BUILTIN.values() for finder in group for hint in finder.hints] + [
    key.encode() for keys in BUILTIN_KEYS.values() for key in keys
]
texts = st.text("aksx-_é.", min_size=1, max_size=5).map(str.encode)


@settings(max_examples=300, deadline=None)
@given(st.lists(texts, max_size=6), st.text("aksx-_é.", max_size=40).map(str.encode))
def test_all_at_once_is_each_by_itself(hints: list[bytes], data: bytes) -> None:
    made = Hints(hints)
    wanted = {hint for hint in hints if hint in data}
    assert made.all_in(data) == wanted
    assert made.any_in(data) == bool(wanted)


def test_every_built_in_hint_is_found_wherever_it_stands() -> None:
    made = Hints(BUILT_IN)
    for hint in BUILT_IN:
        for data in (hint, b"x" + hint, hint + b"x", b"sk sk- k_" + hint + b"_k -", hint[:-1] + hint):
            assert hint in made.all_in(data)
        assert hint not in made.all_in(hint[:-1]) and hint not in made.all_in(hint[1:])
