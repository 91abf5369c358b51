"""Tools of frameworks: each module here answers the tools of one from the record, if that framework is or becomes
imported.
"""

from __future__ import annotations

import sys
from functools import partial
from importlib import import_module

from retrospan.exporter.hooks.watch import when_imported

#: The framework's module after whose import it can be hooked → ours.
FRAMEWORKS = {
    "langchain_core.tools.base": "langchain",
    "agents": "openai_agents",
    "pydantic_ai": "pydantic_ai",
    "mcp.client.session": "mcp",
    "smolagents.tools": "smolagents",
}


def install() -> None:
    """Put hooks on the tools of every framework that is loaded, and of every other one right after its import."""
    for watched, ours in FRAMEWORKS.items():
        if watched in sys.modules:
            _install(ours)
        else:
            when_imported(watched, partial(_install, ours))


def _install(ours: str) -> None:
    import_module(f"{__name__}.{ours}").install()
