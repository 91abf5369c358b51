"""What the chart's pods run, run for real: the collector with its settings, its probes, `helm test`, the CronJob."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from chart.conftest import VALUES
from chart.helm import Helm, Release
from fix_collector import Served

PROBES = ("startupProbe", "livenessProbe", "readinessProbe")


@dataclass
class Installed:
    """A release whose collector runs on this machine, as the pod's container would."""

    release: Release
    served: Served

    def environ(self, container: dict[str, Any], **changed: str) -> dict[str, str]:
        """A container's variables, with the Service's name made the address of the collector."""
        found = {name: value for name, value in os.environ.items() if not name.startswith("RETROSPAN_")}
        for entry in container["env"]:
            value = entry.get("value", "")
            if "valueFrom" in entry:
                wanted = entry["valueFrom"]["secretKeyRef"]
                secret = self.release.of("Secret", wanted["name"])
                value = base64.b64decode(secret["data"][wanted["key"]]).decode()
            value = re.sub(r"//trace-retrospan[^:]*:8123", f"//{self.served.sql}", value)
            found[entry["name"]] = value.replace("trace-retrospan:4318", self.served.http)
        return {**found, **changed}

    def run(self, container: dict[str, Any], **changed: str) -> subprocess.CompletedProcess[str]:
        """Run the command of a container; the image's own is `retrospan`."""
        image = {"python": [sys.executable], "": [sys.executable, "-m", "retrospan.ingest.cli.main"]}
        command = container.get("command", [""])
        words = [*image[command[0]], *command[1:], *container["args"]]
        environ = self.environ(container, **changed)
        return subprocess.run(words, capture_output=True, text=True, check=False, timeout=120, env=environ)

    def get(self, path: str, token: str = "", *, port: int = 8123) -> tuple[int, bytes]:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        address = {4318: self.served.http, 8123: self.served.sql, 16686: self.served.jaeger}[port]
        request = urllib.request.Request(f"http://{address}{path}", headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=30) as reply:
                return reply.status, reply.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()

    def token(self, right: str) -> str:
        return base64.b64decode(self.release.of("Secret", "-tokens")["data"][right]).decode()


@pytest.fixture(scope="module")
def installed(helm: Helm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    """The collector with the files that its pod would have; directory and addresses are this machine's."""
    release = helm.install(VALUES["embedded"])
    directory = tmp_path_factory.mktemp("installed")
    settings, tokens = directory / "collector.toml", directory / "tokens.toml"
    (text,) = (
        one["data"]["collector.toml"] for one in release.objects if "collector.toml" in one.get("data", {})
    )
    (policy,) = (
        one["data"]["policy.toml"] for one in release.objects if "policy.toml" in one.get("data", {})
    )
    (directory / "policy.toml").write_text(policy)
    settings.write_text(text.replace("/etc/retrospan/config", str(directory)))
    tokens.write_bytes(base64.b64decode(release.of("Secret", "-tokens")["data"]["tokens.toml"]))
    flags = ("--config", str(settings), "--tokens", str(tokens), "--jaeger", "127.0.0.1:0")
    served = Served(directory / "data", directory / "stderr.txt", *flags)
    yield Installed(release, served)
    served.kill()


def container_of(release: Release, kind: str) -> dict[str, Any]:
    (pod,) = (spec for name, spec in release.pods().items() if name.startswith(kind))
    (container,) = pod["containers"]
    return dict(container)


@pytest.mark.long
def test_probes_are_answered_without_a_token(installed: Installed) -> None:
    container = container_of(installed.release, "StatefulSet")
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    for probe in PROBES:
        asked = container[probe]["httpGet"]
        # The port of the process that receives: what happens to the one that answers must not get it killed.
        assert ports[asked["port"]] == 4318
        assert installed.get(asked["path"], port=4318)[0] == 200, asked["path"]
    assert installed.get("/health/elsewhere", port=4318)[0] == 404


def test_an_interpreter_is_asked_at_the_one_port_it_has(helm: Helm) -> None:
    container = container_of(helm.install(VALUES["server-parts"]), "Deployment")
    assert {port["name"] for port in container["ports"]} == {"sql", "jaeger"}
    assert {container[probe]["httpGet"]["port"] for probe in PROBES} == {"sql"}


def test_the_service_leads_to_ports_that_are_listened_at(installed: Installed) -> None:
    release = installed.release
    container = container_of(release, "StatefulSet")
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    (text,) = (
        one["data"]["collector.toml"] for one in release.objects if "collector.toml" in one.get("data", {})
    )
    told = tomllib.loads(text)
    listened = {int(told[name].rpartition(":")[2]) for name in ("grpc", "http", "sql", "jaeger")}
    assert set(ports.values()) == listened
    for service in (one for one in release.objects if one["kind"] == "Service"):
        assert {port["port"] for port in service["spec"]["ports"]} == listened
        assert all(ports[port["targetPort"]] == port["port"] for port in service["spec"]["ports"])
        labels = release.of("StatefulSet")["spec"]["template"]["metadata"]["labels"]
        assert service["spec"]["selector"].items() <= labels.items()


def test_jaegers_api_is_answered_to_the_token_of_readers(installed: Installed) -> None:
    assert installed.get("/api/v3/services", port=16686)[0] == 401
    assert installed.get("/api/v3/services", installed.token("read"), port=16686)[0] == 200


def test_monitoring_gets_numbers_with_its_token(installed: Installed) -> None:
    (endpoint,) = installed.release.of("ServiceMonitor")["spec"]["endpoints"]
    right = endpoint["authorization"]["credentials"]["key"]
    assert installed.get(endpoint["path"])[0] == 401
    status, body = installed.get(endpoint["path"], installed.token(right))
    assert status == 200
    assert b"retrospan_healthy" in body


def test_the_cron_job_deletes_what_is_due(installed: Installed) -> None:
    container = container_of(installed.release, "CronJob")
    done = installed.run(container)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["done"] is True
    reader = installed.run(container, RETROSPAN_TOKEN=installed.token("read"))
    assert reader.returncode == 2


def test_helm_test_finds_the_span_it_sent(installed: Installed) -> None:
    done = installed.run(container_of(installed.release, "Pod"))
    assert done.returncode == 0, done.stderr
    assert "was sent, kept, and read" in done.stdout
    found = installed.get(
        "/?query=SELECT+count()+FROM+spans+WHERE+service_name+%3D+'retrospan-helm-test'",
        installed.token("read"),
    )
    assert found == (200, b"1\n")
    assert installed.get("/?query=SELECT+count()+FROM+runs", installed.token("read")) == (200, b"0\n")


def test_helm_test_fails_with_the_reason(installed: Installed) -> None:
    container = container_of(installed.release, "Pod")
    away = installed.run(container, SENDER_URL="http://127.0.0.1:9", WAIT_SECONDS="2")
    assert away.returncode == 1
    assert "could not send the span: " in away.stderr
    stranger = installed.run(container, RETROSPAN_TOKEN="wrong", WAIT_SECONDS="2")
    assert stranger.returncode == 1
    assert "could not read the span: 401 " in stranger.stderr
