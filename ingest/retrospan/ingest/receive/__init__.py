"""The receivers: OTLP over gRPC (`grpc`) and HTTP (`http`), both in front of one `intake`.

A request is acknowledged when the log has it on disk.
"""
