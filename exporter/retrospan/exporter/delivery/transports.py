"""Which transport the settings ask for; its modules are imported only where they are used."""

from __future__ import annotations

from retrospan.exporter.delivery.answers import Transport
from retrospan.exporter.settings import Settings
from retrospan.schemas.errors import MissingExtra


def load_transport(settings: Settings) -> None:
    """Import what the transport needs. Raises MissingExtra."""
    if settings.protocol == "grpc":
        try:
            import retrospan.exporter.delivery.grpc
        except ImportError as error:
            raise MissingExtra("grpc", module="grpc") from error
    else:
        import retrospan.exporter.delivery.http  # noqa: F401


def made_transport(settings: Settings) -> Transport:
    """Return the way to the receiver by the settings' protocol. Called by the thread that sends."""
    if settings.protocol == "grpc":
        from retrospan.exporter.delivery.grpc import GrpcTransport

        return GrpcTransport(settings)
    from retrospan.exporter.delivery.http import HttpTransport

    return HttpTransport(settings)
