"""A receiver and pipelines for every test of the exporter; nothing of one test stays for the next."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from exporter.receiver import Receiver
from opentelemetry.sdk.trace import SpanLimits, TracerProvider

from retrospan.exporter.delivery.cleaning import chosen_rules
from retrospan.exporter.delivery.pipeline import Pipeline
from retrospan.exporter.delivery.transports import made_transport
from retrospan.exporter.processor import PipelineProcessor
from retrospan.exporter.settings import Settings

MakePipeline = Callable[..., tuple[Pipeline, TracerProvider]]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """An OTLP receiver that takes everything until it is told otherwise."""
    made = Receiver()
    yield made
    made.close()


@pytest.fixture
def pipeline(receiver: Receiver) -> Iterator[MakePipeline]:
    """Makes a pipeline to the receiver and a provider that feeds it; settings by name."""
    made: list[Pipeline] = []

    def make(**settings: Any) -> tuple[Pipeline, TracerProvider]:
        settings = {"endpoint": receiver.url, "delay_seconds": 0.02, "exit_seconds": 2.0, **settings}
        read = Settings(**settings)
        built = Pipeline(read, chosen_rules(read.redaction), lambda: made_transport(read))
        unset = SpanLimits.UNSET
        provider = TracerProvider(shutdown_on_exit=False, span_limits=SpanLimits(unset, unset, unset, unset))
        provider.add_span_processor(PipelineProcessor(built))
        made.append(built)
        return built, provider

    yield make
    for each in made:
        each.shutdown(0)
