"""The chart, as Helm itself makes it: what comes out is of Kubernetes, keeps what may not change, and is careful."""

from __future__ import annotations

import base64
import json
import re
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from chart.conftest import VALUES
from chart.fetched import TOP, VERSIONS
from chart.helm import CHART, Helm, Refused, Release, settings
from chart.kubernetes import faults, settled

from retrospan.ingest.collector import CLOSING_SECONDS, GRACE_SECONDS
from retrospan.ingest.machine.memory import LEAST_BYTES
from retrospan.ingest.settings.config import Config

every_case = pytest.mark.parametrize("case", list(VALUES))
RELEASED = Path(__file__).with_name("released.json")


def test_there_are_enough_cases() -> None:
    assert len(VALUES) >= 5


def test_helm_has_nothing_to_say_against_the_chart(helm: Helm) -> None:
    assert max(helm.lint()) == 1  # a hint: there is no icon


@pytest.mark.parametrize("kubernetes", VERSIONS)
@every_case
def test_every_object_is_of_kubernetes(helm: Helm, case: str, kubernetes: str) -> None:
    release = helm.install(VALUES[case], kubernetes=kubernetes)
    assert {"StatefulSet", "Service", "ConfigMap", "Pod"} <= release.kinds
    assert [fault for one in release.everything for fault in faults(one, kubernetes)] == []
    names = [(one["kind"], one["metadata"]["name"]) for one in release.everything]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", name) for _, name in names)


@pytest.mark.parametrize("name", ["7", "1e3", "0x1f", "9-lives", "a.b", "1.2", "x" * 53, f"{'x' * 39}.y"])
def test_a_release_may_be_called_what_a_service_may_not(helm: Helm, name: str) -> None:
    (release,) = helm.upgrades([{}], release=name)
    assert [fault for one in release.everything for fault in faults(one, "1.37")] == []
    names = [(one["kind"], one["metadata"]["name"]) for one in release.everything]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", each) for _, each in names)
    labels = [one["metadata"]["labels"] for one in release.everything]
    assert {each["app.kubernetes.io/instance"] for each in labels} == {name}


@pytest.mark.parametrize("name", ["123", "0x1f", "true", "null"])
def test_a_name_that_looks_like_another_type_stays_text(helm: Helm, name: str) -> None:
    """Secrets, classes and accounts may be called so, and YAML would take them for numbers, truth values or nothing."""
    given = {
        "collector": {"priorityClassName": name},
        "persistence": {"storageClass": name},
        "serviceAccount": {"name": name},
        "tokens": {"existingSecret": name},
        "tls": {"existingSecret": name},
        "files": {"existingSecret": name},
    }
    server: dict[str, Any] = {
        **VALUES["server-parts"],
        **given,
        "interpreter": {"enabled": True, "priorityClassName": name},
        "retention": {"enabled": True, "timeZone": name},
        "warehouse": {
            "host": "db",
            "existingSecret": name,
            "passwordKey": name,
            "secure": True,
            "caSecret": name,
        },
    }
    for values in (given, server, {"fullnameOverride": name if name.isalpha() else ""}):
        release = helm.install(values)
        assert [fault for one in release.everything for fault in faults(one, "1.37")] == []
    release = helm.install(server)
    for pod in release.pods().values():
        assert pod["serviceAccountName"] == name
        secrets = [volume["secret"]["secretName"] for volume in pod["volumes"] if "secret" in volume]
        assert set(secrets) <= {name}
    collector = release.of("StatefulSet")["spec"]
    assert collector["template"]["spec"]["priorityClassName"] == name
    assert collector["volumeClaimTemplates"][0]["spec"]["storageClassName"] == name


def test_the_schemas_refuse_what_is_not_of_kubernetes(helm: Helm) -> None:
    one = helm.install({}).of("StatefulSet")
    one["spec"]["template"]["spec"]["containers"][0]["livenesProbe"] = {}
    assert any("livenesProbe" in fault for fault in faults(one, "1.37"))


def test_a_cluster_that_is_too_old_is_refused(helm: Helm) -> None:
    with pytest.raises(Refused, match=r"requires kubeVersion: >=1\.30"):
        helm.install({}, kubernetes="1.29")


