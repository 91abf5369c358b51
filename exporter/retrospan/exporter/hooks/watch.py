"""Calls something once a module was imported, without importing it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from threading import local
from types import ModuleType
from typing import Any, cast


def when_imported(name: str, call: Callable[[], object]) -> None:
    """Call once, right after the first import of the module. `call` must not raise."""
    finder = next((each for each in sys.meta_path if isinstance(each, _Finder)), None)
    if finder is None:
        finder = _Finder()
        sys.meta_path.insert(0, cast("Any", finder))
    finder.calls.setdefault(name, []).append(call)


class _Finder:
    """Finds nothing itself: it lets the other finders work, and wraps the loader that they find.

    No subclass of `importlib.abc.MetaPathFinder`: loading that takes longer than all of this.
    """

    def __init__(self) -> None:
        self.calls: dict[str, list[Callable[[], object]]] = {}
        self._looking = local()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self.calls or getattr(self._looking, "name", None) == fullname:
            return None
        self._looking.name = fullname
        try:
            spec = find_spec(fullname)
        finally:
            self._looking.name = None
        if spec is not None and spec.loader is not None:
            spec.loader = cast("Any", _Loader(spec.loader, self.calls.pop(fullname, [])))
        return spec


class _Loader:
    """The found loader, with calls after its work."""

    def __init__(self, inner: Any, calls: list[Callable[[], object]]) -> None:
        self._inner = inner
        self._calls = calls

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self._inner.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        # The module keeps what it would have without this one.
        if module.__spec__ is not None:
            module.__spec__.loader = self._inner
        module.__loader__ = self._inner
        self._inner.exec_module(module)
        for call in self._calls:
            call()
