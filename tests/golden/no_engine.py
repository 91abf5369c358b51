"""Stands for the process of an engine that is not installed."""

import sys

sys.exit(3)
