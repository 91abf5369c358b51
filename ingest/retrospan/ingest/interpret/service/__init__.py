"""The interpreter at work: which traces are due, in which process they are interpreted, how results are written.

`interpreter.Interpreter` is the thread; every other module is its own.
"""
