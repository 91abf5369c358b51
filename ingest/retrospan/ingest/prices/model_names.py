"""The names by which a model and its provider are looked up in a price table."""

from __future__ import annotations

import re
from functools import lru_cache

#: What instrumentation calls a provider → what tables call it.
_PROVIDERS = {
    "gcp": "google",
    "gcp.gemini": "google",
    "gcp.gen_ai": "google",
    "gcp.vertex_ai": "google",
    "gcp.vertex.agent": "google",
    "gemini": "google",
    "google_genai": "google",
    "google_vertexai": "google",
    "google-gla": "google",
    "google-vertex": "google",
    "vertex_ai": "google",
    "vertexai": "google",
    "aws.bedrock": "aws",
    "aws_bedrock": "aws",
    "bedrock": "aws",
    "amazon_bedrock": "aws",
    "az.ai.inference": "azure",
    "az.ai.openai": "azure",
    "azure.ai.inference": "azure",
    "azure.ai.openai": "azure",
    "azure_openai": "azure",
    "azure-openai": "azure",
    "mistral_ai": "mistral",
    "mistralai": "mistral",
    "x_ai": "x-ai",
    "xai": "x-ai",
    "openai.responses": "openai",
    "openai.chat": "openai",
    "anthropic.messages": "anthropic",
}

#: What names the day or the version of a model and not another model. `-0613` is not: such models had prices of their
#: own.
_DATE = re.compile(r"(?:[-@]\d{4}-\d{2}-\d{2}|[-@]\d{8}|[-@:]latest)(?:-v\d+)?(?::\d+)?$")
#: `openai:gpt-5`; `ft:gpt-4o:acme` is a model of one's own, with prices of its own.
_NAMED_BEFORE_COLON = re.compile(
    r"^(?:openai|anthropic|google|groq|mistral|bedrock|azure|cohere|deepseek)(?:[-_][a-z]+)*:"
)

_KEPT = 1_024


@lru_cache(_KEPT)
def plain_provider(provider: str) -> str:
    """Return what price tables call a provider."""
    name = provider.strip().lower()
    return _PROVIDERS.get(name, name)


@lru_cache(_KEPT)
def names_of(model: str) -> tuple[str, ...]:
    """Return the names that a model may have in a table, the most particular first, in lower case.

    The name itself, then without what stands before the last `/` (or `openai:`), then both without the date at the end.
    """
    name = model.strip().lower()
    found = [name]
    bare = _NAMED_BEFORE_COLON.sub("", name.rpartition("/")[2])
    found.append(bare)
    found += [_DATE.sub("", each) for each in (name, bare)]
    return tuple(dict.fromkeys(each for each in found if each))
