"""Deletes what is due: receipts first, then rows, then bytes of the log's archive.

`retention.Retention` plans and applies; every other module is its own.
"""
