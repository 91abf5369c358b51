"""`retrospan verify`: reads stored data again and compares it with its hashes, with the log and with what derives from
it.
"""
