"""The types of what a bundle holds as JSON. Apart from `form`, for who looks only at a bundle's head to load no more."""

from __future__ import annotations

from collections.abc import Mapping

#: A JSON value: None, bool, int, float, str, list or dict.
Json = object
#: A message in the parts format of the GenAI conventions: {"role": …, "parts": [{"type": …}, …]}.
Message = Mapping[str, Json]
