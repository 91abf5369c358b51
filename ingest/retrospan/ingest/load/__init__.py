"""The loader: brings records of the log into the raw tables, each exactly once, in a chain of batches.

`loader.Loader` is the thread; `ledger` records how far it is; `raw_row_reader` reads raw rows back for interpretation.
"""
