"""How APIs say that an answer ended."""

from __future__ import annotations

import re

#: That it ended to ask for tools: `tool_calls`, `tool_use`, `function_call`.
FOR_TOOLS = re.compile("tool|function", re.IGNORECASE)
