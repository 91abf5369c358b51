"""The spans of a run as a tree: order, ancestors, inherited context, clocks."""
