"""Errors of the command line: one sentence and the documented exit code, never a traceback."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from driftway.learners.spec import Spec
from driftway.worker.admin.audit import deployment
from driftway.worker.errors import Unreachable, no_topic
from driftway.worker.kafka import topics
from driftway.worker.kafka.topics import create_topics, output_plan
from driftway.worker.settings import ModelSettings, WorkerSettings
from tests.support.kafka import create_topic, unique
from tests.support.process import Driftway, Finished, clean_environment, driftway
from tests.support.proxy import CREATE_TOPICS, OFFSET_FETCH, Proxy, encoded_address

REACH_SECONDS = 10.0
"""Documented limit for giving up on an unreachable broker."""


def sentence(done: Finished, code: int) -> str:
    """Return the error message on stderr; only log lines, which begin with the time, may precede it."""
    summary = f"exit code {done.code}\n{done.stderr}"
    assert done.code == code, summary
    assert "Traceback" not in done.stderr, summary
    assert done.stdout == "", done.stdout
    *before, last = done.stderr.splitlines()
    if last.startswith("Error: "):  # an error from click: usage, hint, error
        assert before[0].startswith("Usage: "), summary
    else:
        assert last.startswith("driftway: "), summary
        assert all(line[2] == line[5] == ":" for line in before), summary
    return last


def worker(kafka: str, topic: str, *more: str, **env: str) -> Finished:
    arguments = ("--input", topic, "--group", unique("group"), "--bootstrap", kafka, *more)
    return driftway("worker", *arguments, seconds=40, env=env)


@pytest.fixture(scope="module")
def existing_topic(kafka: str) -> str:
    """An input topic that exists."""
    return create_topic(kafka, unique("test"), 2)


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port that refuses connections: it is bound but never listened on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--learner", "dfob"), "no learner 'dfob'; did you mean 'dfop'?"),
        (("--learner", "dfop:mu=1"), "learner dfop:mu=1: mu must be < 1, got 1"),
        (("--learner", "dfop:nu=1"), "learner dfop:nu=1: no parameter 'nu'; available: mu, delta, p_max, intercept"),
        (("--learner", "arow", "--learner", "arow"), "the same --learner is given twice"),
        (("-X", "isolation.level=read_uncommitted"), "client property isolation.level cannot be set: aborted records"),
        (("-X", "transactional.id=mine"), "client property transactional.id cannot be set: it consists of group"),
        (("-X", "enable.auto.commit=true"), "client property enable.auto.commit cannot be set: offsets are committed"),
        (("-X", "no.such.property=1"), 'client property refused: No such configuration property: "no.such.property"'),
        (("-X", "session.timeout.ms=soon"), "client property refused: Invalid value for configuration property"),
        (("-X", "group.protocol=consumer", "-X", "session.timeout.ms=6000"), "client property refused: "),
        (("--client-properties", "absent"), "cannot read client properties absent: No such file or directory"),
        (("--commit-interval", "1000"), "the broker does not let a transaction stay open for 2000 s, twice"),
        (("--http-port", "0", "--http-host", "no.such.host.invalid"), "cannot listen on no.such.host.invalid:0: "),
    ],
)
def test_a_wrong_option_of_a_worker_is_one_sentence(
    kafka: str, existing_topic: str, options: tuple[str, ...], words: str
) -> None:
    assert sentence(worker(kafka, existing_topic, *options), 2).startswith(f"driftway: {words}")


def test_a_missing_input_topic_names_the_command_that_creates_it(kafka: str, topic: str) -> None:
    words = sentence(worker(kafka, topic), 2)
    assert words == f"driftway: {no_topic(topic)}; `driftway topics create` creates it"


def test_a_name_that_no_topic_can_have_is_refused(kafka: str) -> None:
    words = sentence(worker(kafka, "EVENTS,OTHERS", "--output-prefix", "here"), 2)
    assert words.startswith("driftway: EVENTS,OTHERS cannot be the input: topic names have letters, digits, ")
    assert words.endswith("and a worker reads one topic")


def test_topics_with_other_partition_counts_are_refused(kafka: str, topic: str) -> None:
    create_topic(kafka, topic, 2)
    create_topic(kafka, f"{topic}.here.predictions", 3)
    words = sentence(worker(kafka, topic, "--output-prefix", f"{topic}.here"), 2)
    assert words == (
        f"driftway: topic {topic}.here.predictions has 3 partitions, not 2 as {topic}, and no topic can lose "
        f"partitions: `kafka-topics.sh --alter --topic {topic} --partitions 3` gives {topic} as many; otherwise take "
        "another --group or --output-prefix, or delete it, if nothing of it is needed"
    )


def test_an_unreachable_broker_is_reported_in_one_sentence(closed_port: int) -> None:
    address = f"127.0.0.1:{closed_port}"
    done = driftway("worker", "--input", "E", "--group", "g", "--bootstrap", address)
    assert sentence(done, 5) == f"driftway: no Kafka broker answered at {address} within 7 s"


def test_an_unreachable_broker_is_detected_in_time() -> None:
    """Measured from the first connection attempt, as Python may take seconds to start on a busy machine."""
    attempts: list[float] = []

    def refuse_connections(server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                server.accept()[0].close()
                attempts.append(time.monotonic())

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=refuse_connections, args=(server,), daemon=True).start()
        address = f"127.0.0.1:{server.getsockname()[1]}"
        done = driftway("worker", "--input", "E", "--group", "g", "--bootstrap", address)
        ended = time.monotonic()
        server.shutdown(socket.SHUT_RDWR)
    assert sentence(done, 5) == f"driftway: no Kafka broker answered at {address} within 7 s"
    assert ended - attempts[0] < REACH_SECONDS


def test_a_port_in_use_is_reported_in_one_sentence(kafka: str, existing_topic: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        words = sentence(worker(kafka, existing_topic, "--http-port", str(port)), 2)
    assert words == f"driftway: cannot listen on 127.0.0.1:{port}: {os.strerror(errno.EADDRINUSE)}"


def test_replay_of_a_missing_file_is_one_sentence(kafka: str, topic: str) -> None:
    done = driftway("replay", "absent.csv", "--to", topic, "--bootstrap", kafka)
    assert sentence(done, 2) == "driftway: there is no file absent.csv"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("worker", "--group", "g"), "Error: Missing option '--input'"),
        (
            ("worker", "--input", "E", "--group", "g", "--snapshot-rows", "0"),
            "Error: Invalid value for '--snapshot-rows'",
        ),
        (("replay",), "Error: Missing argument"),
    ],
)
def test_errors_of_the_option_parser_show_usage_and_one_error(arguments: tuple[str, ...], words: str) -> None:
    assert sentence(driftway(*arguments), 2).startswith(words)


def test_a_secret_property_is_not_printed(kafka: str, existing_topic: str, tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("sasl.password = hunter2\n")
    for given in (("-X", "sasl.password=hunter2"), ("--client-properties", str(file))):
        done = worker(kafka, existing_topic, *given, "-X", "security.protocol=sasl_plain", "--log-format", "json")
        assert done.code == 2
        assert "hunter2" not in done.stderr


def test_an_audit_reports_a_silent_coordinator_as_a_broker_that_does_not_answer(
    kafka: str, existing_topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not reported as a failed audit, as the same command may succeed a moment later."""
    monkeypatch.setattr(deployment, "ASK_SECONDS", 2.0)
    settings = WorkerSettings(kafka, existing_topic, unique("group"), ModelSettings((Spec.parse("pa1"),), n_features=3))
    create_topics(kafka, {}, output_plan(settings.topics, 2))
    with Proxy(kafka) as proxy:
        proxy.lose(OFFSET_FETCH, replies=1000)
        with pytest.raises(Unreachable, match=f"the broker at {proxy.bootstrap} does not answer: "):
            deployment.Deployment(replace(settings, bootstrap=proxy.bootstrap))
        assert proxy.lost[OFFSET_FETCH]