@every_case
def test_pods_may_do_nothing_they_need_not(helm: Helm, case: str) -> None:
    pods = helm.install(VALUES[case]).pods()
    assert pods
    for name, pod in pods.items():
        assert pod["automountServiceAccountToken"] is False, name
        assert pod["securityContext"]["runAsNonRoot"] is True, name
        assert pod["securityContext"]["runAsUser"] >= 10000, name
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod), name
        assert not any("hostPath" in volume for volume in pod.get("volumes", [])), name
        mounted = {volume["name"] for volume in pod.get("volumes", [])} | {"data"}
        for container in pod["containers"] + pod.get("initContainers", []):
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }, name
            assert container["resources"]["limits"]["memory"], name
            assert {mount["name"] for mount in container["volumeMounts"]} <= mounted, name


@every_case
def test_secrets_are_of_the_group_of_the_pod_and_nobody_may_change_them(helm: Helm, case: str) -> None:
    """Root's and 0440: what the collector demands of a file of tokens, and as little as its user needs."""
    for name, pod in helm.install(VALUES[case]).pods().items():
        assert pod["securityContext"]["fsGroup"] == pod["securityContext"]["runAsGroup"], name
        secrets = {volume["name"]: volume["secret"] for volume in pod["volumes"] if "secret" in volume}
        assert {secret["defaultMode"] for secret in secrets.values()} <= {0o440}, name
        for container in pod["containers"] + pod.get("initContainers", []):
            for mount in container["volumeMounts"]:
                written = mount["name"] in ("data", "tmp")
                assert mount.get("readOnly", False) != written, (name, mount)


@every_case
def test_the_collector_understands_its_settings(helm: Helm, case: str, tmp_path: Path) -> None:
    release = helm.install(VALUES[case])
    for part in ("collector", "interpreter"):
        if part == "interpreter" and "Deployment" not in release.kinds:
            continue
        file = tmp_path / f"{part}.toml"
        tree = settings(release, part)
        file.write_text(release_text(release, part))
        config = Config.read(
            {}, {"RETROSPAN_SERVER_PASSWORD": "secret"} if config_is_server(tree) else {}, file
        )
        assert config.tokens == Path("/etc/retrospan/tokens/tokens.toml")
        assert not config.open
        assert (config.warehouse is not None) == (VALUES[case].get("mode") == "server")
        assert config.tls.certificate == (Path("/etc/retrospan/tls/tls.crt") if "tls" in tree else None)


def release_text(release: Release, part: str) -> str:
    (found,) = (one for one in release.objects if f"{part}.toml" in one.get("data", {}))
    return str(found["data"][f"{part}.toml"])


def config_is_server(tree: dict[str, Any]) -> bool:
    return "warehouse" in tree


def test_the_log_leaves_room_on_the_volume(helm: Helm) -> None:
    for values, mebibytes in (
        ({}, 10 * 1024),
        ({"persistence": {"size": "500Mi", "logPercent": 90}}, 450),
        ({"persistence": {"size": "100G"}}, 47_683),
        (VALUES["server"], 16 * 1024),
    ):
        assert settings(helm.install(values))["limits"]["log_bytes"] == f"{mebibytes} MiB"
    told = helm.install({"config": {"limits": {"log_bytes": "1 GiB"}}})
    assert settings(told)["limits"] == {"log_bytes": "1 GiB"}


def test_parts_of_their_own_know_their_roles(helm: Helm) -> None:
    release = helm.install(VALUES["server-parts"])
    assert settings(release)["role"] == "receive"
    assert settings(release, "interpreter")["role"] == "interpret"
    assert settings(release)["warehouse"] == "clickhouses://db.example:8443"
    assert settings(release)["server"] == {
        "user": "writer",
        "cluster": "main",
        "ca": "/etc/retrospan/warehouse/ca.crt",
    }
    assert settings(helm.install(VALUES["server"]))["role"] == "all"
    assert release.of("PodDisruptionBudget")["spec"]["maxUnavailable"] == 1
    assert "PodDisruptionBudget" not in helm.install({}).kinds


def test_a_server_needs_no_engine_beside_the_collector(helm: Helm) -> None:
    assert helm.install({**VALUES["server"], "collector": {"resources": {"limits": {"memory": "512Mi"}}}}).of(
        "StatefulSet"
    )


