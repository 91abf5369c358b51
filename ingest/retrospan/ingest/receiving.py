"""The servers of the receiving process: OTLP over gRPC and HTTP, the probes, and the SQL port while no one else answers
it.

The collector imports this module once it has started the process of the warehouse.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import ExitStack

from retrospan.ingest.access.certificate_end import certificate_end
from retrospan.ingest.access.gate import Gate
from retrospan.ingest.access.tls import server_context
from retrospan.ingest.answer.stand_in import StandIn
from retrospan.ingest.http.site import Site
from retrospan.ingest.log.write_ahead_log import WriteAheadLog
from retrospan.ingest.receive.grpc import GrpcReceiver
from retrospan.ingest.receive.http import HttpReceiver
from retrospan.ingest.receive.intake import Intake
from retrospan.ingest.redact.redactor import Redactor
from retrospan.ingest.settings.config import Config
from retrospan.ingest.settings.setting_values import Address
from retrospan.ingest.status.collector_status import CollectorStatus, ReceivingParts
from retrospan.ingest.status.probes import Probes
from retrospan.ingest.supervisor import Supervisor


class Receiving:
    """The parts that face the outside."""

    def __init__(
        self,
        config: Config,
        log: WriteAheadLog,
        gate: Gate,
        supervisor: Supervisor,
        listener: socket.socket,
        redactor: Redactor | None,
        loaded: int,
        log_event: Callable[[str], None],
    ) -> None:
        """Make them; `listener` is the socket of the SQL port, `loaded` the record up to which all is in the tables."""
        self._config = config
        self._gate = gate
        self._log_event = log_event
        self._intake = Intake(log, config.limits, redactor)
        certificate = config.tls.certificate
        parts = ReceivingParts(
            log,
            self._intake,
            gate,
            supervisor,
            certificate_end(certificate.read_text("latin-1")) if certificate is not None else None,
        )
        self.observed = CollectorStatus(config, parts, loaded)
        self._probes = Probes(self.observed, gate)
        site = Site(
            config.sql,
            server_context(config.tls),
            host_names=config.host_names,
            origins=config.origins,
        )
        self.stand_in = StandIn(
            site, listener, self._probes, lambda: supervisor.failure, guarded=gate.guarded
        )

    def start(self, stack: ExitStack, grace: float) -> tuple[Address, Address]:
        """Begin to receive; returns the addresses of gRPC and of HTTP. The stack ends it, and gives what is in flight
        `grace` seconds.

        Raises:
            PortInUse: another process listens on one of them.
        """
        grpc = GrpcReceiver(self._intake, self._config.grpc, gate=self._gate, tls=self._config.tls)
        grpc_port = grpc.start()
        stack.callback(grpc.stop, grace)
        http = HttpReceiver(
            self._intake,
            Site(
                self._config.http,
                self._config.tls,
                host_names=self._config.host_names,
                origins=self._config.origins,
            ),
            gate=self._gate,
            pages=self._probes.page,
            log_event=self._log_event,
        )
        http_port = http.start()
        stack.callback(http.stop, grace)
        # Neither accepts while the other one waits for what is in flight.
        stack.callback(grpc.refuse, grace)
        stack.callback(http.refuse, grace)
        return (
            Address(self._config.grpc.host, grpc_port),
            Address(self._config.http.host, http_port),
        )
