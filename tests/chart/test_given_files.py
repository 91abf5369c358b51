"""What who installs the chart brings along: settings of all processes, files that they name, the user of the pods."""

from __future__ import annotations

from chart.conftest import VALUES
from chart.helm import Helm, settings
from chart.kubernetes import faults


def test_files_that_settings_name_are_in_the_pods(helm: Helm) -> None:
    """Without a place for them, nobody who installs the chart has alerts, rules of mutations or prices of their own."""
    rules = "/etc/retrospan/files/alerts.toml"
    files = {"content": {"alerts.toml": '[[rule]]\nname = "a: b"\n'}, "existingSecret": "alert-keys"}
    values = {**VALUES["server-parts"], "files": files, "config": {"alerts": {"rules": rules}}}
    release = helm.install(values)
    assert release.of("ConfigMap", "-files")["data"] == files["content"]
    assert settings(release)["alerts"] == {"rules": rules}
    assert [fault for one in release.everything for fault in faults(one, "1.37")] == []
    for name, pod in release.pods().items():
        if name.startswith(("StatefulSet", "Deployment")):
            volumes = {volume["name"]: volume for volume in pod["volumes"]}
            mounts = {mount["mountPath"]: mount for mount in pod["containers"][0]["volumeMounts"]}
            assert volumes["files"] == {"name": "files", "configMap": {"name": "trace-retrospan-files"}}
            assert volumes["secrets"]["secret"] == {"secretName": "alert-keys", "defaultMode": 0o440}
            assert mounts["/etc/retrospan/files"]["readOnly"], name
            assert mounts["/etc/retrospan/secrets"]["readOnly"], name
    changed = helm.install({**values, "files": {**files, "content": {"alerts.toml": ""}}})
    before, after = (one.of("StatefulSet")["spec"]["template"]["metadata"] for one in (release, changed))
    assert before["annotations"] != after["annotations"], "a change restarts the pods"


def test_a_platform_that_names_the_user_of_pods_may(helm: Helm) -> None:
    """OpenShift refuses a pod that names a user or a group of volumes outside of its project's range."""
    for case in ("embedded", "server-parts"):
        for name, pod in helm.install({**VALUES[case], "user": 0}).pods().items():
            named = set(pod["securityContext"])
            assert named == {"runAsNonRoot", "fsGroupChangePolicy", "seccompProfile"}, name
        for name, pod in helm.install({**VALUES[case], "user": 2000}).pods().items():
            user = [pod["securityContext"][key] for key in ("runAsUser", "runAsGroup", "fsGroup")]
            assert user == [2000, 2000, 2000], name


def test_a_policy_that_is_a_file_of_the_pod_is_passed_on(helm: Helm) -> None:
    release = helm.install({"config": {"retention": {"policy": "/mnt/keep.toml"}}})
    assert settings(release)["retention"] == {"policy": "/mnt/keep.toml"}


def test_interpreters_are_told_all_that_is_configured(helm: Helm) -> None:
    """They answer queries, price calls and evaluate the rules of alerts, and collectors beside them do not."""
    config = {
        "alerts": {"rules": "/mnt/alerts.toml"},
        "prices": {"table": "/mnt/prices.toml"},
        "limits": {"queries": 2},
    }
    release = helm.install({**VALUES["server-parts"], "config": config})
    told = settings(release, "interpreter")
    assert {name: told[name] for name in config} == config
