"""The loader: brings records of the log into the raw tables, each exactly once, in a chain of batches.

`loader.Loader` is the thread; `ledger` says how far it is; `reading` reads raw rows back for interpretation.
"""
