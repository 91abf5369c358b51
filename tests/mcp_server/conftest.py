"""The collector of the command line's tests, over hand-written runs."""

from fix_cli import collector

__all__ = ["collector"]
