"""Client properties: parsed, refused with a reason, never shown if secret."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException

from driftway.worker.errors import Failure, UsageFailure
from driftway.worker.kafka.client_config import (
    OWNED,
    base_properties,
    knows_brokers,
    parse_properties,
    quiet,
    redact,
    refused_properties,
    require_broker,
    scrubbed,
    without_userinfo,
)


def test_pairs_are_split_at_the_first_equals_sign_and_stripped() -> None:
    assert parse_properties(["a.b = c", "sasl.password=x=y==", "empty="]) == {
        "a.b": "c",
        "sasl.password": "x=y==",
        "empty": "",
    }


def test_file_is_read_before_the_pairs_and_these_win(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("# comment\n\n; too\n  a=1\nb = 2\r\nc=\u00e9\n", encoding="utf-8")
    assert parse_properties(["b=3"], str(file)) == {"a": "1", "b": "3", "c": "\u00e9"}


def test_files_as_written_by_editors_and_java_are_read_and_a_wrong_line_is_named(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_bytes(b"\xef\xbb\xbfa=1\r\n! comment\r\nb=2\r\n")
    assert parse_properties([], str(file)) == {"a": "1", "b": "2"}
    file.write_text("a=1\n\nsasl.password: x\n")
    with pytest.raises(UsageFailure, match=rf"^client property '\*\*\*' at {file}, line 3 is not key=value$"):
        parse_properties([], str(file))


@pytest.mark.parametrize("key", ["sasl.oauthbearer.assertion.private.key.passphrase", "a" * 64])
def test_long_names_of_properties_are_accepted(key: str) -> None:
    assert parse_properties([f"{key}=x"]) == {key: "x"}


def test_a_name_that_is_too_long_is_not_shown_as_it_may_be_a_secret() -> None:
    with pytest.raises(UsageFailure) as caught:
        parse_properties(["s" * 65 + "=x"])
    assert "sss" not in str(caught.value)


def test_what_follows_a_secret_is_not_shown_as_it_may_be_the_rest_of_it() -> None:
    with pytest.raises(UsageFailure, match=r"^client property '\*\*\*' is not key=value$"):
        parse_properties(["client.id=a", "sasl.password=my", "secret"])


@pytest.mark.parametrize("pair", ["acks", "=1", "", "  "])
def test_a_text_that_is_not_a_pair_is_refused(pair: str) -> None:
    with pytest.raises(UsageFailure, match=r"is not key=value$"):
        parse_properties([pair])


@pytest.mark.parametrize("pair", ["session.timeout.ms=45s", "queued.max.messages.kbytes=64M", "fetch.max.bytes=10,000"])
def test_a_number_of_which_the_client_would_take_only_the_first_digits_is_refused(pair: str, tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_text(f"a=1\n{pair}\n")
    for given, where in (([pair], None), ""), (([], str(file)), f" at {file}, line 2"):
        with pytest.raises(UsageFailure) as caught:
            parse_properties(*given)
        unit = pair.partition("=")[0].rpartition(".")[2]
        assert str(caught.value) == f"client property {pair}{where}: write a number without a unit, in {unit}"


@pytest.mark.parametrize("pair", ["linger.ms=0.5", "metadata.max.age.ms=-1", "client.id=3s", "sasl.password=45s"])
def test_numbers_and_texts_that_begin_with_a_digit_are_accepted(pair: str) -> None:
    key, _, value = pair.partition("=")
    assert parse_properties([pair]) == {key: value}


@pytest.mark.parametrize("key", OWNED)
def test_a_property_that_driftway_sets_itself_is_refused_with_the_reason(key: str, tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_text(f"{key} = x\n")
    for given in ((["a=b", f"{key}=x"], None), ([], str(file))):
        with pytest.raises(UsageFailure) as caught:
            parse_properties(*given)
        assert str(caught.value) == f"client property {key} cannot be set: {OWNED[key]}"


def test_all_properties_that_driftway_must_set_are_refused() -> None:
    must = {"enable.auto.commit", "isolation.level", "transactional.id", "group.id", "bootstrap.servers"}
    assert must | {"enable.auto.offset.store", "auto.offset.reset", "enable.idempotence"} <= OWNED.keys()


def test_an_unreadable_file_is_refused_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageFailure, match=r"^cannot read client properties .*absent: No such file"):
        parse_properties([], str(tmp_path / "absent"))
    with pytest.raises(UsageFailure, match="Is a directory"):
        parse_properties([], str(tmp_path))
    (tmp_path / "binary").write_bytes(b"a=\xff\xfe\n")
    with pytest.raises(UsageFailure, match=r"are not UTF-8 text$"):
        parse_properties([], str(tmp_path / "binary"))


@pytest.mark.parametrize(
    "key",
    ["sasl.password", "ssl.key.password", "ssl.keystore.password", "sasl.oauthbearer.client.secret", "ssl.key.pem",
     "sasl.oauthbearer.token.endpoint.url", "ssl.certificate.pem", "SASL.PASSWORD", "sasl.jaas.config"],
)  # fmt: skip
def test_a_secret_is_never_shown(key: str) -> None:
    assert redact(f"{key}=hunter2") == f"{key}=***"


@pytest.mark.parametrize("key", ["sasl.pasword", "sasl.passwrd", "ssl.secert", "pasword", "sasl.oauthbearer.clientid"])
def test_a_misspelt_secret_is_not_shown_either(key: str) -> None:
    assert redact(f"{key}=hunter2") == f"{key}=***"


@pytest.mark.parametrize(
    "key", ["sasl.mechanisms", "sasl.username", "security.protocol", "ssl.ca.location", "ssl.key.location", "client.id",
            "ssl.endpoint.identification.algorithm", "enable.ssl.certificate.verification"],
)  # fmt: skip
def test_what_is_not_secret_is_shown(key: str) -> None:
    assert redact(f"{key}=x") == f"{key}=x"


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("https://user:pw@host:8081/path", "https://***@host:8081/path"),
        ("http://a,https://user:p,w@b", "http://***@b"),
        ("https://token@host", "https://***@host"),
        ("user:p@w@host:9092", "***@host:9092"),
        ("a:9092,user:pw@b:9092", "***@b:9092"),
        ("cannot resolve 'user:pw@host:9092' (see https://user:pw@host)", "cannot resolve '***@host:9092' (see "
         "https://***@host)"),
        ("@header.kind:hash=32", "@header.kind:hash=32"),
        ("EVENTS/0@17: the event cannot be used", "EVENTS/0@17: the event cannot be used"),
    ],
)  # fmt: skip
def test_user_and_password_are_hidden_in_urls_and_host_lists(text: str, hidden: str) -> None:
    assert without_userinfo(text) == hidden


def test_a_refused_property_shows_no_secret() -> None:
    error = KafkaError(KafkaError._INVALID_ARG, 'Invalid value "hunter2-x"')
    with pytest.raises(UsageFailure, match=r'^client property refused: Invalid value "\*\*\*"$'):  # noqa: SIM117
        with refused_properties({"sasl.password": "hunter2-x"}):
            raise KafkaException(error)


def test_a_login_that_fails_shows_no_piece_of_a_secret() -> None:
    """The client quotes the rest of this property from where it does not understand it."""
    given = {
        "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.config": "principal=me foo=hunter2", "enable.sasl.oauthbearer.unsecure.jwt": "true",
    }  # fmt: skip
    with pytest.raises(Failure, match=r"beginning at: \*\*\*$|beginning at: foo=\*\*\*$") as caught:
        require_broker("127.0.0.1:9", given, timeout=2.0)
    assert "hunter2" not in str(caught.value)


def test_a_message_shows_no_piece_of_a_secret_either() -> None:
    given = {"sasl.oauthbearer.config": "principal=me scope=hunter2", "sasl.password": "abc", "client.id": "shown"}
    text = "Unrecognized sasl.oauthbearer.config beginning at: scope=hunter2, client shown"
    assert "hunter2" not in scrubbed(text, given)
    assert scrubbed(text, given).endswith("client shown")


def test_an_ordinary_property_is_shown() -> None:
    assert redact("acks=all") == "acks=all"
    assert redact("password") == "password"


def test_the_users_properties_come_last_and_extra_logging_is_off_by_default() -> None:
    base = base_properties("h:1", {"client.id": "mine", "acks": "1"})
    largest = {"receive.message.max.bytes": 1_000_000_000, "allow.auto.create.topics": False}
    waits = {"reconnect.backoff.max.ms": 1000}
    assert base == {"bootstrap.servers": "h:1", "client.id": "mine", "acks": "1", **largest, **waits}
    assert base_properties("h:1", {"receive.message.max.bytes": "7"})["receive.message.max.bytes"] == "7"
    assert "reconnect.backoff.max.ms" not in base_properties("h:1", {"reconnect.backoff.ms": "5000"})
    assert base_properties("h:1", {})["client.id"].startswith("driftway-")
    assert quiet({})["log_level"] == 0
    assert "logger" in quiet({})
    for chatter in ("log_level", "debug"):
        assert quiet({chatter: "7"}).keys() == {chatter, "error_cb", "throttle_cb"}
    quiet({})["error_cb"](None)


@pytest.mark.parametrize(
    ("sources", "known"),
    [(["configured"], True), (["internal", "learned"], True), (["internal", "logical"], False), ([], False)],
)
def test_a_client_knows_its_bootstrap_brokers_and_those_it_has_discovered(sources: list[str], known: bool) -> None:
    """The group coordinator is a logical broker: a name for one of the others."""
    text = json.dumps({"brokers": {str(i): {"source": source} for i, source in enumerate(sources)}})
    assert knows_brokers(text) is known