def test_a_broker_that_only_tells_where_others_are_is_named(
    kafka: str, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one whose advertised.listeners cannot be reached: the bootstrap address answers, and nothing else does."""
    monkeypatch.setattr(topics, "CREATE_SECONDS", 2.0)
    with Proxy(kafka) as proxy:
        proxy.lose(CREATE_TOPICS, replies=1000)
        words = (
            f"cannot create topic {topic}: no answer within 2 s. .* clients reach the cluster at {proxy.bootstrap}; "
        )
        with pytest.raises(Unreachable, match=f"{words}.*advertised.listeners"):
            create_topics(proxy.bootstrap, {}, {topic: (1, {})})


@pytest.mark.parametrize("host", ["127.0.0.1", "x.invalid"])
def test_advertised_addresses_that_cannot_be_reached_are_named_at_once(
    kafka: str, existing_topic: str, closed_port: int, host: str
) -> None:
    """Also where every topic is there, so that nothing needs to be created."""
    with Proxy(kafka) as proxy:
        proxy.advertised = encoded_address(host, closed_port)
        place = "--bootstrap", proxy.bootstrap
        for command in (
            ("schema", "infer", existing_topic, "--label", "y"),
            ("train", "--topic", existing_topic, "--out", "m.driftway"),
        ):
            last = sentence(driftway(*command, *place, seconds=40), 5)
            assert f"says that clients reach the cluster at {host}:{closed_port}, which fails here (" in last
            assert "advertised.listeners must name" in last


SOON = ("--stop-at-end", "--learner", "arow", "--unavailable-timeout", "5")


def with_few_files(limit: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command with a low limit of open files."""
    return subprocess.run(
        [sys.executable, "-m", "driftway", *arguments], capture_output=True, text=True, timeout=200, check=False,
        env=clean_environment(), preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)),
    )  # fmt: skip


