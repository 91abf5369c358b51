"""Model calls and tool calls: what they are, their ids, and what repeats of them."""
