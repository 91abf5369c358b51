"""The write-ahead log: what was acknowledged is here, on disk.

`write_ahead_log` is the one writer, in the process that receives; `follower` reads the same segments in the process of the
warehouse. Every other module is theirs.
"""
