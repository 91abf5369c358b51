"""The receivers and the log in a process of their own, without a warehouse: `python -m bench.receivers DIR`.

Prints `ready grpc=… http=…` and serves until its standard input ends.
"""

from __future__ import annotations

import sys
from pathlib import Path

from retrospan.ingest.http.site import Site
from retrospan.ingest.log.write_ahead_log import WriteAheadLog
from retrospan.ingest.receive.grpc import GrpcReceiver
from retrospan.ingest.receive.http import HttpReceiver
from retrospan.ingest.receive.intake import Intake
from retrospan.ingest.settings.setting_values import Address


def main(directory: str) -> None:
    """Serve."""
    log = WriteAheadLog.open(Path(directory))
    intake = Intake(log)
    here = Address("127.0.0.1", 0)
    grpc, http = GrpcReceiver(intake, here), HttpReceiver(intake, Site(here))
    print(f"ready grpc=127.0.0.1:{grpc.start()} http=127.0.0.1:{http.start()}", flush=True)
    sys.stdin.read()
    grpc.stop(1)
    http.stop(1)
    log.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