def test_a_worker_without_standard_streams_works(kafka: str) -> None:
    topic, group = create_topic(kafka, unique("test"), 1), unique("group")
    place = "--input", topic, "--group", group, "--bootstrap", kafka
    started = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", sys.executable, "-m", "driftway", "worker", *place]
    done = subprocess.run(
        [*started, "--learner", "pa1", "--stop-at-end"], timeout=100, check=False, env=clean_environment()
    )
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("files", "arguments"),
    [
        # With 10 files it cannot read its topics; with 14 it joins, but some of its clients cannot connect.
        pytest.param(10, ("worker", *SOON), marks=pytest.mark.slow),
        (14, ("worker", *SOON)),
        pytest.param(10, ("watch", "--once"), marks=pytest.mark.slow),
    ],
)
def test_too_few_open_files_are_reported_as_the_cause(
    kafka: str, existing_topic: str, files: int, arguments: tuple[str, ...]
) -> None:
    """The client itself reports failed connections, or nothing for minutes."""
    done = with_few_files(files, *arguments, "--group", "g", "--input", existing_topic, "--bootstrap", kafka)
    assert "Traceback" not in done.stderr, done
    assert (done.returncode in (1, 5), "cannot open more files" in done.stderr.splitlines()[-1]) == (True, True), done


def test_a_limit_of_threads_is_reported_as_the_cause(kafka: str, existing_topic: str) -> None:
    """No address space is large enough for these stacks, so that no thread can be started, as with such a limit."""
    started = "import threading; threading.stack_size(1 << 46); from driftway.cli import main; main()"
    place = "--input", existing_topic, "--group", unique("group"), "--bootstrap", kafka
    done = subprocess.run(
        [sys.executable, "-c", started, "worker", *SOON, *place],
        capture_output=True, text=True, timeout=100, check=False, env=clean_environment(),
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done
    assert (done.returncode, "cannot start more threads: raise its limit" in done.stderr) == (1, True), done


def test_a_second_sigterm_ends_a_worker_at_once_with_143(kafka: str, existing_topic: str) -> None:
    """The first one requests a clean end, which may take some time; the second one ends the worker at once."""
    codes = list[int]()
    while 143 not in codes and len(codes) < 5:  # on a busy machine a worker may have left before the second one
        with Driftway("worker", "--input", existing_topic, "--group", unique("group"), "--bootstrap", kafka) as running:
            running.await_text("running")
            while running.process.poll() is None:
                running.terminate()
                time.sleep(0.01)
            codes.append(running.wait())
            assert codes[-1] in (0, 143), running.summary()
            assert "Traceback" not in running.stderr
    assert codes[-1] == 143
