"""`python -m tests.regenerate.manifests`: write deploy/kubernetes from the chart in deploy/helm; needs `helm`."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "deploy" / "helm" / "driftway"
MANIFESTS = ROOT / "deploy" / "kubernetes"
MONITORING = {"servicemonitor.yaml", "prometheusrule.yaml"}
"""Those that need the Prometheus operator stand in a folder of their own."""
RELEASE = "driftway"
KUBERNETES = "1.31.0"
"""What helm takes the cluster for; one built by `go install` takes it for 1.20."""
SOURCE = re.compile(r"^# Source: driftway/templates/(.+)$", re.MULTILINE)


def helm() -> str | None:
    """Return the path of helm, if it is on this machine."""
    return shutil.which("helm") or shutil.which("helm", path=str(Path.home() / "go" / "bin"))


def render(*options: str, release: str = RELEASE) -> dict[str, str]:
    """Return template -> manifest, as `helm template` renders the chart.

    Raises
    ------
    RuntimeError
        helm refuses; it carries what helm said.
    """
    found = helm()
    if found is None:
        raise RuntimeError("helm is not on this machine: go install helm.sh/helm/v3/cmd/helm@v3.19.5")
    command = [found, "template", release, str(CHART), "--namespace", RELEASE, "--kube-version", KUBERNETES, *options]
    ended = subprocess.run(command, check=False, capture_output=True, text=True)
    if ended.returncode:
        raise RuntimeError(ended.stderr)
    parts = [part for part in re.split(r"^---\n", ended.stdout, flags=re.MULTILINE) if part.strip()]
    found_parts: dict[str, str] = {}
    for part in parts:
        name = SOURCE.search(part)
        assert name is not None, part
        found_parts[name[1]] = SOURCE.sub("", part, count=1).strip() + "\n"
    return found_parts


def manifests(
    options: Sequence[str] = ("--set=serviceMonitor.enabled=true,prometheusRule.enabled=true",),
) -> dict[str, str]:
    """Return path below deploy/kubernetes -> content."""
    return {f"monitoring/{name}" if name in MONITORING else name: text for name, text in render(*options).items()}


def main() -> None:
    """Write the files."""
    for name, text in manifests().items():
        place = MANIFESTS / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
        print(place.relative_to(ROOT))


if __name__ == "__main__":
    main()
