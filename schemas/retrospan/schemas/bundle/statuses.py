"""The HTTP status that a failed model call came with, as far as the record of its error tells."""

from __future__ import annotations

import re

#: The status by what clients call their errors, in lower case and without their module.
_STATUSES = {
    "badrequesterror": 400,
    "invalidrequesterror": 400,
    "contextwindowexceedederror": 400,
    "validationexception": 400,
    "authenticationerror": 401,
    "permissiondeniederror": 403,
    "accessdeniedexception": 403,
    "notfounderror": 404,
    "resourcenotfoundexception": 404,
    "conflicterror": 409,
    "unprocessableentityerror": 422,
    "ratelimiterror": 429,
    "throttlingexception": 429,
    "internalservererror": 500,
    "internalserverexception": 500,
    "serviceunavailableerror": 503,
    "serviceunavailableexception": 503,
    "overloadederror": 529,
}
#: How messages tell it: "Error code: 400 - {…}", "status code 429", "HTTP 503", "400 INVALID_ARGUMENT. {…}".
_TOLD = re.compile(
    r"(?i:\b(?:error code|status(?:[ _]code)?|http(?: error)?)\W{0,4}([45]\d\d)\b)|^([45]\d\d) [A-Z_]{4,}\b"
)


def status_in(text: str) -> int | None:
    """Return the status that a text is, such as 429."""
    return int(text) if re.fullmatch(r"[45]\d\d", text, re.ASCII) else None


def status_of(kind: str | None, message: str | None) -> int | None:
    """Return the status of an error: what its message tells, else what its type is, or what clients raise it for."""
    told = _TOLD.search(message or "")
    if told is not None:
        return int(told[1] or told[2])
    name = (kind or "").rpartition(".")[2]
    return status_in(name) or _STATUSES.get(name.lower())
