"""How much of all recordings the general rules read alone: `python -m recordings.general_rules [--misses NAME]`.

Three columns: with every dialect; without any, when no name is known but those that OpenTelemetry publishes; and with
every other name of an attribute replaced by a random one, its value kept.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import random
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial

import opentelemetry.semconv._incubating.attributes as published
from fix_recordings import OTHERS, Recording, load_recording, manifest, taken
from recordings.record.facts import Fact, facts_of
from recordings.record.pure_views import views_of_spans
from spans import Reader, spans_of_requests

from retrospan.ingest.interpret.run import read_spans
from retrospan.ingest.interpret.spans.span import Span
from retrospan.ingest.interpret.spans.vocabulary import OPENTELEMETRY
from retrospan.schemas.attributes import CONVENTIONS

SEED = 14
#: Reads by the general rules.
general: Reader = partial(read_spans, names=OPENTELEMETRY, dialects=())
#: What the installed registry does not list: names under these are OpenTelemetry's or our own.
_PREFIXES = ("gen_ai.", "mcp.", CONVENTIONS)


@cache
def published_names() -> frozenset[str]:
    """Every attribute that OpenTelemetry publishes."""
    modules = pkgutil.iter_modules(published.__path__)
    members = (vars(importlib.import_module(f"{published.__name__}.{module.name}")) for module in modules)
    return frozenset(
        value for each in members for name, value in each.items() if name.isupper() and isinstance(value, str)
    )


def renamed(spans: Sequence[Span], seed: int = SEED) -> list[Span]:
    """Return the spans with random names for all attributes that OpenTelemetry does not publish; values stay."""
    chance = random.Random(seed)
    names: dict[str, str] = {}

    def rename(attributes: Mapping[str, object]) -> dict[str, object]:
        return {
            key
            if key in published_names() or key.startswith(_PREFIXES)
            else names.setdefault(key, f"{chance.getrandbits(48):012x}"): value
            for key, value in attributes.items()
        }

    return [
        replace(
            span,
            attributes=rename(span.attributes),
            events=[replace(event, attributes=rename(event.attributes)) for event in span.events],
            logs=[replace(record, attributes=rename(record.attributes)) for record in span.logs],
            strays=[replace(record, attributes=rename(record.attributes)) for record in span.strays],
        )
        for span in spans
    ]


def every_recording() -> dict[str, Recording]:
    """All recordings that rules were written with, by name."""
    return {name: load_recording(name) for name in manifest()} | taken() | taken(OTHERS)


def shares(recording: Recording) -> list[list[Fact]]:
    """Return the facts of a recording that its bytes hold: read with dialects, without, and with random names."""
    spans = spans_of_requests(recording.traces, recording.logs)
    views = [views_of_spans(spans), views_of_spans(spans, general), views_of_spans(renamed(spans), general)]
    return [[fact for fact in facts_of(recording, each) if fact.is_known] for each in views]


def table(recordings: Mapping[str, Recording]) -> dict[str, list[float]]:
    """Return the share of facts per framework that each of the three ways of reading gives back."""
    counted: dict[str, list[list[bool]]] = {}
    for name, recording in recordings.items():
        columns = counted.setdefault(name.partition("/")[0], [[], [], []])
        for column, facts in zip(columns, shares(recording), strict=True):
            column += [fact.holds for fact in facts]
    return {
        framework: [sum(column) / max(1, len(column)) for column in columns]
        for framework, columns in sorted(counted.items())
    }


def main(arguments: Sequence[str]) -> int:
    """Print the table, or what is missed of the recordings of one name."""
    parser = argparse.ArgumentParser(prog="python -m recordings.general_rules", description=__doc__)
    parser.add_argument("--misses", metavar="NAME", help="of the recordings whose name begins so")
    options = parser.parse_args(arguments)
    recordings = every_recording()
    if options.misses:
        for name, recording in recordings.items():
            if name.startswith(options.misses):
                for way, facts in zip(("with", "without", "random"), shares(recording), strict=True):
                    for fact in facts:
                        if not fact.holds:
                            print(f"{name} {way}: {fact.name}: {fact.seen}")
        return 0
    rows = table(recordings)
    means = [sum(column) / len(column) for column in zip(*rows.values(), strict=True)]
    print("| recorded | with dialects | without | random names |\n|---|---|---|---|")
    for framework, row in [*rows.items(), ("**mean**", means)]:
        print(f"| {framework} | " + " | ".join(f"{share:.1%}" for share in row) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
