"""The collector: receives OTLP, keeps it in a log, loads it into ClickHouse, interprets it, and answers SQL.

The life of a span is `receive` → `redact` → `log` → `load` → `interpret` → `answer`; `retention` ends it and `verify`
vouches for it. Modules at the top level either put these together (`collector`, `following`, `server`) or know nothing
of them (`json_text`, `durable_files`, `trusted_file`). Nothing here is a public interface but the command `retrospan`.
"""
