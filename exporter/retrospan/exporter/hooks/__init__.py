"""Hooks of frameworks: each adds what the framework's own instrumentation leaves out, without a change to the agent.

A hook is a module here, with `install() -> None` and `installed() -> bool`. It is installed when its framework is
imported, so that an agent pays for no framework that it does not use.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import NamedTuple

from retrospan.exporter.hooks.watch import when_imported
from retrospan.schemas.errors import ConfigError


class Hook(NamedTuple):
    """`module` is the hook's own; `watched` is the framework's module after whose import it can be installed."""

    module: str
    watched: str


HOOKS = {
    "langgraph": Hook("retrospan.exporter.hooks.langgraph", "langgraph.pregel"),
    "openai_agents": Hook("retrospan.exporter.hooks.openai_agents", "agents"),
    "pydantic_ai": Hook("retrospan.exporter.hooks.pydantic_ai", "pydantic_ai"),
}


def chosen(argument: str | Sequence[str] | None, variable: str | None) -> tuple[str, ...]:
    """Return the names of the hooks to install: by argument, by variable (`auto`, `none`, or names and commas), or all.

    Raises ConfigError for an argument that names an unknown framework; a variable that does is logged and ignored.
    """
    if argument is not None:
        wanted = (
            tuple(HOOKS)
            if argument == "auto"
            else (argument,)
            if isinstance(argument, str)
            else tuple(argument)
        )
        for name in wanted:
            if name not in HOOKS:
                raise ConfigError(f"frameworks: there is no hook for {name!r}; there are {', '.join(HOOKS)}.")
        return wanted
    words = [word.strip() for word in (variable or "auto").split(",") if word.strip()]
    if words == ["auto"]:
        return tuple(HOOKS)
    if words == ["none"]:
        return ()
    for word in words:
        if word not in HOOKS:
            _say(f"there is no hook for the framework {word!r}; there are {', '.join(HOOKS)}.")
    return tuple(word for word in words if word in HOOKS)


def install(wanted: Sequence[str]) -> None:
    """Install these hooks: now, where the framework is loaded, else right after its import. Never raises."""
    for name in wanted:
        hook = HOOKS[name]
        if hook.watched in sys.modules:
            _install(name)
        else:
            when_imported(hook.watched, partial(_install, name))


def installed() -> tuple[str, ...]:
    """Return the names of the hooks that are in place."""
    found = []
    for name, hook in HOOKS.items():
        module = sys.modules.get(hook.module)
        if module is not None and module.installed():
            found.append(name)
    return tuple(found)


def _install(name: str) -> None:
    hook = HOOKS[name]
    try:
        if find_spec(hook.module) is not None:
            import_module(hook.module).install()
    except Exception as error:  # noqa: BLE001
        _say(
            f"the hook for {name} could not be installed: {type(error).__name__}: {error}. The agent runs without it.",
            error,
        )


def _say(line: str, error: Exception | None = None) -> None:
    # Here: a replay watches imports as well, begins with every interpreter, and reports nothing so.
    from retrospan.exporter.delivery.notices import note, say

    say(line)
    if error is not None:
        note("a hook could not be installed", error)
