"""The chart, rendered by helm itself: the manifests in deploy/kubernetes, and everything that values switch on."""

from __future__ import annotations

import shlex
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.regenerate.manifests import CHART, KUBERNETES, MANIFESTS, helm, manifests, render
from tests.unit.deployment.test_kubernetes import VERSIONS, schemas
from tests.unit.test_readme import parsed

pytestmark = [pytest.mark.slow, pytest.mark.skipif(helm() is None, reason="helm is not on this machine")]
CONFIG = '[event]\nfeature = ["amount", "hour"]\nlabel = "fraud"\n'
VALUES: dict[str, Any] = {
    "kafka": {"bootstrap": "kafka:9096", "clientPropertiesSecret": "2024"},
    "worker": {
        "input": "ORDERS", "group": "fraud: team #2", "config": CONFIG,
        "options": ["--labels=false,true", "--learner=dfop:mu=0.001"],
    },
    "image": {"repository": "registry.example/driftway", "digest": f"sha256:{'0' * 64}"},
    "imagePullSecrets": [{"name": "pull"}],
    "staticMembership": False,
    "networkPolicy": {
        "kafkaPorts": [9096, 8081],
        "kafkaPeers": [{"ipBlock": {"cidr": "192.0.2.0/24"}}],
        "httpPeers": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}],
    },
    "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
    "prometheusRule": {"enabled": True},
    "autoscaling": {"enabled": True, "maxReplicas": 8, "authentication": "2024", "metadata": {"sasl": "scram_sha512"}},
    "podAnnotations": {"team": "risk"},
    "nodeSelector": {"kubernetes.io/arch": "amd64"},
    "tolerations": [{"operator": "Exists"}],
    "affinity": {"podAntiAffinity": {}},
    "extraEnv": [{"name": "TZ", "value": "UTC"}],
    "extraVolumes": [{"name": "models", "emptyDir": {}}],
    "extraVolumeMounts": [{"name": "models", "mountPath": "/models"}],
}  # fmt: skip
"""Everything that can be switched on."""


@pytest.fixture
def everything(tmp_path: Path) -> dict[str, Any]:
    """Kind -> manifest."""
    values = tmp_path / "values.yaml"
    values.write_text(yaml.safe_dump(VALUES))
    found = [yaml.safe_load(text) for text in render(f"--values={values}").values()]
    return {one["kind"]: one for one in found}


def test_the_manifests_are_those_of_the_chart() -> None:
    expected = manifests()
    assert {name: (MANIFESTS / name).read_text() for name in expected} == expected


@pytest.mark.parametrize(
    ("release", "name"),
    [
        ("fraud", "fraud-driftway"),
        ("driftway-fraud", "driftway-fraud"),
        ("fraud.v2", "fraud-v2-driftway"),
        ("2nd", "driftway-2nd"),
        ("2024", "driftway-2024"),
        ("a" * 53, "a" * 52),
    ],
)
def test_every_release_name_gives_a_valid_name(release: str, name: str) -> None:
    """Helm allows dots and a digit at the start, a Service's name has neither; a pod's labels add 11 characters."""
    found = [yaml.safe_load(text) for text in render(release=release).values()]
    assert {one["metadata"]["name"] for one in found} == {name}
    assert {one["metadata"]["labels"]["app.kubernetes.io/instance"] for one in found} == {release}


def test_names_of_digits_stay_strings(everything: dict[str, Any]) -> None:
    (secret,) = [
        one["secret"] for one in everything["StatefulSet"]["spec"]["template"]["spec"]["volumes"] if "secret" in one
    ]
    assert secret["secretName"] == "2024"
    assert everything["ScaledObject"]["spec"]["triggers"][0]["authenticationRef"]["name"] == "2024"
    for found in render("--namespace=2024", "--set=serviceMonitor.enabled=true").values():
        assert yaml.safe_load(found)["metadata"]["namespace"] == "2024"


