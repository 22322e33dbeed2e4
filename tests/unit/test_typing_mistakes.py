"""Slips of the hand get a sentence that says what was meant."""

from __future__ import annotations

import contextlib
import os
import pty
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from driftway.cli import main
from tests.support.process import ROOT, clean_environment
from tests.unit.test_command_line import refusal, run


def test_nearest_command_is_named() -> None:
    assert refusal("wrker").endswith("No such command 'wrker'. Did you mean 'worker'?")
    assert refusal("zzz").endswith("No such command 'zzz'.")


def test_unknown_variable_is_refused_with_the_nearest_name() -> None:
    words = refusal("learners", DRIFTWAY_LEARNERS="arow")
    assert words == "driftway: environment variable DRIFTWAY_LEARNERS is not known; did you mean DRIFTWAY_LEARNER?"
    assert "followed by an option's name" in refusal("learners", DRIFTWAY_QQQQ="1")
    assert run("learners", DRIFTWAY_LEARNER="arow").exit_code == 0


def test_uncompiled_kernels_are_refused() -> None:
    words = "driftway: NUMBA_DISABLE_JIT is set, but kernels run only compiled: unset it"
    assert refusal("learners", NUMBA_DISABLE_JIT="1") == words
    assert run("learners", NUMBA_DISABLE_JIT="0").exit_code == 0
    words = "driftway: NUMBA_NUM_THREADS=0 is not an integer of at least 1: unset it"
    assert refusal("learners", NUMBA_NUM_THREADS="0") == words


def test_option_before_the_command_is_said_to_stand_there() -> None:
    words = refusal("evaluate", "sea", "--config", "some.toml")
    assert words.endswith("It goes before the command: driftway --config FILE COMMAND ...")


@pytest.mark.parametrize("scheme", ["http", "kafka"])
def test_web_address_is_no_bootstrap(scheme: str) -> None:
    words = refusal("worker", "--input", "E", "--group", "g", "--bootstrap", f"a:1,{scheme}://localhost:9092/")
    assert f"'{scheme}://localhost:9092/' is a URL; write HOST:PORT, as in 'localhost:9092'." in words


@pytest.mark.parametrize("scheme", ["", "PLAINTEXT://"])
def test_an_ipv6_address_without_brackets_is_refused(scheme: str) -> None:
    words = refusal("worker", "--input", "E", "--group", "g", "--bootstrap", f"[::1]:9092,{scheme}fe80::1:9092")
    assert "an IPv6 address needs brackets: write [fe80::1]:9092." in words


@pytest.mark.parametrize("mark", [" ", ";"])
def test_addresses_that_commas_do_not_separate_are_refused(mark: str) -> None:
    words = refusal("worker", "--input", "E", "--group", "g", "--bootstrap", f" a:1 , b:2{mark}c:3")
    assert f"'b:2{mark}c:3' is not one address; separate several by commas." in words


@pytest.mark.parametrize("port", ["kafka", "9O92", "9092/", "0", "65536", ""])
def test_an_address_whose_port_is_none_is_refused(port: str) -> None:
    words = refusal("worker", "--input", "E", "--group", "g", "--bootstrap", f"a:1,SSL://b:{port}")
    assert f"'{port}' is not a port; write HOST:PORT." in words


def test_second_name_of_the_bootstrap_property_is_refused_too() -> None:
    words = refusal("worker", "--input", "E", "--group", "g", "-X", "metadata.broker.list=a:1")
    assert words == "driftway: client property metadata.broker.list cannot be set: use --bootstrap"


@pytest.mark.parametrize("command", ["worker", "replay", "watch"])
@pytest.mark.parametrize("scheme", ["", "https://"])
def test_credentials_in_a_bootstrap_address_are_refused_and_not_shown(command: str, scheme: str) -> None:
    place = {"worker": ("--input", "E", "--group", "g"), "watch": ("--input", "E"), "replay": ("sea",)}[command]
    words = refusal(command, *place, "--bootstrap", f"{scheme}op:hunter2@localhost:9092")
    assert "user and password do not go into the address; write HOST:PORT, and give -X sasl.username=.." in words
    assert "hunter2" not in words


def test_learner_of_two_classes_names_the_reduction_for_more() -> None:
    words = refusal("evaluate", "sea:rows=50", "--classes", "3", "--learner", "pa1")
    assert "pa1 does not learn 3 classes; it learns: binary (ova:pa1 learns them one against all)" in words


@pytest.mark.parametrize(
    "command",
    [("evaluate", "electricity"), ("evaluate", "sea"), ("streams",), ("streams", "describe", "sea"), ("train", "sea")],
    ids=" ".join,
)
def test_folder_that_is_not_there_is_said(command: tuple[str, ...], tmp_path: Path) -> None:
    out = ("--out", str(tmp_path / "m")) if command[0] == "train" else ()
    assert refusal(*command, "--data-dir", "/no/where", *out) == (
        "driftway: there is no folder /no/where, which --data-dir or DRIFTWAY_DATA names"
    )


