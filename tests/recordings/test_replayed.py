"""The sweep over the kit's replays: which recordings it takes, how it splits, and what it says in the end."""

from __future__ import annotations

from pathlib import Path

import pytest
from recordings.replayed import Replayed, chosen, entries, known_not_whole, summed_up

DOCS = Path(__file__).parents[2] / "docs/replay.md"
WHOLE = Replayed("a/normal", 2, 2, 1, 1, 0, True, "identical", "")
FALLEN = Replayed("langtrace/normal", 5, 1, 4, 1, 0, False, "parts", "a call is not in the record")
OTHER = Replayed("a/loop", 7, 7, 6, 6, 1, True, "identical", "")


def test_recordings_of_a_name_with_a_point_are_of_the_framework_before_it() -> None:
    listed = entries()
    assert {
        "smolagents.kit/normal",
        "llama-index.workflow/loop",
        "openai-responses-openinference.stream/loop",
    } <= listed.keys()
    assert not {name for name in listed if name.startswith(("claude-agent-sdk", "codex"))}


def test_parts_are_all_recordings_and_each_framework_is_in_one() -> None:
    listed = entries()
    parts = [chosen(listed, (), number, 3) for number in (1, 2, 3)]
    assert sorted(name for part in parts for name in part) == sorted(listed)
    frameworks = [{name.partition("/")[0] for name in part} for part in parts]
    assert not frameworks[0] & frameworks[1] | frameworks[1] & frameworks[2] | frameworks[0] & frameworks[2]


def test_what_is_known_not_to_be_whole_is_swept_and_its_reason_is_in_the_docs() -> None:
    said = " ".join(DOCS.read_text(encoding="utf-8").split())
    known = known_not_whole()
    assert known.keys() <= entries().keys()
    assert {reason for reason in known.values() if reason not in said} == set()


@pytest.mark.parametrize(
    ("results", "missing", "code", "said"),
    [
        ([WHOLE, FALLEN], {}, 0, "not whole: langtrace/normal: of an answer with text"),
        ([WHOLE, OTHER], {}, 1, "not whole: a/loop: NOT KNOWN: identical"),
        ([WHOLE], {"a/big": "not installed: no such version"}, 1, "a/big: NOT KNOWN: not installed"),
    ],
    ids=["known", "a tool ran", "not installed"],
)
def test_it_fails_for_what_is_not_known(
    results: list[Replayed],
    missing: dict[str, str],
    code: int,
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert summed_up(results, missing) == code
    printed = capsys.readouterr().out
    assert said in printed
    assert f"{len(results)} recordings of" in printed.splitlines()[-1]


def test_it_fails_for_what_is_known_and_is_whole(capsys: pytest.CaptureFixture[str]) -> None:
    (name, *_) = known_not_whole()
    assert summed_up([Replayed(name, 1, 1, 0, 0, 0, True, "identical", "")], {}) == 1
    assert f"to be struck off not_whole.toml: {name}" in capsys.readouterr().out
