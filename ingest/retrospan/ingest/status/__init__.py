"""What a collector reports about itself: health, probes, metrics.

`collector_status` looks at the receiving process, `warehouse_status` at the process of the warehouse; `metrics` is the
one table of numbers.
"""
