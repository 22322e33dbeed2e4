"""Fixtures for every test: the broker (one per session), a unique topic name, real streams."""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from driftway.producers.streams.files import data_folder
from driftway.workbench.broker import provide
from driftway.workbench.broker.distribution import kafka_version
from driftway.worker.errors import Failure, UsageFailure
from tests.stages import WITH_BROKER
from tests.support.examples import register_profiles
from tests.support.fixtures import provided_or_skip
from tests.support.forkserver import HERE, SERVER
from tests.support.kafka import unique
from tests.support.real_streams import PROPERTY, RealStreams, how_to_get

register_profiles()
ROOT = Path(__file__).resolve().parents[1]
SHARED = pytest.StashKey[str | None]()
"""Address of the broker that the processes of a run share; None: it cannot be started."""
SHARED_HEAP = "1g"
LONGEST_VALUE = 200
"""Characters of a parameter that a test's name may contain: pytest sends each name between its processes many times."""
GC_THRESHOLD = 50_000
"""New objects after which Python looks for cycles among them; its default is 700."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--require-broker",
        action="store_true",
        help="a broker that cannot be started is an error, not a skip",
    )
    parser.addoption(
        "--broker",
        choices=("local", "docker"),
        default="local",
        help="where Kafka comes from (default: local)",
    )


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Let the processes of a run with brokers share one, which is started before the first of them."""
    config: pytest.Config = node.config
    if not config.getoption("--require-broker") or os.environ.get("DRIFTWAY_BOOTSTRAP"):
        return
    if SHARED not in config.stash:
        config.stash[SHARED], stack = None, ExitStack()
        config.add_cleanup(stack.close)
        with suppress(Failure):  # each process then tries to start one, and reports why it cannot
            config.stash[SHARED] = stack.enter_context(provide(config.getoption("--broker"), heap=SHARED_HEAP))
    node.workerinput["broker"] = config.stash[SHARED]