def kept(release: Release) -> dict[str, Any]:
    """What may not change, by object."""
    return {
        f"{one['kind']} {one['metadata']['name']}": settled(one)
        for one in release.objects
        if settled(one) is not None
    }


def test_an_upgrade_to_other_values_changes_nothing_that_may_not_change(helm: Helm) -> None:
    """Names and the volume are what a release is made with; all else may be changed."""
    made_with = {"persistence": {"size": "20Gi"}, "fullnameOverride": "traces", "nameOverride": ""}
    cases = {
        name: {**values, **made_with, "tokens": values.get("tokens", {})} for name, values in VALUES.items()
    }
    ring = [*cases, *reversed(cases)]
    for first, second in pairwise(ring):
        before, after = helm.upgrades([cases[first], cases[second]])
        old, new = kept(before), kept(after)
        assert {name: value for name, value in old.items() if name in new and new[name] != value} == {}
        assert "StatefulSet traces" in old


def test_an_upgrade_from_the_last_release_changes_nothing_that_may_not_change(helm: Helm) -> None:
    """released.json has what each case was made with; a release that must break with it says so in docs/deploy.md."""
    recorded = json.loads(RELEASED.read_text(encoding="utf-8"))
    assert set(recorded["settled"]) == set(VALUES)
    for case, before in recorded["settled"].items():
        now = kept(helm.install(VALUES[case]))
        assert {name: now.get(name) for name in before} == before, case


def test_a_volume_of_another_size_is_refused_in_words(helm: Helm) -> None:
    with pytest.raises(Refused, match=r"persistence.size: the volumes were made with 20Gi.*--cascade=orphan"):
        helm.upgrades([{}, {"persistence": {"size": "40Gi"}}])


def test_tokens_are_made_once_and_are_only_in_their_secret(helm: Helm) -> None:
    first, second = helm.upgrades([VALUES["embedded"], {**VALUES["embedded"], "test": {"timeoutSeconds": 5}}])
    secret = first.of("Secret", "-tokens")
    assert secret["data"] == second.of("Secret", "-tokens")["data"]
    assert secret["data"] != helm.install({}).of("Secret", "-tokens")["data"]
    tokens = [base64.b64decode(secret["data"][name]).decode() for name in ("write", "read", "admin")]
    assert len(set(tokens)) == 3
    assert all(len(token) >= 40 for token in tokens)
    for one in first.everything:
        if one["kind"] != "Secret":
            assert not any(token in json.dumps(one) for token in tokens), one["metadata"]["name"]
    assert "Secret" not in helm.install(VALUES["server-parts"]).kinds


def test_the_data_source_is_what_grafana_reads(helm: Helm) -> None:
    release = helm.install(VALUES["embedded"])
    made = release.of("Secret", "-datasource")
    assert made["metadata"]["labels"]["grafana_datasource"] == "1"
    (source,) = yaml.safe_load(base64.b64decode(made["data"]["retrospan.yaml"]))["datasources"]
    assert source["type"] == "grafana-clickhouse-datasource"
    assert source["jsonData"]["host"] == "trace-retrospan.trial.svc"
    assert (source["jsonData"]["port"], source["jsonData"]["protocol"]) == (8123, "http")
    read = base64.b64decode(release.of("Secret", "-tokens")["data"]["read"]).decode()
    assert source["secureJsonData"]["password"] == read


def test_the_dashboards_are_those_of_the_folder(helm: Helm) -> None:
    made = helm.install(VALUES["embedded"]).of("ConfigMap", "-dashboards")
    files = {f"retrospan-{file.name}": file for file in (CHART / "dashboards").glob("*.json")}
    assert set(made["data"]) == set(files)
    for name, text in made["data"].items():
        assert json.loads(text) == json.loads(files[name].read_text(encoding="utf-8"))
    assert len(json.dumps(made)) < 1_000_000, "a ConfigMap holds a megabyte"


def test_memory_is_enough_for_the_engine(helm: Helm) -> None:
    (container,) = helm.install({}).pods()["StatefulSet trace-retrospan"]["containers"]
    assert container["resources"]["limits"]["memory"] == "4Gi"
    assert LEAST_BYTES < 4 << 30


