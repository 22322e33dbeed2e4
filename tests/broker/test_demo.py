"""`driftway demo` as a user runs it: all rows predicted exactly once, a picture, and nothing left behind."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest
from click.testing import CliRunner

from driftway.cli import main
from tests.support.kafka import await_until
from tests.support.process import Driftway
from tests.support.selection import slow_but

pytestmark = [pytest.mark.broker, pytest.mark.xdist_group("demo")]  # one test looks for remaining topics

SMALL = ("--rows", "4000", "--limit", "4000", "--rate", "4000")


def family(pid: int) -> list[psutil.Process]:
    return psutil.Process(pid).children(recursive=True)


def commands(processes: list[psutil.Process]) -> str:
    words = []
    for process in processes:
        try:
            words.append(" ".join(process.cmdline()))
        except psutil.Error:
            continue
    return "\n".join(words)


def assert_gone(processes: list[psutil.Process]) -> None:
    await_until(lambda: not any(map(alive, processes)), 30, "all children of the demo have ended")


def alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.fixture
def out(tmp_path: Path) -> Path:
    pytest.importorskip("matplotlib")
    return tmp_path / "demo.png"


@pytest.fixture
def cluster(kafka: str) -> dict[str, str]:
    """Environment with the session's broker, which already runs and must stay unchanged."""
    return {"DRIFTWAY_BOOTSTRAP": kafka}


def test_the_demo_predicts_all_rows_exactly_once_and_cleans_up(kafka: str, out: Path) -> None:
    """The demo starts its own Kafka; the fixture `kafka` only ensures that one can be started here."""
    with Driftway("demo", *SMALL, "--out", str(out)) as child:
        child.await_text("rows sent", 150)
        children = family(child.pid)
        assert "driftway worker" in commands(children)
        assert "kafka.Kafka" in commands(children)
        assert child.wait(150) == 0, child.summary()
        assert_gone(children)
        assert "Exactly once: every one of 4,000 input offsets has exactly one outcome" in child.stdout
        for piece in ("no-change", "majority", "(champion)", "recovered after", "Throughput: 4,000 rows", str(out)):
            assert piece in child.stdout
        assert "Traceback" not in child.stderr
    assert out.read_bytes().startswith(b"\x89PNG\r\n")


@pytest.mark.slow
def test_the_demo_on_a_given_cluster_with_two_workers_removes_its_topics(
    kafka: str, cluster: dict[str, str], out: Path
) -> None:
    from driftway.worker.kafka.client_config import require_broker
    from driftway.worker.kafka.topics import partition_counts

    def topics() -> set[str]:
        return {name for name in partition_counts(require_broker(kafka, {})) if name.startswith("driftway-demo-")}

    before = topics()  # may include topics of a demo that was killed
    with Driftway("demo", *SMALL, "--workers", "2", "--partitions", "3", "--out", str(out), env=cluster) as child:
        assert child.wait(150) == 0, child.summary()
        assert "Exactly once" in child.stdout
    await_until(lambda: topics() <= before, 20, "the demo's topics are gone")


@pytest.mark.parametrize("how", slow_but(["kill"], ["terminate", "kill"]))
def test_an_interrupted_demo_ends_its_child_processes(how: str, cluster: dict[str, str], out: Path) -> None:
    with Driftway("demo", "--rate", "500", "--out", str(out), env=cluster) as child:
        child.await_text("rows sent", 150)
        children = family(child.pid)
        assert "driftway replay" in commands(children)
        getattr(child, how)()
        code = child.wait(60)
        assert_gone(children)
        if how == "terminate":
            assert code == 143, child.summary()
            assert "Traceback" not in child.stderr
    assert not out.exists()


@pytest.mark.slow
def test_the_demo_ends_with_one_sentence_if_a_worker_dies(cluster: dict[str, str], out: Path) -> None:
    with Driftway("demo", "--rate", "500", "--out", str(out), env=cluster) as child:
        child.await_text("rows sent", 150)
        children = family(child.pid)
        (victim,) = [p for p in children if "driftway worker" in commands([p])]
        victim.kill()
        assert child.wait(60) == 1, child.summary()
        assert_gone(children)
        assert "driftway: the worker ended unexpectedly with exit code -9" in child.stderr


def test_wrong_options_are_refused_before_anything_starts() -> None:
    for arguments, sentence in (
        (("--out", "picture.html"), "must end in .png or .svg"),
        (("--stream", "nosuch"), "there is no stream 'nosuch'"),
        (("--learner", "nosuch"), "nosuch"),
    ):
        done = CliRunner().invoke(main, ["demo", *arguments])
        assert done.exit_code == 2, done.output
        assert sentence in done.stderr
        assert "starting" not in done.output
