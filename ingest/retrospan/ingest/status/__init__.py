"""What a collector says of itself: health, probes, metrics.

`observed` looks at the receiving process, `reporting` at the process of the warehouse; `metrics` is the one table of numbers.
"""
