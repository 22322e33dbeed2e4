"""The manifests: what they promise of probes, rights and ends, and their published schemas (slow)."""

from __future__ import annotations

import importlib
import importlib.util
import math
from typing import Any

import pytest
import yaml

from driftway.worker.stream.background.call import GRACE_SECONDS
from driftway.worker.stream.observability.health import STUCK_SECONDS
from driftway.worker.stream.worker import LONGEST_COMMIT_SECONDS, REVOKE_SECONDS
from tests.support.process import ROOT
from tests.unit.deployment.commands import container

FOLDER = ROOT / "deploy" / "kubernetes"
VERSIONS = "1.27", "1.31", "1.34", "1.37"
"""Of Kubernetes: the oldest that the chart allows, and some after it."""


def manifests() -> dict[str, Any]:
    """Return kind -> manifest."""
    files = [path for path in FOLDER.rglob("*.yaml") if path.name != "kustomization.yaml"]
    found = [yaml.safe_load(path.read_text()) for path in files]
    return {one["kind"]: one for one in found}


def schemas() -> Any:
    """Return the package of Kubernetes' schemas; skip the test where there is none. One that is broken is no reason."""
    if importlib.util.find_spec("kubernetes_validate") is None:
        pytest.skip("make test-deployment brings the schemas")
    return importlib.import_module("kubernetes_validate")


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_manifests_fit_the_published_schemas(version: str) -> None:
    checker = schemas()
    found = {
        kind: one for kind, one in manifests().items() if "." not in one["apiVersion"] or "k8s.io" in one["apiVersion"]
    }
    assert set(found) == {"NetworkPolicy", "PodDisruptionBudget", "Service", "ServiceAccount", "StatefulSet"}
    for one in found.values():
        checker.validate(one, version, strict=True)
    found["StatefulSet"]["spec"]["template"]["spec"]["containers"][0]["livenessprobe"] = {}
    with pytest.raises(checker.ValidationError):
        checker.validate(found["StatefulSet"], version, strict=True)


def test_kustomize_lists_every_file() -> None:
    for folder in (FOLDER, FOLDER / "monitoring"):
        listed = set(yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"])
        assert listed == {path.name for path in folder.glob("*.yaml")} - {"kustomization.yaml"}


def test_selectors_match_the_pods() -> None:
    found = manifests()
    labels = found["StatefulSet"]["spec"]["template"]["metadata"]["labels"].items()
    assert found["StatefulSet"]["spec"]["selector"]["matchLabels"].items() <= labels
    assert found["Service"]["spec"]["selector"].items() <= labels
    assert found["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"].items() <= labels
    assert found["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"].items() <= labels
    assert (
        found["ServiceMonitor"]["spec"]["selector"]["matchLabels"].items()
        <= found["Service"]["metadata"]["labels"].items()
    )
    assert found["StatefulSet"]["spec"]["serviceName"] == found["Service"]["metadata"]["name"]


def test_the_job_has_the_name_that_alerts_expect() -> None:
    found = manifests()
    label = found["ServiceMonitor"]["spec"]["jobLabel"]
    assert found["Service"]["metadata"]["labels"][label] == "driftway"


def test_alert_rules_are_those_of_deploy_prometheus() -> None:
    rules = yaml.safe_load((ROOT / "deploy/prometheus/alerts.yml").read_text())
    assert manifests()["PrometheusRule"]["spec"] == rules


def test_probes_request_what_the_worker_serves() -> None:
    from driftway.worker.stream.endpoint import server

    probes = {kind: container()[f"{kind}Probe"] for kind in ("startup", "liveness", "readiness")}
    paths = {kind: probe["httpGet"]["path"] for kind, probe in probes.items()}
    assert paths == {"startup": "/healthz", "liveness": "/healthz", "readiness": "/readyz"}
    assert all(f'"{path}"' in (ROOT / "worker/stream/endpoint/server.py").read_text() for path in paths.values()), (
        server
    )
    assert {probe["httpGet"]["port"] for probe in probes.values()} == {"http"}
    (port,) = container()["ports"]
    assert f"--http-port={port['containerPort']}" in container()["args"]
    # The worker logs the stacks before it is killed.
    liveness = probes["liveness"]
    assert liveness["periodSeconds"] * liveness["failureThreshold"] > STUCK_SECONDS


def test_the_grace_period_is_long_enough_for_a_stop() -> None:
    longest = LONGEST_COMMIT_SECONDS + REVOKE_SECONDS + 2 * GRACE_SECONDS
    seconds = math.ceil(longest / 5) * 5
    assert manifests()["StatefulSet"]["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] >= seconds
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]["worker"]["stop_grace_period"]
    assert int(compose.removesuffix("s")) >= seconds
    unit = (ROOT / "deploy/systemd/driftway@.service").read_text()
    assert int(unit.partition("TimeoutStopSec=")[2].partition("\n")[0]) >= seconds


def test_pods_have_no_rights() -> None:
    spec = manifests()["StatefulSet"]["spec"]["template"]["spec"]
    assert spec["automountServiceAccountToken"] is False
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert (
        f"USER {spec['securityContext']['runAsUser']}:{spec['securityContext']['runAsGroup']}"
        in (ROOT / "Dockerfile").read_text()
    )
    own = container()["securityContext"]
    assert own == {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}


def test_members_are_named_after_their_pods() -> None:
    assert "group.instance.id=$(POD_NAME)" in container()["args"]
    (name,) = [one for one in container()["env"] if one["name"] == "POD_NAME"]
    assert name["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.name"
