"""Jaeger's query API, so that Jaeger's UI and Grafana's Jaeger data source show the spans and runs of the warehouse.

`port.JaegerPort` is the port; all other modules belong to it.
"""
