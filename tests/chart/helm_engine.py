"""Helm itself, in a process of its own: reads orders as JSON lines, installs and upgrades, answers with what Helm made.

Run as `python helm_engine.py LIBRARY`, with HELM_DRIVER=memory: the library reads it as it is loaded. Helm wants a
cluster to install into; `Cluster` is as much of one as that takes: it knows the kinds, keeps what is sent, and says
which version it is.
"""

from __future__ import annotations

import ctypes
import json
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

_OPTIONS = json.dumps({"wait": False, "timeout_seconds": 30, "disable_openapi_validation": True})
_KINDS = {
    "v1": ("ConfigMap", "Namespace", "PersistentVolumeClaim", "Pod", "Secret", "Service", "ServiceAccount"),
    "apps/v1": ("Deployment", "StatefulSet"),
    "batch/v1": ("CronJob", "Job"),
    "networking.k8s.io/v1": ("Ingress", "NetworkPolicy"),
    "policy/v1": ("PodDisruptionBudget",),
    "monitoring.coreos.com/v1": ("PodMonitor", "PrometheusRule", "ServiceMonitor"),
}
_PLURALS = {"NetworkPolicy": "networkpolicies", "Ingress": "ingresses"}


class Cluster(ThreadingHTTPServer):
    """An API server that keeps what it is given. `kubernetes` is its version, such as 1.31."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.kubernetes = "1.30"
        self.kept: dict[str, Any] = {}
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def discovery(self, path: str) -> object | None:
        """What the cluster says about itself at this path; None where it says nothing."""
        major, minor = self.kubernetes.split(".")
        groups = [name for name in _KINDS if "/" in name]
        if path == "/version":
            return {"major": major, "minor": minor, "gitVersion": f"v{self.kubernetes}.0"}
        if path == "/api":
            return {"kind": "APIVersions", "versions": ["v1"]}
        if path == "/apis":
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(name) for name in groups]}
        for version, kinds in _KINDS.items():
            if path == ("/api/" if version == "v1" else "/apis/") + version:
                resources = [_resource(kind) for kind in kinds]
                return {"kind": "APIResourceList", "groupVersion": version, "resources": resources}
        return None


def _group(version: str) -> dict[str, Any]:
    name, _, short = version.partition("/")
    offered = {"groupVersion": version, "version": short}
    return {"name": name, "versions": [offered], "preferredVersion": offered}


def _resource(kind: str) -> dict[str, Any]:
    verbs = ["create", "delete", "get", "list", "patch", "update", "watch"]
    name = _PLURALS.get(kind, kind.lower() + "s")
    return {"name": name, "namespaced": kind != "Namespace", "kind": kind, "verbs": verbs}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each answer waits 40 ms for its acknowledgement

    @property
    def _cluster(self) -> Cluster:
        assert isinstance(self.server, Cluster)
        return self.server

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is logged."""

    def do_GET(self) -> None:
        path = self.path.partition("?")[0].rstrip("/")
        found = self._cluster.discovery(path)
        self._say(200, found) if found is not None else self._kept(path)

    def do_POST(self) -> None:
        sent = self._sent()
        path = f"{self.path.partition('?')[0]}/{sent['metadata']['name']}"
        self._cluster.kept[path] = sent
        self._say(201, sent)

    def do_PUT(self) -> None:
        path = self.path.partition("?")[0]
        self._cluster.kept[path] = self._sent()
        self._kept(path)

    def do_PATCH(self) -> None:
        self._sent()
        self._kept(self.path.partition("?")[0])

    def do_DELETE(self) -> None:
        path = self.path.partition("?")[0]
        self._cluster.kept.pop(path, None)
        self._say(200, {"kind": "Status", "apiVersion": "v1", "status": "Success"})

    def _sent(self) -> Any:
        return json.loads(self.rfile.read(int(self.headers.get("Content-Length", "0"))) or b"{}")

    def _kept(self, path: str) -> None:
        if path in self._cluster.kept:
            self._say(200, self._cluster.kept[path])
        else:
            name = path.rpartition("/")[2]
            status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404}
            self._say(404, {**status, "reason": "NotFound", "message": f"{name} not found"})

    def _say(self, status: int, said: object) -> None:
        body = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Helm:
    """The library, over one cluster."""

    def __init__(self, library: str, cluster: Cluster, directory: Path) -> None:
        self._library = ctypes.CDLL(library)
        self._library.helm_sdkpy_last_error.restype = ctypes.c_char_p
        self._cluster = cluster
        self._kubeconfig = directory / "kubeconfig"
        place = {"server": f"http://127.0.0.1:{cluster.server_address[1]}"}
        named: dict[str, Any] = {"apiVersion": "v1", "kind": "Config", "current-context": "test"}
        named["clusters"] = [{"name": "test", "cluster": place}]
        named["users"] = [{"name": "test", "user": {}}]
        named["contexts"] = [{"name": "test", "context": {"cluster": "test", "user": "test"}}]
        self._kubeconfig.write_text(json.dumps(named))

    def lint(self, chart: str) -> object:
        """What Helm finds wrong with a chart as it is."""
        return self._call("lint", self._connected(), chart)

    def render(self, chart: str, order: dict[str, Any]) -> list[object]:
        """Install with the first values, upgrade with each of the others: the release after each."""
        self._cluster.kubernetes = order["kubernetes"]
        self._cluster.kept.clear()
        handle = self._connected()
        made: list[object] = []
        for number, values in enumerate(order["values"]):
            given = json.dumps(values) if values else ""
            action = "upgrade" if number else "install"
            made.append(self._call(action, handle, order["release"], chart, given, "", _OPTIONS))
        return made

    def _connected(self) -> ctypes.c_ulonglong:
        """A Helm that has nothing installed yet."""
        handle = ctypes.c_ulonglong()
        file = str(self._kubeconfig).encode()
        if self._library.helm_sdkpy_config_create(b"trial", file, None, b"{}", ctypes.byref(handle)):
            raise RuntimeError(self._complaint())
        return handle

    def _call(self, action: str, handle: ctypes.c_ulonglong, *words: str) -> Any:
        result = ctypes.c_char_p()
        given = [word.encode() for word in words]
        if getattr(self._library, f"helm_sdkpy_{action}")(handle, *given, ctypes.byref(result)):
            raise RuntimeError(self._complaint())
        return json.loads(result.value or b"null")

    def _complaint(self) -> str:
        return (self._library.helm_sdkpy_last_error() or b"no reason given").decode(errors="replace")


def main(library: str) -> None:
    """Answer each order, one JSON line each: {"made": …} or {"refused": …}."""
    with tempfile.TemporaryDirectory() as directory:
        helm = Helm(library, Cluster(), Path(directory))
        for line in sys.stdin:
            order = json.loads(line)
            try:
                chart = order["chart"]
                made = helm.lint(chart) if order["do"] == "lint" else helm.render(chart, order)
                answer: dict[str, object] = {"made": made}
            except RuntimeError as error:
                answer = {"refused": str(error)}
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
