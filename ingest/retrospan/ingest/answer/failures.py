"""Errors as ClickHouse sends them over HTTP: in place of an answer, and at the end of one that has begun."""

from __future__ import annotations

import re

from retrospan.ingest.answer.encodings import LAST_WORDS
from retrospan.ingest.http.messages import Response
from retrospan.schemas.errors import QUERY_TOO_LARGE, TIMEOUT_EXCEEDED, TOO_MANY_QUERIES, SqlError

SERVER = "retrospan"
REQUIRED_PASSWORD = 194
AUTHENTICATION_FAILED = 516
QUERY_WAS_CANCELLED = 394
MEMORY_LIMIT_EXCEEDED = 241
#: ClickHouse's own mapping of its codes, as far as a reader can meet them; everything else is 500.
_STATUS = {
    **dict.fromkeys((6, 26, 27, 38, 41, 43, 53, 62, 70, 72, 386, 456, 457, 636), 400),
    **dict.fromkeys((16, 46, 47, 50, 60, 63, 73, 81, 115, 372), 404),
    **dict.fromkeys((164, 497), 403),
    **dict.fromkeys((REQUIRED_PASSWORD, AUTHENTICATION_FAILED), 401),
    TIMEOUT_EXCEEDED: 408,
    QUERY_TOO_LARGE: 413,
    TOO_MANY_QUERIES: 503,
}
_NAMES = {
    27: "CANNOT_PARSE_INPUT_ASSERTION_FAILED",
    33: "CANNOT_READ_ALL_DATA",
    36: "BAD_ARGUMENTS",
    39: "TOO_LARGE_SIZE_COMPRESSED",
    40: "CHECKSUM_DOESNT_MATCH",
    46: "UNKNOWN_FUNCTION",
    48: "NOT_IMPLEMENTED",
    62: "SYNTAX_ERROR",
    72: "CANNOT_PARSE_NUMBER",
    73: "UNKNOWN_FORMAT",
    81: "UNKNOWN_DATABASE",
    89: "UNKNOWN_COMPRESSION_METHOD",
    115: "UNKNOWN_SETTING",
    159: "TIMEOUT_EXCEEDED",
    164: "READONLY",
    194: "REQUIRED_PASSWORD",
    MEMORY_LIMIT_EXCEEDED: "MEMORY_LIMIT_EXCEEDED",
    202: "TOO_MANY_SIMULTANEOUS_QUERIES",
    229: "QUERY_IS_TOO_LARGE",
    271: "CANNOT_DECOMPRESS",
    372: "SESSION_NOT_FOUND",
    394: "QUERY_WAS_CANCELLED",
    456: "UNKNOWN_QUERY_PARAMETER",
    497: "ACCESS_DENIED",
    516: "AUTHENTICATION_FAILED",
}
#: What helps where an answer takes more than a question may: most views find these by an index.
_ADVICE = "Ask for less: of one run (run_id = '…'), of a window of time, or for fewer columns."
#: What is written after a statement to have its rows in a file, and how the engine says that it met it.
_INTO_FILE = r"(?:INTO )?(?:OUTFILE )?'/proc/self/fd/\d+' APPEND FORMAT \w+"
_MET_INTO_FILE = re.compile(
    rf"\((?:INTO|OUTFILE|'/proc/self/fd/\d+')\)(?: \(line \d+, col \d+\))?: {_INTO_FILE}"
)
_BEFORE_INTO_FILE = re.compile(rf"\s*{_INTO_FILE}")
#: Of an error while an answer is written, the engine tells code and name once for each layer that it went through.
_BEGINS_AGAIN = re.compile(r"(Code: \d+\. DB::Exception: )\1+")
_ENDS_AGAIN = re.compile(r"(\([A-Z_]+\))(?: \(version [\d.]+\)\. \1)+\s*$")
_NAME = re.compile(r"\s*(\([A-Z_]+\))?\s*$")


def failure(error: SqlError) -> Response:
    """Return an error instead of an answer."""
    code = error.code or 0
    headers = {
        "X-ClickHouse-Exception-Code": str(code),
        "X-ClickHouse-Server-Display-Name": SERVER,
        "X-ClickHouse-Timezone": "UTC",
    }
    if code == TOO_MANY_QUERIES:
        headers["Retry-After"] = "1"
    if code in (REQUIRED_PASSWORD, AUTHENTICATION_FAILED):
        headers["WWW-Authenticate"] = 'Bearer realm="retrospan"'
    return Response(_STATUS.get(code, 500), _worded(error) + b"\n", headers=headers)


def last_words(error: SqlError, tag: str) -> bytes:
    """Return the end of an answer that has begun and cannot be finished. After it the connection is cut.

    Clients look for `tag`, which the header X-ClickHouse-Exception-Tag told them.
    """
    message = _worded(error) + b"\n"
    mark = tag.encode()
    return b"%b%b\r\n%b%d %b%b" % (LAST_WORDS, mark, message, len(message), mark, LAST_WORDS)


def _worded(error: SqlError) -> bytes:
    message = _BEFORE_INTO_FILE.sub("", _MET_INTO_FILE.sub("(end of query): ", str(error)))
    message = _ENDS_AGAIN.sub(r"\1", _BEGINS_AGAIN.sub(r"\1", message))
    if not message.startswith("Code:"):
        code = error.code or 0
        name = f" ({_NAMES[code]})" if code in _NAMES else ""
        message = f"Code: {code}. DB::Exception: {message}{name}"
    if error.code in (MEMORY_LIMIT_EXCEEDED, TIMEOUT_EXCEEDED):
        message = _NAME.sub(lambda name: f" {_ADVICE} {name[1] or ''}".rstrip(), message, count=1)
    return message.encode(errors="replace")
