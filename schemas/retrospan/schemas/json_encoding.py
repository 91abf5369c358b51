"""JSON text of values, by an encoder that is made once: `json.dumps` makes one for each value, which costs as much
again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from json import encoder as _json

#: Writes a text as JSON, every character as itself.
quoted: Callable[[str], str] = _json.encode_basestring


def json_encoder(*, sort_keys: bool) -> Callable[[object], str]:
    """Return what turns a value into JSON without white space, every character as itself.

    It raises ValueError for NaN and the infinities, TypeError for what JSON cannot hold, RecursionError for what is
    nested too deeply.
    """
    plain = json.JSONEncoder(
        sort_keys=sort_keys,
        separators=(",", ":"),
        ensure_ascii=False,
        allow_nan=False,
        check_circular=False,
    )
    make = getattr(_json, "c_make_encoder", None)
    if make is None:  # an interpreter without the part in C
        return plain.encode
    encode = make(None, plain.default, _json.encode_basestring, None, ":", ",", sort_keys, False, False)
    return lambda value: "".join(encode(value, 0))