def pytest_configure() -> None:
    """Fail with a usage error if the folder of real streams does not exist."""
    gc.set_threshold(GC_THRESHOLD)
    try:
        data_folder(None)
    except UsageFailure as failure:
        raise pytest.UsageError(str(failure)) from None


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Import a share of the test modules before the others, if several processes run the tests.

    pytest rewrites the assertions of each module that it imports, which takes longer than all else in a collection. It
    stores the result, so that each module is rewritten by one of the processes, and not by all of them at once.
    """
    given: Mapping[str, Any] = getattr(session.config, "workerinput", {})
    if not given:
        return
    left_out = tuple(Path(one).resolve() for one in session.config.getoption("ignore") or ())
    folders = [Path(argument).resolve() for argument in session.config.args]
    paths = sorted(path for folder in folders for path in folder.rglob("test_*.py"))
    paths = [path for path in paths if not any(map(path.is_relative_to, left_out))]
    for path in paths[int(given["workerid"].removeprefix("gw")) :: given["workercount"]]:
        with suppress(Exception, pytest.skip.Exception):  # the collection reports it
            import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name a long text by its length; pytest numbers what then has the same name."""
    if isinstance(val, (str, bytes)) and len(val) > LONGEST_VALUE:
        return f"{argname} of {len(val):,} characters"
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests that need a broker, so that ``-m "not broker"`` is exact, and run them last.

    Among those, and among the others, the ones with a time limit come first, the longest before others, and then those
    that share fixtures and so a process: started last, they would keep one process busy at the end.

    Raises
    ------
    pytest.UsageError
        A test needs a broker, but is not where the stages look for those.
    """
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        folder = place(item.path.parent)
        if folder in WITH_BROKER:
            item.add_marker(pytest.mark.broker)
        elif "kafka" in fixtures:
            raise pytest.UsageError(f"{item.nodeid} needs a broker, so it must be in {' or '.join(WITH_BROKER)}")
        if folder == "tests/fault":
            item.add_marker(pytest.mark.fault)
        if "real_streams" in fixtures:
            item.add_marker(pytest.mark.data)
        if needs_newer_protocol(item) and int(kafka_version().partition(".")[0]) < 4:
            item.add_marker(pytest.mark.skip(reason=f"Kafka {kafka_version()} has no group protocol `consumer`"))
        if (group := group_of(item)) is not None:
            item.add_marker(pytest.mark.xdist_group(group))
    items.sort(key=_order)  # stable: keeps files together


def pytest_collection_finish() -> None:
    """Exclude the 100,000 objects of the collected tests, which live until the end, from garbage collection."""
    gc.collect()
    gc.freeze()


@cache
def place(path: Path) -> str:
    """Return a path within the project; cached, as some 20,000 tests share few paths."""
    return str(path.relative_to(ROOT))


def needs_newer_protocol(item: pytest.Item) -> bool:
    """Whether a test is a case of the group protocol of Kafka 4."""
    given = item.callspec.params.values() if isinstance(item, pytest.Function) and hasattr(item, "callspec") else ()
    return any(isinstance(value, str) and value == "consumer" for value in given)  # an array compares by element


def _order(item: pytest.Item) -> tuple[bool, float, bool]:
    limit, with_broker = item.get_closest_marker("timeout"), item.get_closest_marker("broker") is not None
    return with_broker, 0.0 if limit is None else -limit.args[0], with_broker and not _shares_fixtures(item)


def group_of(item: pytest.Item) -> str | None:
    """Return a test's xdist group, or None: the tests of a group run in one process.

    A learner's tests compile its kernels only once, a file's tests share its fixtures, and the rules parse each source
    file once. Tests with a broker mostly wait, and are spread unless they share one.
    """
    if item.get_closest_marker("broker") is not None and not _shares_fixtures(item):
        return None
    if item.path.parent.name == "conformance" and isinstance(item, pytest.Function) and hasattr(item, "callspec"):
        return re.split(r"[:{@+]", item.callspec.id, maxsplit=1)[0]
    if item.path.parent.name == "meta" and item.path.stem != "test_bounds":  # which runs commands of its own
        return "tests/meta"
    return place(item.path)


def _shares_fixtures(item: pytest.Item) -> bool:
    """Whether a test uses a fixture of its module."""
    known = item._fixtureinfo.name2fixturedefs if isinstance(item, pytest.Function) else {}
    return any(found[-1].scope == "module" for found in known.values())


@pytest.fixture(scope="session")
def kafka(request: pytest.FixtureRequest) -> Iterator[str]:
    """Bootstrap address of a real Kafka: DRIFTWAY_BOOTSTRAP, or one that is started for this session.

    The processes of a session share it if it was started with --require-broker.
    """
    if shared := getattr(request.config, "workerinput", {}).get("broker"):
        yield shared
        return
    yield from provided_or_skip(request, lambda: provide(request.config.getoption("--broker")), "broker")


@pytest.fixture
def topic(kafka: str) -> str:
    """A topic name that no other test uses; the topic itself does not exist yet."""
    return unique("test")


@pytest.fixture
def group() -> str:
    """A consumer group that no other test uses."""
    return unique("group")


@pytest.fixture
def forked_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where forking is safe, let `--jobs` fork its processes from one that has imported everything."""
    if HERE:
        monkeypatch.setattr("multiprocessing.get_context", lambda _method: SERVER)


@pytest.fixture
def real_streams(request: pytest.FixtureRequest) -> RealStreams:
    """The real streams; a test that needs one that is not on this machine is skipped."""
    return RealStreams(request.node)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how to get the real streams whose absence made tests skip; pytest's own summary has the count."""
    skipped = terminalreporter.getreports("skipped")  # a module that is skipped entirely has no properties
    properties = [pair for report in skipped for pair in getattr(report, "user_properties", ())]
    for line in how_to_get(value for name, value in properties if name == PROPERTY):
        terminalreporter.write_line(line)
