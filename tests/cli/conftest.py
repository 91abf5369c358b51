"""The fixtures of `fix_cli.py`, for the tests of the command line."""

from fix_cli import ask, ask_empty, collector, empty_collector, terminal

__all__ = ["ask", "ask_empty", "collector", "empty_collector", "terminal"]