def test_a_folder_is_refused_without_reading_all_that_is_in_it(tmp_path: Path) -> None:
    for number in range(1500):
        (tmp_path / f"{number}").mkdir()
    (tmp_path / "9" / "x.csv").touch()
    words = refusal("evaluate", str(tmp_path))
    assert words.startswith(f"driftway: {tmp_path} is a folder: give one of its files")
    assert refusal("evaluate", "/").startswith("driftway: / is a folder: give one of its files")
    assert refusal("train", "sea", "--out", "/") == "driftway: cannot write /: it is a directory"


def test_a_picture_needs_no_backend_for_windows(tmp_path: Path) -> None:
    code = f"from driftway.worker.plots.plotting import *; check_output('{tmp_path}/x.png'); new_figure(1, 1)"
    for backend in ("nope", "module://not.installed.here"):
        environment = clean_environment(MPLBACKEND=backend)
        done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b"")


def test_full_disk_is_reported_in_a_sentence_that_names_the_file() -> None:
    done = run("evaluate", "sea:rows=20000", "--learner", "pa1", "--scores", "/dev/full")
    assert (done.exit_code, done.stderr) == (1, "driftway: cannot write /dev/full: No space left on device\n")
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    for word in ("--help", "--version", "learners"):
        with open("/dev/full", "wb") as full:
            command = [sys.executable, "-m", "driftway", word]
            ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, env=buffered, check=False)
        assert (ended.returncode, ended.stderr) == (1, b"driftway: cannot write: No space left on device\n")


def test_limit_of_the_size_of_files_is_reported_in_a_sentence(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "driftway", "evaluate", "sea:rows=20000", "--learner", "pa1", "--scores", "big.jsonl"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY)),
        cwd=tmp_path,
        env=clean_environment(PYTHONPATH=str(ROOT)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, "driftway: cannot write big.jsonl: File too large\n")


def test_rows_that_were_left_out_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "holes.csv"
    file.write_text("a,y\n" + "".join(f"{'' if i % 10 == 3 else i % 7},{i % 2}\n" for i in range(100)))
    done = run("evaluate", str(file), "--learner", "pa1")
    assert done.stderr == (
        f"driftway: 90 of the 100 rows of {file} could be used: 10 rejected; the first, row 3: a is missing "
        "or infinite (--missing mean fills gaps, --drop leaves out a column of a file)\n"
    )
    header, line = done.stdout.splitlines()
    assert header.split()[2:6] == ["rows", "rejected", "missing", "accuracy"]
    assert line.split()[2:5] == ["90", "10", "10"]


def test_labels_without_names_are_told_the_option_that_names_them(tmp_path: Path) -> None:
    file = tmp_path / "shop.csv"
    file.write_text("amount,bought\n1,no\n2,yes\n")
    done = run("evaluate", str(file), "--feature", "amount", "--label", "bought", "--learner", "pa1")
    assert done.exit_code == 1
    assert done.stderr.endswith('row 0: label "no" is not one of 0, 1 (--labels names the classes)\n')


@pytest.mark.parametrize(
    ("words", "begun", "wanted"),
    [
        (["evaluate", "sea", "--learner"], "dfo", {"dfop"}),
        (["worker", "--input", "E", "--learner"], "arow_", {"arow_regressor"}),
        (["learners"], "pa1", {"pa1", "pa1_regressor", "pa1_uniclass"}),
        (["replay"], "sea_", {"sea_nse"}),
        (["evaluate"], "usenet", {"usenet1", "usenet2"}),
        ([], "rej", {"rejected"}),
        (["worker"], "--unav", {"--unavailable-timeout"}),
    ],
)
def test_shell_completes_commands_options_learners_and_streams(words: list[str], begun: str, wanted: set[str]) -> None:
    """Done like the scripts that click makes for bash, zsh and fish."""
    typed = ["driftway", *words, begun]
    asked = {"_DRIFTWAY_COMPLETE": "bash_complete", "COMP_WORDS": " ".join(typed), "COMP_CWORD": str(len(typed) - 1)}
    finished = CliRunner(env=asked).invoke(main, prog_name="driftway")
    assert {line.partition(",")[2] for line in finished.stdout.splitlines()} == wanted


@pytest.mark.parametrize("columns", [60, pytest.param(80, marks=pytest.mark.slow)])
def test_a_narrow_terminal_cuts_no_number(columns: int) -> None:
    """On a real terminal, to which wide tables are wrapped."""
    mine, its = pty.openpty()
    arguments = ["evaluate", "sea:rows=2000", "--learner", "dfop", "--learner", "arow"]
    environment = clean_environment(COLUMNS=str(columns), TERM="xterm")
    try:
        child = subprocess.Popen(
            [sys.executable, "-P", "-m", "driftway", *arguments],
            cwd=ROOT,
            env=environment,
            stdout=its,
            stderr=subprocess.DEVNULL,
        )
        os.close(its)
        text = ""
        with contextlib.suppress(OSError):  # the terminal is gone with the child
            while piece := os.read(mine, 65536):
                text += piece.decode()
        assert child.wait() == 0
    finally:
        os.close(mine)
    for word in ("kappa-temporal", "no-change", "rows/s", "85.70 %"):
        assert word in text, text
    assert "\u2026" not in text
