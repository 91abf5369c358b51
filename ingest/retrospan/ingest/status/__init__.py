"""What a collector reports about itself: health, probes, metrics.

`observed` looks at the receiving process, `reporting` at the process of the warehouse; `metrics` is the one table of numbers.
"""
