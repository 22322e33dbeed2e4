"""The compose files: valid by their published schema, and all that they name is there."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tests.support.process import ROOT
from tests.unit.deployment.commands import COMPOSE, IMAGE, compose, container


def complaints(schema: str, content: dict[str, Any]) -> list[str]:
    """Return what a published schema says against a file's content."""
    published = pytest.importorskip(
        "check_jsonschema.builtin_schemas", reason="pip install '.[dev]' brings the schemas"
    )
    found = json.loads(resources.files(published).joinpath(f"vendor/{schema}.json").read_text())
    checked = jsonschema.validators.validator_for(found)(found)
    return [f"{error.json_path}: {error.message}" for error in checked.iter_errors(content)]


def test_the_files_fit_the_published_schema() -> None:
    for path in COMPOSE:
        assert complaints("compose-spec", compose(path)) == [], path
    wrong = compose(COMPOSE[0])
    wrong["services"]["worker"]["restarts"] = "always"
    assert complaints("compose-spec", wrong) != []


def test_issue_forms_fit_the_published_schema() -> None:
    folder = ROOT / ".github/ISSUE_TEMPLATE"
    for name, schema in (("bug_report", "forms"), ("feature_request", "forms"), ("config", "config")):
        content = yaml.safe_load((folder / f"{name}.yml").read_text())
        assert complaints(f"github-issue-{schema}", content) == [], name


def test_images_are_pinned_and_named_files_exist() -> None:
    found = compose(COMPOSE[0])["services"]
    for name, service in found.items():
        if (image := service["image"]) != IMAGE:
            assert image.partition(":")[2][:1].strip("v").isdecimal() or ":v" in image, image
        for volume in service.get("volumes", []):
            source = volume.partition(":")[0]
            assert not source.startswith(".") or (ROOT / source).exists(), (name, source)


def test_services_of_driftway_have_no_more_rights_than_they_need() -> None:
    for name, service in compose(COMPOSE[0])["services"].items():
        if service["image"] == IMAGE:
            assert service["read_only"] is True, name
            assert service["cap_drop"] == ["ALL"], name
            assert "no-new-privileges:true" in service["security_opt"], name


def test_logs_and_memory_have_limits() -> None:
    first, second = (compose(path)["services"] for path in COMPOSE)
    for name, service in {**second, **first}.items():
        assert "max-size" in service["logging"]["options"], name
        assert "mem_limit" in service or service["image"] != IMAGE, name
    assert container()["resources"]["limits"]["memory"] == "1536Mi"
    assert first["worker"]["mem_limit"] == "1536m"


def test_the_worker_is_restarted_by_its_exit_code() -> None:
    worker = compose(COMPOSE[0])["services"]["worker"]
    assert worker["restart"] == "on-failure"
    (script,) = worker["entrypoint"]
    assert (ROOT / "deploy/image" / Path(script).name).exists()
    assert "COPY --chmod=755 deploy/image /usr/local/libexec/driftway" in (ROOT / "Dockerfile").read_text()
