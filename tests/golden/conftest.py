"""The hand-written runs behind a SQL port."""

from fix_cli import ask, ask_empty, collector, empty_collector, terminal

__all__ = ["ask", "ask_empty", "collector", "empty_collector", "terminal"]