@pytest.mark.parametrize(
    ("tag", "label"), [("1.2.3", "1.2.3"), ("a" * 70, "a" * 63), ("_main.", "main"), ("a" * 62 + "-b", "a" * 62)]
)
def test_every_tag_of_an_image_gives_a_valid_label(tag: str, label: str) -> None:
    """A tag may be longer than a label, and begin or end with other characters."""
    found = yaml.safe_load(render(f"--set-string=image.tag={tag}")["statefulset.yaml"])
    for labels in (found["metadata"]["labels"], found["spec"]["template"]["metadata"]["labels"]):
        assert labels["app.kubernetes.io/version"] == label
    (worker,) = found["spec"]["template"]["spec"]["containers"]
    assert worker["image"] == f"driftway:{tag}"


def test_the_chart_has_no_faults() -> None:
    ended = subprocess.run(
        [str(helm()), "lint", "--strict", "--kube-version", KUBERNETES, CHART],
        check=False,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stdout


@pytest.mark.parametrize("version", VERSIONS)
def test_all_manifests_fit_the_published_schemas(everything: dict[str, Any], version: str) -> None:
    checker = schemas()
    checked = [one for one in everything.values() if "." not in one["apiVersion"] or "k8s.io" in one["apiVersion"]]
    assert len(checked) == 6
    for one in checked:
        checker.validate(one, version, strict=True)


def test_the_worker_gets_the_options_in_the_values(everything: dict[str, Any]) -> None:
    pod = everything["StatefulSet"]["spec"]["template"]["spec"]
    (worker,) = pod["containers"]
    config, *words = worker["args"]
    name, given = parsed(shlex.join(["driftway", *words]))
    assert name == "worker"
    assert (given["input_"], given["group"], given["labels"]) == ("ORDERS", VALUES["worker"]["group"], "false,true")
    assert given["client_properties"] == "/etc/driftway/secret/client.properties"
    assert not any("group.instance.id" in word for word in words)
    assert tomllib.loads(everything["ConfigMap"]["data"]["driftway.toml"])["event"]["label"] == "fraud"
    mounts = {one["name"]: one["mountPath"] for one in worker["volumeMounts"]}
    assert config == f"--config={mounts['config']}/driftway.toml"
    assert {one["name"] for one in pod["volumes"]} == set(mounts)
    assert worker["image"] == f"registry.example/driftway@sha256:{'0' * 64}"


def test_kedas_scaler_reads_the_workers_group(everything: dict[str, Any]) -> None:
    spec = everything["ScaledObject"]["spec"]
    assert spec["scaleTargetRef"]["name"] == everything["StatefulSet"]["metadata"]["name"]
    assert "replicas" not in everything["StatefulSet"]["spec"]
    metadata = spec["triggers"][0]["metadata"]
    assert (metadata["consumerGroup"], metadata["topic"]) == (VALUES["worker"]["group"], "ORDERS")
    assert all(isinstance(value, str) for value in metadata.values())
    assert metadata["version"] == "2.8.0"


def test_the_version_of_kedas_protocol_can_be_chosen() -> None:
    chosen = ("autoscaling.enabled=true", "staticMembership=false", "autoscaling.metadata.version=3.6.0")
    (found,) = [text for text in render(*(f"--set={one}" for one in chosen)).values() if "kind: ScaledObject" in text]
    assert yaml.safe_load(found)["spec"]["triggers"][0]["metadata"]["version"] == "3.6.0"


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--set=autoscaling.enabled=true", "autoscaling needs staticMembership: false"),
        ("--set=worker.grup=x", "grup"),
        ("--set=terminationGracePeriodSeconds=10", "30"),
        ("--set=image.digest=latest", "digest"),
        ("--set=podAnnotations.scrape=true", "podAnnotations"),
        ("--set=nodeSelector.gpu=true", "nodeSelector"),
        ("--set=networkPolicy.kafkaPorts=null", "kafkaPorts"),
        ("--set=networkPolicy.kafkaPorts={70000}", "kafkaPorts"),
    ],
)
def test_wrong_values_are_refused(option: str, said: str) -> None:
    with pytest.raises(RuntimeError, match=said):
        render(option)