def test_the_kubelet_waits_for_a_stop_in_good_order(helm: Helm) -> None:
    for case, values in VALUES.items():
        pod = helm.install(values).pods()
        (collector,) = (spec for name, spec in pod.items() if name.startswith("StatefulSet"))
        slept = collector["containers"][0]["lifecycle"]["preStop"]["sleep"]["seconds"]
        drained = settings(helm.install(values)).get("drain_seconds", Config().drain_seconds)
        most = slept + GRACE_SECONDS + drained + CLOSING_SECONDS
        assert collector["terminationGracePeriodSeconds"] > most, case
    # What Kubernetes waits where nobody says how long.
    assert GRACE_SECONDS + Config().drain_seconds < 30


@pytest.mark.parametrize("drain", [90, "90", 89.5, 100000])
def test_a_drain_that_the_kubelet_would_cut_is_refused(helm: Helm, drain: object) -> None:
    with pytest.raises(Refused, match=r"config\.drain_seconds: with it a stop may take"):
        helm.install({"config": {"drain_seconds": drain}})


def test_retention_asks_every_collector_in_turn(helm: Helm) -> None:
    (job,) = (
        pod for name, pod in helm.install(VALUES["server-parts"]).pods().items() if name.startswith("CronJob")
    )
    in_turn = [*job["initContainers"], *job["containers"]]
    asked = [entry["value"] for one in in_turn for entry in one["env"] if entry["name"] == "RETROSPAN_URL"]
    assert asked == [f"https://trace-retrospan-{n}.trace-retrospan-headless:8123" for n in range(3)]
    assert len(job["containers"]) == 1
    (job,) = (
        pod for name, pod in helm.install(VALUES["embedded"]).pods().items() if name.startswith("CronJob")
    )
    assert "initContainers" not in job


def test_the_policy_is_a_file_that_collector_and_command_read(helm: Helm, tmp_path: Path) -> None:
    release = helm.install(VALUES["embedded"])
    assert settings(release)["retention"] == {"policy": "/etc/retrospan/config/policy.toml"}
    (text,) = (one["data"]["policy.toml"] for one in release.objects if "policy.toml" in one.get("data", {}))
    assert text == VALUES["embedded"]["retention"]["policy"]
    assert "retention" not in settings(helm.install({}))


def test_a_network_policy_lets_in_who_is_named(helm: Helm) -> None:
    policy = helm.install(VALUES["embedded"]).of("NetworkPolicy")["spec"]
    sending, asking = policy["ingress"]
    assert {"namespaceSelector": {"matchLabels": {"agents": "true"}}} in sending["from"]
    assert {"podSelector": {"matchLabels": {"app": "grafana"}}} in asking["from"]
    assert {"podSelector": {}} not in sending["from"] + asking["from"]
    assert [port["port"] for port in asking["ports"]] == ["sql", "jaeger"]
    unnamed = helm.install(VALUES["server-parts"]).of("NetworkPolicy")["spec"]
    assert all({"podSelector": {}} in rule["from"] for rule in unnamed["ingress"])


def test_jaegers_api_is_answered_where_it_is_asked_for(helm: Helm) -> None:
    release = helm.install(VALUES["server-parts"])
    assert settings(release)["jaeger"] == "0.0.0.0:16686"
    services = {one["metadata"]["name"]: one for one in release.objects if one["kind"] == "Service"}
    ports = {name: {port["port"] for port in one["spec"]["ports"]} for name, one in services.items()}
    assert ports["trace-retrospan"] == {4317, 4318, 8123, 16686}
    assert ports["trace-retrospan-interpreter"] == {8123, 16686}
    without = helm.install({})
    assert "jaeger" not in settings(without)
    assert all(
        port["port"] != 16686
        for one in without.objects
        if one["kind"] == "Service"
        for port in one["spec"]["ports"]
    )


def test_the_notes_say_what_to_do_next(helm: Helm) -> None:
    notes = helm.install({}).notes
    for wanted in (
        "helm test trace",
        "OTEL_EXPORTER_OTLP_ENDPOINT=http://trace-retrospan.trial.svc:4318",
        "data.write",
    ):
        assert wanted in notes
    assert "Nothing is ever deleted" in notes
    by_itself = helm.install({"config": {"retention": {"every_seconds": 3600}}})
    assert "Nothing is ever deleted" not in by_itself.notes
    assert "who-may" in helm.install(VALUES["server-parts"]).notes


def test_the_chart_is_of_the_release() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    project = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert str(chart["appVersion"]) == project["version"]
