"""OTLP requests as bytes: JSON to protobuf and back, splitting, salvage of what can be read, raw rows.

Pure: no socket, no file.
"""
