"""The mutations that are drawn over the rules: each changes the code, at one place, and is found again."""

from __future__ import annotations

import ast
from collections import Counter

import pytest
from bench.mutation_kinds import MARK, marked, mutated, mutations_of
from bench.mutations import INTERPRET, draw, equivalent, every

SOURCE = '''
LIMIT = 3


def rule(values: list[int], most: int = 5) -> int | None:
    """Return the first."""
    if not values:
        return None
    found = [value for value in values if 0 < value <= most]
    return found[0] if found else None


class Box:
    def full(self) -> bool:
        return self.size >= 3 and self.closed
'''


def kinds() -> Counter[str]:
    return Counter(mutation.kind for mutation in mutations_of(SOURCE))


def test_only_what_functions_decide_is_changed() -> None:
    assert kinds() == {
        "not": 1,
        "early return": 1,
        "constant": 6,
        "end": 1,
        "decided": 4,
        "comparison": 2,
        "and/or": 1,
        "operand": 2,
    }
    assert {mutation.function for mutation in mutations_of(SOURCE)} == {"rule", "Box.full"}


def test_each_mutation_is_another_program_that_differs_where_it_says() -> None:
    texts = [ast.unparse(mutated(SOURCE, mutation)) for mutation in mutations_of(SOURCE)]
    assert ast.unparse(ast.parse(SOURCE)) not in texts
    assert all(compile(text, "rule.py", "exec") for text in texts)
    full = {mutation.after for mutation in mutations_of(SOURCE) if mutation.before == "self.size >= 3"}
    assert full == {"self.size > 3", "self.size <= 3", "True", "False"}


def test_a_mark_tells_that_the_statement_of_a_mutation_is_reached() -> None:
    own = dict(enumerate(mutations_of(SOURCE)))
    reached: set[int] = set()
    space = {MARK: reached.add}
    exec(compile(marked(SOURCE, own), "rule.py", "exec"), space)  # noqa: S102 (the code of this file)
    rule = space["rule"]
    rule([])  # type: ignore[arg-type]
    assert {own[number].before for number in reached} == {"not values", "if not values:\n    return None"}


def test_the_same_seed_draws_the_same_and_every_kind() -> None:
    pool = every()
    first, again, other = (draw(pool, seed, 60) for seed in (1, 1, 2))
    assert first == again != other
    assert {each.mutation.kind for each in draw(pool, 1, 400)} == {each.mutation.kind for each in pool}


@pytest.mark.parametrize("listed", sorted(equivalent()), ids=lambda listed: f"{listed[0]} {listed[1]}"[:60])
def test_an_equivalent_mutation_is_one_of_those_that_can_be_drawn(listed: tuple[str, str, str]) -> None:
    place, before, after = listed
    file = INTERPRET / place.partition(":")[0]
    found = mutations_of(file.read_text(encoding="utf-8"))
    assert any((m.before, m.after) == (before, after) and place.endswith(f":{m.function}") for m in found)
