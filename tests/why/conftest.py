"""The recordings and the hand-written runs that `why` is asked about."""

from fix_cli import ask, ask_empty, collector, empty_collector, terminal
from fix_why import recorded

__all__ = ["ask", "ask_empty", "collector", "empty_collector", "recorded", "terminal"]
