"""Fixtures live in the fix_*.py modules beside this file, one subject each."""

import gc
import os

import pytest
from hypothesis import settings

# What is collected stays to the end. To look through it for garbage again and again takes a third of the collecting.
gc.disable()

# How long an example takes decides nothing: the machine may be busy.
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")

pytest_plugins = ["fix_collector", "fix_recordings", "fix_spans", "fix_store"]


@pytest.fixture(autouse=True)
def umask() -> None:
    """Make files as most users do: a collector refuses to be steered by one that its group may write."""
    os.umask(0o022)  # for every test: a command that ran within this process narrows it


def pytest_report_header(config: pytest.Config) -> str:
    """Name the engine the tests ran against."""
    import chdb

    return f"engine: chdb {chdb.__version__}"


# A file of tests is one process's, so the longest ones begin first; else one of them runs on alone at the end.
_LONGEST = (
    "tests/whole/",
    "tests/why/",
    "tests/mcp_server/",
    "tests/warehouse/",
    "tests/torture/",
    "tests/interpret/service/test_interpreter.py",
    "tests/cli/",
    "tests/survival/",
    "tests/views/",
)


#: Fixtures behind which there is an engine or a collector.
_ENGINES = {"engine", "served", "collector", "empty_collector"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what wants an engine, leave out what only Linux tells where that is hidden, and put the files that take longest first; the order is the same in every process."""
    for item in items:
        if not hasattr(os, "memfd_create") and item.get_closest_marker("linux"):
            item.add_marker(pytest.mark.skip(reason="this system does not tell"))
        if _ENGINES.intersection(getattr(item, "fixturenames", ())):
            item.add_marker("engine")
    items.sort(key=lambda item: not item.nodeid.startswith(_LONGEST))


def pytest_collection_finish() -> None:
    """Leave out of every later search for garbage what has been collected."""
    gc.freeze()
    gc.enable()
