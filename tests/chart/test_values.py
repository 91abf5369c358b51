"""Values that the chart refuses, in words that name their place, and the least that it takes."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from chart.helm import CHART, Helm, Refused

from retrospan.ingest.machine.memory import LEAST_BYTES

DEFAULTS: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"mode": "embeded"}, "/mode': value must be one of 'embedded', 'server'"),
        ({"collector": {"replicas": 2}}, "/collector/replicas': value must be 1"),
        ({"collector": {"replicas": "two"}}, "/collector/replicas': got string, want integer"),
        ({"collector": {"replica": 1}}, "/collector': additional properties 'replica' not allowed"),
        ({"collectors": {}}, "additional properties 'collectors' not allowed"),
        ({"mode": "server"}, "/warehouse/host': '' does not match"),
        ({"warehouse": {"host": "db"}}, "/warehouse/host': value must be ''"),
        ({"interpreter": {"enabled": True}}, "/interpreter/enabled': value must be false"),
        ({"persistence": {"size": 20}}, "/persistence/size': got number, want string"),
        ({"persistence": {"size": "20 GiB"}}, "/persistence/size': '20 GiB' does not match"),
        ({"config": {"tokens": "mine.toml"}}, "invalid propertyName 'tokens'"),
        ({"config": {"limits": {"queries": [1]}}}, "/config/limits"),
        ({"tokens": {"existingSecret": "Not A Name"}}, "/tokens/existingSecret'"),
        ({"retention": {"schedule": "daily"}}, "/retention/schedule'"),
        ({"nameOverride": "a: b"}, "/nameOverride'"),
        ({"fullnameOverride": "Traces"}, "/fullnameOverride'"),
        ({"listen": "0.0.0.0\nx"}, "/listen'"),
        ({"image": {"repository": "a\nb"}}, "/image/repository'"),
        ({"config": {"limits": {"a.b = 1": 1}}}, "/config/limits'"),
        ({"mode": "server", "warehouse": {"host": "::1"}}, "/warehouse/host'"),
        ({"collector": {"env": [{"name": "RETROSPAN_OPEN", "value": "true"}]}}, "/collector/env/0/name"),
        (
            {"tokens": {"existingSecret": "mine"}, "grafana": {"datasource": {"enabled": True}}},
            "the chart does not know the tokens in tokens.existingSecret",
        ),
        (
            {"retention": {"policy": "[keep]\n"}, "config": {"retention": {"policy": "/mnt/keep.toml"}}},
            "retention.policy: config.retention.policy names another policy, /mnt/keep.toml",
        ),
        (
            {"config": {"alerts": {"rules": "/etc/retrospan/files/alert.toml"}}},
            "config.alerts.rules: files.content has no alert.toml",
        ),
        ({"files": {"content": {"../x": ""}}}, "invalid propertyName '../x'"),
        *(
            (
                {"collector": {"resources": {"limits": {"memory": memory}}}},
                "collector.resources.limits.memory: ",
            )
            for memory in ("1535Mi", "1.4Gi", "1600M", "1536000Ki", "1610612735", 1610612735)
        ),
    ],
)
def test_a_bad_value_is_refused_with_its_place(helm: Helm, values: dict[str, Any], said: str) -> None:
    with pytest.raises(Refused) as refused:
        helm.install(values)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    "section",
    [name for name, value in DEFAULTS.items() if isinstance(value, dict)]
    + ["grafana.dashboards", "grafana.datasource"],
)
def test_a_section_of_which_nothing_is_left_is_refused_by_its_name(helm: Helm, section: str) -> None:
    """A line such as `config:` whose entries are comments takes the defaults of the section away."""
    *above, last = section.split(".")
    with pytest.raises(Refused, match=rf"missing property '{last}'"):
        helm.install({above[0]: {last: None}} if above else {last: None})


@pytest.mark.parametrize("memory", ["1536Mi", "1.5Gi", "2G", "1610612736", 1610612736, "1Ti"])
def test_the_least_memory_and_more_are_accepted(helm: Helm, memory: object) -> None:
    limits = {"collector": {"resources": {"limits": {"memory": memory}}}}
    assert {"StatefulSet"} <= helm.install(limits).kinds
    assert LEAST_BYTES == 1536 << 20, "the chart refuses less"
