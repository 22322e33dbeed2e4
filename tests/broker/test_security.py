"""A worker on a secured broker needs exactly the ACLs of docs/how-to/secure.md and never prints secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from confluent_kafka import KafkaError, Producer
from confluent_kafka.admin import AdminClient

from driftway.worker.errors import Failure, no_topic
from driftway.worker.kafka.client_config import is_refusal, quiet
from tests.support.granted_topics import LEARNER, NEEDED, OUTPUTS, PASSWORD, ROWS, GrantedTopics, scram
from tests.support.kafka import await_until, committed_offset, create_topic, produce, read_all, unique
from tests.support.process import ROOT, Driftway, Finished, driftway
from tests.support.secured_kafka import (
    Grant,
    Secured,
    add_user,
    grant,
    make_certificates,
    scram_kafka,
    tls_kafka,
    withdraw,
)
from tests.support.selection import slow_but, slow_but_each_once

WATCHED: tuple[Grant, ...] = (("TOPIC", "INPUT.GROUP.alarms", "READ"), ("TOPIC", "INPUT.GROUP.alarms", "WRITE"))
"""Needed in addition with detectors."""
MORE = {"shares": ("--share-models", "average:rows=50"), "challengers": ("--learner", "no_change", "--emit", "all")}
"""Further topic that needs READ and WRITE -> options of workers that write to it."""


def row(one: Grant) -> str:
    """Format a grant as a table row of docs/how-to/secure.md."""
    kind, name, operation = one
    prefix = " (prefix)" if name.endswith("*") else ""
    return f"| {kind} | `{name.removesuffix('*')}`{prefix} | {operation} |"


def sentence(done: Finished, *codes: int) -> str:
    """Return the message in the last line of stderr; check the exit code and that there is no traceback."""
    assert done.code in codes, f"exit code {done.code}\n{done.stderr}"
    assert "Traceback" not in done.stderr, done.stderr
    assert PASSWORD not in done.stdout + done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("driftway: "), done.stderr
    return last.removeprefix("driftway: ")


@pytest.fixture(scope="module")
def guarded() -> Iterator[Secured]:
    """A Kafka with SCRAM authentication."""
    with scram_kafka() as broker:
        yield broker


@pytest.fixture
def user(guarded: Secured) -> str:
    name = unique("user")
    add_user(guarded.plain, name, PASSWORD)
    return name


def test_the_documented_acls_are_sufficient(guarded: Secured, user: str) -> None:
    case = GrantedTopics(guarded, user)
    done = case.worker()
    assert done.code == 0, done.stderr
    case.require_all()
    produce(guarded.plain, case.topic, case.values[:3])  # the ACLs also suffice to restore from a snapshot
    done = case.worker()
    assert done.code == 0, done.stderr
    assert committed_offset(guarded.plain, case.group, case.topic)[0] == len(case.values) + 3


@pytest.mark.parametrize("granted", slow_but([WATCHED], [WATCHED, *zip(WATCHED)]), ids=["all", "read", "write"])
def test_detectors_also_need_acls_for_the_alarms_topic(guarded: Secured, user: str, granted: tuple[Grant, ...]) -> None:
    case = GrantedTopics(guarded, user, more=granted)
    name = create_topic(guarded.plain, f"{case.topic}.{case.group}.alarms")
    done = case.worker("--commit-interval", "10", "--detector", "ddm:min_n=5,warn=0.2,drift=0.5")
    if granted == WATCHED:
        assert done.code == 0, done.stderr
        case.require_all()
        assert read_all(guarded.plain, name)
        return
    words = sentence(done, 1)
    assert name in words
    assert "uthoriz" in words
    case.require_nothing()


@pytest.mark.slow
def test_a_plan_with_detectors_is_applied_once_workers_may_write_alarms(guarded: Secured, user: str) -> None:
    seen: tuple[Grant, ...] = ("TOPIC", "INPUT.GROUP.models", "READ"), ("TOPIC", "INPUT.GROUP.alarms", "DESCRIBE")
    case = GrantedTopics(guarded, user, more=seen)
    assert case.worker().code == 0
    place = "--input", case.topic, "--group", case.group, "--bootstrap", guarded.plain
    detector = "ddm:min_n=5,warn=0.2,drift=0.5"
    done = driftway("models", "configure", "--detector", detector, *place)
    assert done.code == 0, done
    produce(guarded.plain, case.topic, case.values[:500])
    waits = case.worker()
    assert waits.code == 0, waits
    assert f"no permission to write to {case.topic}.{case.group}.alarms" in waits.stderr
    assert "plan adopted" not in waits.stderr
    grant(guarded.plain, user, [case.named(one) for one in WATCHED])
    produce(guarded.plain, case.topic, case.values[500:1000])
    takes = case.worker()
    assert (takes.code, "plan adopted" in takes.stderr) == (0, True), takes
    produce(guarded.plain, case.topic, case.values[:500])
    assert case.worker().code == 0
    assert read_all(guarded.plain, f"{case.topic}.{case.group}.alarms")
    done = driftway("audit", *place, "--learner", LEARNER)
    assert done.code == 0, done


SLOW = [pytest.param(*one, marks=pytest.mark.slow) for one in (("shares", "READ"), ("challengers", "WRITE"))]


@pytest.mark.parametrize(("topic", "missing"), [("shares", None), ("challengers", None), *SLOW])
def test_optional_outputs_also_need_acls_for_their_topics(
    guarded: Secured, user: str, topic: str, missing: str | None
) -> None:
    granted = tuple(("TOPIC", f"INPUT.GROUP.{topic}", right) for right in ("READ", "WRITE") if right != missing)
    case = GrantedTopics(guarded, user, more=granted)
    name = create_topic(guarded.plain, f"{case.topic}.{case.group}.{topic}")
    done = case.worker(*MORE[topic])
    if missing is None:
        assert done.code == 0, done.stderr
        case.require_all()
        assert read_all(guarded.plain, name)
        return
    assert name in sentence(done, 1)
    case.require_nothing()


def test_commands_name_the_missing_right_to_a_group_or_to_rejections(guarded: Secured, user: str) -> None:
    case = GrantedTopics(guarded, user)
    assert case.worker().code == 0
    reader = unique("user")
    add_user(guarded.plain, reader, PASSWORD)
    names = case.topic, *(f"{case.topic}.{case.group}.{name}" for name in ("predictions", "accuracy", "snapshots"))
    grant(guarded.plain, reader, [("TOPIC", name, "READ") for name in names])
    place = "--input", case.topic, "--group", case.group, "--bootstrap", guarded.guarded, *scram(reader)
    for command in (("models", "show"), ("snapshot", "list")):
        assert "no right to READ or DESCRIBE the group" in sentence(driftway(*command, *place), 1)
    rejected = no_topic(f"{case.topic}.{case.group}.rejected")
    assert sentence(driftway("rejected", *place), 2) == rejected


def test_the_documentation_lists_the_tested_acls() -> None:
    text = (ROOT / "docs" / "how-to" / "secure.md").read_text(encoding="utf-8")
    for option, name in (("detector", "alarms"), ("emit all", "challengers"), ("share-models", "shares")):
        assert f"- With `--{option}` also READ and WRITE on `INPUT.GROUP.{name}`." in text
    listed = re.findall(r"^\| (?:TOPIC|GROUP|TRANSACTIONAL_ID|CLUSTER) \|.*?\| [A-Z_]+ \|", text, flags=re.MULTILINE)
    assert sorted(listed) == sorted(row(one) for one in NEEDED)


@pytest.mark.parametrize("lacking", slow_but([NEEDED[0], NEEDED[-1]], NEEDED), ids="-".join)
def test_a_missing_acl_stops_the_worker_before_anything_is_written(guarded: Secured, user: str, lacking: Grant) -> None:
    case = GrantedTopics(guarded, user, lacking)
    # One commit for all rows: the first rows may need neither an accuracy point nor a rejection.
    words = sentence(case.worker("--commit-interval", "10"), 1, 2)
    kind, name, _ = case.named(lacking)
    assert "uthoriz" in words or words == f"{no_topic(name)}; `driftway topics create` creates it"
    assert (name if kind == "TOPIC" else case.group) in words
    case.require_nothing()


@pytest.mark.parametrize(
    ("kind", "guarantee"), slow_but_each_once(["GROUP", "TOPIC"], ["exactly-once", "at-least-once"])
)
def test_a_worker_whose_right_to_the_group_or_the_input_is_withdrawn_names_it(
    guarded: Secured, user: str, kind: str, guarantee: str
) -> None:
    case = GrantedTopics(guarded, user)
    place = "--input", case.topic, "--group", case.group, "--bootstrap", guarded.guarded, "--learner", LEARNER
    with Driftway("worker", *place, *scram(user), "--guarantee", guarantee) as worker:
        await_until(lambda: committed_offset(guarded.plain, case.group, case.topic)[0] > ROWS, 60, "all committed")
        name = case.group if kind == "GROUP" else case.topic
        withdraw(guarded.plain, user, (kind, name, "READ"))
        produce(guarded.plain, case.topic, case.values)
        assert worker.wait(60) == 1, worker.summary()
        assert f"this principal needs READ on {kind.lower()} {name}" in worker.stderr.splitlines()[-1]


def test_a_worker_whose_password_is_changed_ends_with_the_reason(guarded: Secured, user: str) -> None:
    """Its connections stay; a new producer, which a fence makes necessary, cannot log in."""
    case = GrantedTopics(guarded, user)
    place = "--input", case.topic, "--group", case.group, "--bootstrap", guarded.guarded, "--learner", LEARNER
    with Driftway("worker", *place, *scram(user), "--unavailable-timeout", "5") as worker:
        await_until(lambda: committed_offset(guarded.plain, case.group, case.topic)[0] > ROWS, 60, "all committed")
        add_user(guarded.plain, user, "another password")
        stranger = Producer(
            quiet({"bootstrap.servers": guarded.plain, "transactional.id": f"{case.group}/{case.topic}/0"})
        )
        stranger.init_transactions(20)
        produce(guarded.plain, case.topic, case.values)
        assert worker.wait(60) == 5, worker.summary()
        assert "SASL authentication error" in worker.stderr.splitlines()[-1]


@pytest.mark.parametrize("name", slow_but(["rejected"], OUTPUTS))
def test_an_output_with_describe_but_not_write_stops_the_worker(guarded: Secured, user: str, name: str) -> None:
    place = f"INPUT.GROUP.{name}"
    lacking = "TOPIC", place, "WRITE"
    case = GrantedTopics(guarded, user, lacking, (("TOPIC", place, "DESCRIBE"),))
    # One commit for all rows, however slowly they arrive: otherwise commits before the refused one would be visible.
    words = sentence(case.worker("--commit-interval", "10"), 1)
    assert case.named(lacking)[1] in words
    assert "uthoriz" in words
    case.require_nothing()


@pytest.mark.parametrize("name", slow_but(["rejected"], OUTPUTS))
def test_without_transactions_no_offset_is_committed_beyond_a_refused_output(
    guarded: Secured, user: str, name: str
) -> None:
    place = f"INPUT.GROUP.{name}"
    lacking = "TOPIC", place, "WRITE"
    case = GrantedTopics(guarded, user, lacking, (("TOPIC", place, "DESCRIBE"),))
    words = sentence(case.worker("--commit-interval", "10", "--guarantee", "at-least-once"), 1)
    assert case.named(lacking)[1] in words
    assert "uthoriz" in words
    assert committed_offset(guarded.plain, case.group, case.topic)[0] < 0


def test_topics_are_created_if_allowed_and_otherwise_the_message_names_one(guarded: Secured, user: str) -> None:
    topic, group = unique("events"), unique("group")
    create_topic(guarded.plain, topic)
    grant(guarded.plain, user, [("TOPIC", topic, "READ"), ("GROUP", group, "READ")])
    arguments = (
        "worker", "--input", topic, "--group", group, "--bootstrap", guarded.guarded, "--stop-at-end", *scram(user),
    )  # fmt: skip
    words = sentence(driftway(*arguments, seconds=60), 1)
    assert words.startswith(f"cannot create topic {topic}.")
    rest: list[Grant] = [("TOPIC", f"{topic}.*", op) for op in ("CREATE", "READ", "WRITE")]
    grant(guarded.plain, user, [*rest, ("TRANSACTIONAL_ID", f"{group}/{topic}/*", "WRITE")])
    done = driftway(*arguments, seconds=60)
    assert done.code == 0, done.stderr


# Authentication and secrets.


def test_a_wrong_password_is_reported_as_such(guarded: Secured, user: str) -> None:
    case = GrantedTopics(guarded, user)
    words = sentence(case.worker(password="wrong-" + PASSWORD), 1)
    assert words.startswith(f"the broker at {guarded.guarded} refused this client: ")
    assert "uthentication" in words
    case.require_nothing()


def await_refusal(bootstrap: str, pairs: list[str]) -> None:
    """Wait until a client with these properties reports that its login or a certificate was refused."""
    errors: list[KafkaError] = []
    properties = dict(pair.split("=", 1) for pair in pairs)
    client = AdminClient(quiet({"bootstrap.servers": bootstrap, **properties, "error_cb": errors.append}))
    what = "the client reports that the broker refuses it"
    await_until(lambda: client.poll(0.1) and any(map(is_refusal, errors)), 30, what)


@pytest.mark.parametrize("wrong", ["sasl.password=wrong", "sasl.username=nobody", "sasl.mechanism=PLAIN"])
def test_every_refusal_of_a_login_is_recognised(guarded: Secured, user: str, wrong: str) -> None:
    await_refusal(guarded.guarded, [*scram(user)[1::2], wrong])


@pytest.mark.parametrize("form", slow_but(["json"], ["text", "json"]))
@pytest.mark.parametrize("way", slow_but(["-X"], ["-X", "environment", "config", "properties file", "help"]))
def test_no_secret_is_printed(guarded: Secured, tmp_path: Path, way: str, form: str) -> None:
    secret = "hunter2-correct-horse"
    pairs = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.username": "nobody",
        "sasl.password": secret,
        "ssl.key.password": f"key-{secret}",
        "sasl.oauthbearer.client.secret": f"oauth-{secret}",
    }
    lines = [f"{key}={value}" for key, value in pairs.items()]
    arguments = ["worker", "--input", "E", "--group", "g", "--log-format", form, "--http-port", "0"]
    arguments += ["--bootstrap", guarded.guarded]
    before: list[str] = []
    env: dict[str, str] = {}
    if way == "-X":
        arguments += [piece for line in lines for piece in ("-X", line)]
    elif way in ("environment", "help"):
        env["DRIFTWAY_X"] = " ".join(lines)
        arguments += ["--help"] * (way == "help")
    elif way == "config":
        (tmp_path / "c.toml").write_text(f"[worker]\nX = {lines!r}\n")
        before = ["--config", str(tmp_path / "c.toml")]
    else:
        (tmp_path / "p").write_text("\n".join(lines))
        arguments += ["--client-properties", str(tmp_path / "p")]
    done = driftway(*before, *arguments, env=env, seconds=60)
    assert done.code == (0 if way == "help" else done.code)
    assert way == "help" or done.code in (1, 2, 5), done.stderr
    assert done.stdout + done.stderr
    assert secret not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "text",
    ["sasl.password hunter2-correct\n", "sasl.password: hunter2-correct\n",
     "ssl.key.pem=-----BEGIN PRIVATE KEY-----\nhunter2-correct0123\n", "a=b\nhunter2-correct==\n"],
)  # fmt: skip
def test_a_malformed_secret_is_not_printed(tmp_path: Path, text: str) -> None:
    (tmp_path / "p").write_text(text)
    done = driftway("worker", "--input", "E", "--group", "g", "--client-properties", str(tmp_path / "p"))
    assert sentence(done, 2).endswith("is not key=value")
    assert "hunter2" not in done.stderr


def test_a_running_worker_shows_no_secret_and_listens_only_on_loopback(guarded: Secured, user: str) -> None:
    from tests.broker.test_endpoint import event, get

    case = GrantedTopics(guarded, user)
    with Driftway(
        "worker", "--input", case.topic, "--group", case.group, "--bootstrap", guarded.guarded, "--learner", LEARNER,
        "--http-port", "0", "--log-format", "json", env={"DRIFTWAY_X": " ".join(scram(user)[1::2])},
    ) as worker:  # fmt: skip
        port = int(event(worker, "listening")["port"])
        event(worker, "running")
        bodies = [get(port, path)[2] for path in ("/metrics", "/healthz", "/readyz", "/", "/environ")]
        process = psutil.Process(worker.pid)
        listening = {c.laddr.ip for c in process.net_connections("inet") if c.status == psutil.CONN_LISTEN}
        assert listening == {"127.0.0.1"}
        assert PASSWORD not in " ".join(process.cmdline())
        worker.terminate()
        assert worker.wait() == 0
        assert PASSWORD not in "".join([*bodies, worker.stdout, worker.stderr])


# Mutual TLS.


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Secured, Path]]:
    """A Kafka with client certificates, and the folder of the certificates."""
    pytest.importorskip("cryptography")
    folder = tmp_path_factory.mktemp("certificates")
    make_certificates(folder, "broker", "alice", "mallory", password=PASSWORD)
    try:
        with tls_kafka(folder) as broker:
            yield broker, folder
    except Failure as failure:
        pytest.fail(str(failure), pytrace=False)


def certificate(folder: Path, name: str, password: str = PASSWORD) -> str:
    pairs = {
        "security.protocol": "SSL",
        "ssl.ca.location": folder / "ca.pem",
        "ssl.certificate.location": folder / f"{name}.crt",
        "ssl.key.location": folder / f"{name}.key",
        "ssl.key.password": password,
    }
    return " ".join(f"{key}={value}" for key, value in pairs.items())


@pytest.mark.slow
def test_mutual_tls_works_with_the_same_acls(tls: tuple[Secured, Path]) -> None:
    broker, folder = tls
    case = GrantedTopics(broker, "alice")
    words = sentence(case.worker(env={"DRIFTWAY_X": certificate(folder, "mallory")}), 1, 2)
    assert words == f"{no_topic(case.topic)}; `driftway topics create` creates it"
    case.require_nothing()
    done = case.worker(env={"DRIFTWAY_X": certificate(folder, "alice")})
    assert done.code == 0, done.stderr
    case.require_all()


@pytest.mark.slow
def test_a_missing_certificate_or_a_wrong_key_password_is_refused(tls: tuple[Secured, Path]) -> None:
    broker, folder = tls
    case = GrantedTopics(broker, "nobody")
    bare = f"security.protocol=SSL ssl.ca.location={folder / 'ca.pem'}"
    assert "refused this client" in sentence(case.worker(env={"DRIFTWAY_X": bare}), 1)
    wrong = certificate(folder, "alice", password="not-" + PASSWORD)
    assert "refused" in sentence(case.worker(env={"DRIFTWAY_X": wrong}), 1, 2)
    plain = driftway("worker", "--input", "E", "--group", "g", "--bootstrap", broker.guarded, seconds=60)
    assert sentence(plain, 1, 5)
    case.require_nothing()


@pytest.mark.slow
def test_every_refusal_of_a_certificate_is_recognised(tls: tuple[Secured, Path], tmp_path: Path) -> None:
    broker, folder = tls
    make_certificates(tmp_path, "alice", password=PASSWORD)  # of another authority
    stranger, trusted = certificate(tmp_path, "alice").split(), f"ssl.ca.location={folder / 'ca.pem'}"
    await_refusal(broker.guarded, stranger)
    await_refusal(broker.guarded, [*stranger, trusted])
    await_refusal(broker.guarded, ["security.protocol=SSL", trusted])
