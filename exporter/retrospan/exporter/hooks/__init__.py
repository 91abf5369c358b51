"""Hooks: what a framework's own instrumentation leaves out, without a change in the agent.

One module per framework, each with `install()`, `installed()` and `remove()`. Installing loads the framework; nothing
else here does. A hook calls the framework's own function with the agent's own arguments, and what goes wrong beside
it never reaches the agent.
"""
