"""Hooks are installed when their framework is imported, and no framework is imported for them."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from exporter.test_delivery import lines

from retrospan.exporter import hooks
from retrospan.exporter.hooks import Hook
from retrospan.exporter.hooks.watch import when_imported
from retrospan.schemas.errors import ConfigError

FRAMEWORK, PART, HOOK = "framework_of_a_test", "framework_of_a_test.part", "hook_of_a_test"


@pytest.fixture
def framework(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A framework with a submodule, and a hook for it; neither is imported."""
    (tmp_path / FRAMEWORK).mkdir()
    (tmp_path / FRAMEWORK / "__init__.py").write_text(f"import {PART}\n")
    (tmp_path / FRAMEWORK / "part.py").write_text("value = 1\n")
    (tmp_path / f"{HOOK}.py").write_text(
        f"import {PART} as part\ndef install(): part.value += 1\ndef installed(): return part.value > 1\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(hooks, "HOOKS", {"test": Hook(HOOK, PART)})
    before = list(sys.meta_path)
    yield tmp_path
    sys.meta_path[:] = before
    for name in (FRAMEWORK, PART, HOOK):
        sys.modules.pop(name, None)


def value() -> int:
    part: ModuleType = importlib.import_module(PART)
    found: int = part.value
    return found


def test_a_hook_follows_the_import_of_its_framework(framework: Path) -> None:
    hooks.install(["test"])
    assert PART not in sys.modules and HOOK not in sys.modules and hooks.installed() == ()
    assert value() == 2
    assert hooks.installed() == ("test",)
    # The module looks as if nobody had stood in between.
    part = sys.modules[PART]
    assert part.__loader__ is part.__spec__.loader and type(part.__loader__).__name__ == "SourceFileLoader"  # type: ignore[union-attr]


def test_a_framework_that_is_loaded_is_hooked_at_once(framework: Path) -> None:
    assert value() == 1
    hooks.install(["test"])
    assert value() == 2


def test_a_hook_that_fails_is_reported_and_the_framework_works(
    framework: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (framework / f"{HOOK}.py").write_text("def install(): raise RuntimeError('another version')\n")
    hooks.install(["test"])
    assert value() == 1
    assert any("another version" in line for line in lines(caplog))


def test_a_call_comes_once(framework: Path) -> None:
    calls: list[str] = []
    when_imported(PART, lambda: calls.append("a"))
    when_imported(PART, lambda: calls.append("b"))
    importlib.import_module(PART)
    importlib.reload(sys.modules[PART])
    assert calls == ["a", "b"]


def test_names_are_chosen_by_argument_then_variable(caplog: pytest.LogCaptureFixture) -> None:
    every = tuple(hooks.HOOKS)
    assert hooks.chosen(None, None) == hooks.chosen("auto", "none") == hooks.chosen(None, "auto") == every
    assert hooks.chosen([], "auto") == hooks.chosen(None, "none") == ()
    assert hooks.chosen(None, "langgraph, nonsense") == ("langgraph",)
    assert any("nonsense" in line for line in lines(caplog))
    with pytest.raises(ConfigError, match="nonsense"):
        hooks.chosen(["nonsense"], None)
