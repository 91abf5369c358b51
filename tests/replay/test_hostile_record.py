"""A record that a stranger made is replayed: it calls nothing by name, loads nothing, and reaches no terminal as it is."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from golden.agents import AGENT, suite
from replay.recorded import bundle, model_call, text, tool_call

from retrospan.exporter.replay import replay, tool
from retrospan.exporter.replay.tools.given import RecordedError, error_of
from retrospan.schemas.bundle.container import write_bundle
from retrospan.schemas.bundle.form import CallError, ToolCall


@pytest.mark.parametrize(
    "kind",
    [
        "subprocess.Popen",
        "os.system",
        "builtins.SystemExit",
        "builtins.KeyboardInterrupt",
        "builtins.GeneratorExit",
        "pathlib.Path",
        "builtins.exec",
        "antigravity.Fly",
        "..",
        "",
        "Exception" * 10_000,
    ],
)
def test_an_error_names_no_class_but_one_of_errors(kind: str) -> None:
    error = error_of(CallError(type=kind, message="touch out"))
    assert type(error) in (RecordedError, Exception) and "antigravity" not in sys.modules


def test_a_module_that_loads_what_it_is_asked_for_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    lazy, asked = ModuleType("lazy"), list[str]()
    vars(lazy)["__getattr__"] = asked.append
    monkeypatch.setitem(sys.modules, "lazy", lazy)
    assert isinstance(error_of(CallError(type="lazy.heavy", message="x")), RecordedError)
    assert asked == []


@pytest.mark.parametrize(
    "message",
    [
        'OSError("a".__class__)',
        "ValueError('" + "(" * 4_000 + "')",
        "ValueError('\\x1b]0;owned\\x07')",
        "KeyError(" + "['" * 2_000 + "'])",
        "Error code: 400 - " + "{'a': " * 3_000,
    ],
)
def test_a_printed_error_is_read_as_data(message: str) -> None:
    assert isinstance(error_of(CallError(type="Exception", message=message)), Exception)


def test_a_record_with_the_error_of_an_exit_does_not_end_the_agent() -> None:
    record = bundle(
        ToolCall(
            n=1,
            step=1,
            span_id=None,
            started_at=None,
            ended_at=None,
            name="leave",
            has_arguments=True,
            arguments={},
            error=CallError(type="SystemExit", message="0"),
        )
    )

    @tool
    def leave() -> None:
        raise AssertionError("it runs")

    with replay(record) as session, pytest.raises(RecordedError, match="0"):
        leave()
    assert session.report.verdict == "identical"


def test_what_a_record_says_reaches_no_terminal_as_it_is(tmp_path: Path) -> None:
    """Names, messages and questions that would colour, clear or rename a terminal are told harmlessly."""
    evil = "\x1b]0;owned\x07\x1b[2J\r\x9b31m"
    (run,) = suite("run-1").runs
    calls = (
        model_call(1, [text("user", evil)], text("assistant", evil), agent_name=evil),
        tool_call(2, f"tool{evil}", {evil: evil}, evil),
    )
    made = replace(suite("run-1"), runs=(replace(run, question=evil, calls=bundle(*calls).runs[0].calls),))
    write_bundle(tmp_path / "run.bundle", made)
    (tmp_path / "agent.py").write_text(AGENT + "\nrun('Something else')\n")
    for words in (
        ("replay", "run.bundle", "--", sys.executable, "agent.py"),
        ("bisect", "--suite", "run.bundle", "--", sys.executable, "agent.py"),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "retrospan.ingest.cli.main", *words], cwd=tmp_path, capture_output=True, check=False,
            env={"PATH": "/usr/bin:/bin", "NO_COLOR": "1"},
        )  # fmt: skip
        said = done.stdout + done.stderr
        own = said.partition(b"parts at step")[2]
        assert done.returncode == 1 and b"recorded" in own, said
        for each in (b"\x1b", b"\x07", b"\xc2\x9b", b"\r"):
            assert each not in own, own
