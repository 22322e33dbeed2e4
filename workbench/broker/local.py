"""A real Apache Kafka as a child process: a KRaft node on loopback, in a temporary or a given directory."""

from __future__ import annotations

import os
import random
import shutil
import socket
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from driftway.workbench.broker import distribution, settings
from driftway.workbench.broker.health import await_ready
from driftway.workbench.broker.startup_cache import WRITE_SECONDS, StartupCache
from driftway.workbench.broker.supervised import SupervisedProcess
from driftway.worker.errors import Failure, UsageFailure

READY_SECONDS = 60.0
END_SECONDS = 20.0
FORMAT_SECONDS = 60.0
PORTS = range(20_000, 32_000)
"""Below the range of outgoing connections, one of which could take the port between stop and restart."""

ATTEMPTS = 5
"""Starts with new random ports, in case another process takes one between the draw and Kafka's bind."""


class LocalBrokers(ABC):
    """Brokers that live no longer than this process; a context manager that starts and stops them."""

    @property
    @abstractmethod
    def bootstrap(self) -> str:
        """Their addresses, for clients."""

    @abstractmethod
    def start(self) -> None:
        """Start them and return when they can be used."""

    @abstractmethod
    def stop(self) -> None:
        """End them cleanly and remove temporary directories. Does nothing when they are not running."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


class LocalKafka(LocalBrokers):
    """A Kafka broker that lives no longer than this process.

    Parameters
    ----------
    data_dir : str or Path, optional
        Where topics are kept; existing data is reused. Without it, a temporary directory, removed by `stop`.
    port : int
        Port of 127.0.0.1; 0 draws a free one.
    heap : str
        Java's heap, like ``512m``.
    properties : mapping, optional
        Broker properties over those of `driftway.workbench.broker.settings.DEVELOPMENT`.
    steady : bool
        For long and heavy loads: slower to start, less CPU per message once warm.
    member : Membership, optional
        Its place in a cluster, whose ports are all known; by default a cluster of its own.
    cluster : str, optional
        Id of the cluster for an empty data directory; by default a new one.
    progress : callable, optional
        Called with what a first start downloads; by default prints a line on stderr.

    Examples
    --------
    ::

        with LocalKafka() as kafka:
            producer = Producer({"bootstrap.servers": kafka.bootstrap})
    """

    def __init__(
        self,
        data_dir: str | Path | None = None,
        port: int = 0,
        heap: str = settings.HEAP,
        properties: Mapping[str, str] | None = None,
        steady: bool = False,
        member: settings.Membership | None = None,
        cluster: str | None = None,
        progress: distribution.Progress | None = None,
    ) -> None:
        self._given = None if data_dir is None else Path(data_dir).absolute()
        self._wanted_port = port
        self._heap = heap
        self._own = dict(properties or {})
        self._steady = steady
        self._progress = progress or show_progress
        self._home = Path()
        self._port = port
        self._given_member = member
        self._member = member or settings.Membership(1, (0,))
        self._cluster = cluster or settings.kafka_uuid()
        self._process: SupervisedProcess | None = None

    @property
    def bootstrap(self) -> str:
        """``127.0.0.1:port``, for clients."""
        return f"{settings.HOST}:{self._port}"

    @property
    def pid(self) -> int:
        """Process id of Kafka's Java.

        Raises
        ------
        Failure
            The broker was not started.
        """
        pid = self._running().pid
        if pid is None:
            raise Failure("the local Kafka is not running")
        return pid

    @property
    def log(self) -> Path:
        """Kafka's own log file."""
        return self._home / "logs" / "server.log"

    def start(self) -> None:
        """Start the broker and return when it can be used.

        Raises
        ------
        Failure
            The `local` extra is missing, its jars cannot be downloaded, the port is taken, the directory
            cannot be written, or Kafka ended early. The message is one sentence.
        """
        if self._process is not None:
            raise Failure("the local Kafka is already running")
        if self._wanted_port and not _free(self._wanted_port):
            raise Failure(f"port {self._wanted_port} is in use; --port 0 picks a free one")
        java, classpath = distribution.java(), distribution.classpath(self._progress)
        self._home = self._make_home()
        self._startup = StartupCache(java, distribution.cache_home())
        self._java = [str(java), *settings.java_options(self._heap, self._home / "logging.properties", self._steady)]
        self._java += ["-cp", os.pathsep.join(map(str, classpath))]
        self._process = SupervisedProcess(remove=None if self._given else self._home)
        try:
            self._start_with_free_ports()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the broker cleanly and remove a temporary directory. Does nothing when it is not running."""
        process, self._process = self._process, None
        if process is None:
            return
        try:
            self._end(process, END_SECONDS)
        except Failure:
            pass  # the supervisor was killed, and Kafka with it; closing cleans up after both
        finally:
            process.close()

    def terminate(self) -> None:
        """End the broker cleanly, keeping port and data for `restart`."""
        self._end(self._running(), END_SECONDS)

    def kill(self) -> None:
        """End the broker with SIGKILL, keeping port and data for `restart`."""
        self._end(self._running(), 0.0)

    def restart(self) -> None:
        """Start again on the same port and data, after `terminate`, after `kill`, or from the running state.

        Raises
        ------
        Failure
            Kafka ended early.
        """
        self.launch()
        self._await_ready()

    def launch(self) -> None:
        """Start on the same port and data without waiting until the broker can be used; end it first if it runs."""
        self._end(self._running(), END_SECONDS)
        self.log.unlink(missing_ok=True)  # so that it is only about this start
        (self._home / "logs" / "java.log").unlink(missing_ok=True)
        argv = [*self._java[:1], *self._startup.options(), *self._java[1:]]
        argv += ["kafka.Kafka", str(self._home / "server.properties")]
        self._running().start(argv, self._home / "logs" / "java.log")

    def _end(self, process: SupervisedProcess, seconds: float) -> None:
        """End Kafka with SIGTERM, after `seconds` with SIGKILL, or only with that if they are 0."""
        code = None
        try:
            code = process.end(WRITE_SECONDS if seconds and self._startup.writes else seconds)
        finally:
            self._startup.ended(code)

    def _await_ready(self) -> None:
        await_ready(self.bootstrap, READY_SECONDS, self._check_alive, self._cluster)

    def exit_code(self) -> int | None:
        """Exit code of Kafka's Java, None while it runs."""
        return self._running().exit_code()

    def _running(self) -> SupervisedProcess:
        if self._process is None:
            raise Failure("the local Kafka is not running")
        return self._process

    def _make_home(self) -> Path:
        if "," in str(folder := self._given or Path(tempfile.gettempdir())):
            raise UsageFailure(f"data directory {folder} has a comma in its name, at which Kafka would end it")
        if self._given is None:
            return Path(tempfile.mkdtemp(prefix="driftway-kafka-"))
        try:
            self._given.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self._given):
                pass
        except OSError as error:
            raise UsageFailure(f"data directory {self._given} cannot be written: {error.strerror}") from None
        return self._given

    def _start_with_free_ports(self) -> None:
        for attempt in range(1, ATTEMPTS + 1):
            self._port = self._wanted_port or draw_port()
            self._member = self._given_member or settings.Membership(1, (draw_port({self._port}),))
            self._write_settings()
            try:
                self.launch()
                self._await_ready()
                return
            except Failure:
                if attempt == ATTEMPTS or not self._port_was_lost():
                    raise

    def _write_settings(self) -> None:
        data = self._home / "data"
        self.log.parent.mkdir(exist_ok=True)
        logging = settings.LOG4J2 if distribution.logs_with_log4j2() else settings.LOG4J
        (self._home / "logging.properties").write_text(logging.format(log=settings.in_properties(str(self.log))))
        text = settings.server_properties(data, self._port, self._member, self._own)
        (self._home / "server.properties").write_text(text)
        if not (data / "meta.properties").exists():
            self._format(data)
        self._cluster = cluster_of(data)

    def _format(self, data: Path) -> None:
        """Format an empty data directory, from the second time on without starting Java for it.

        Besides ``meta.properties``, Kafka's tool only writes a file with the metadata version that the cluster
        starts with. It depends on nothing but Kafka's version and the node's role, so the first one is kept with the
        jars. Where it is depends on the version too.
        """
        kept = distribution.cache_home() / ("formatted-broker" if self._member.controller_port is None else "formatted")
        if kept.exists():
            shutil.copytree(kept, data, dirs_exist_ok=True)
            (data / "meta.properties").write_text(settings.meta_properties(self._cluster, self._member.node))
            return
        tool = [
            "kafka.tools.StorageTool",
            "format",
            "-t",
            self._cluster,
            "-c",
            str(self._home / "server.properties"),
        ]
        self._running().start([*self._java, *tool], self._home / "logs" / "java.log")
        deadline = time.monotonic() + FORMAT_SECONDS
        while self.exit_code() is None:
            if time.monotonic() > deadline:
                raise Failure(f"formatting {data} took more than {FORMAT_SECONDS:.0f} s")
            time.sleep(0.02)
        if self.exit_code() != 0:
            raise self._ended_early("while formatting its data directory")
        part = kept.with_suffix(f".{os.getpid()}")
        try:
            shutil.copytree(data, part, ignore=shutil.ignore_patterns("meta.properties"))
            part.rename(kept)
        except OSError:  # another process was faster; a cache that became read-only costs a second per start, no more
            shutil.rmtree(part, ignore_errors=True)

    def _check_alive(self) -> None:
        if self.exit_code() is not None:
            raise self._ended_early("before it was ready")

    def _port_was_lost(self) -> bool:
        return not self._wanted_port and "Address already in use" in _text(self.log)

    def _ended_early(self, when: str) -> Failure:
        code = self.exit_code()
        logs = [self.log, self._home / "logs" / "java.log"]
        message = _last_error(_text(logs[0])) or _first_words(_text(logs[1])) or "no output"
        log = logs[0] if _text(logs[0]).strip() else logs[1]
        if self._given is None:  # the directory is removed, but the message names the log
            kept = Path(tempfile.gettempdir()) / f"driftway-kafka-{os.getpid()}.log"
            kept.write_text(_text(logs[1]) + _text(logs[0]))
            log = kept
        return Failure(f"Kafka ended with exit code {code} {when}: {message} (log: {log})")


def show_progress(text: str) -> None:
    """Show `text` on stderr: on a terminal one line that is rewritten, elsewhere without the count of jars."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{text}")
        sys.stderr.flush()
    elif text and " jar " not in text:
        sys.stderr.write(f"{text}\n")


def _free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as Kafka's own socket: TIME_WAIT is free
        try:
            probe.bind((settings.HOST, port))
        except OSError:
            return False
    return True


def draw_port(besides: Collection[int] = ()) -> int:
    """A free port that is none of `besides`.

    Raises
    ------
    Failure
        None was found.
    """
    for _ in range(1000):
        port = random.choice(PORTS)  # noqa: S311  (not a secret)
        if port not in besides and _free(port):
            return port
    raise Failure(f"no free port between {PORTS.start} and {PORTS.stop}")


def cluster_of(data: Path) -> str:
    """The id of the cluster that a formatted data directory belongs to.

    Raises
    ------
    UsageFailure
        It holds something else.
    """
    for line in _text(data / "meta.properties").splitlines():
        key, _, value = line.partition("=")
        if key == "cluster.id":
            return value.strip()
    raise UsageFailure(f"data directory {data} holds no Kafka data: meta.properties names no cluster")


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _last_error(log: str) -> str:
    """The last line that reports an error, with the exception's message where the line itself says little."""
    lines = log.splitlines()
    for number in range(len(lines) - 1, -1, -1):
        line = lines[number]
        if " ERROR " in line or " FATAL " in line:
            cause = lines[number + 1] if number + 1 < len(lines) and "Exception" in lines[number + 1] else ""
            return f"{line.strip()}; {cause.strip()}" if cause else line.strip()
    return ""


def _first_words(output: str) -> str:
    """The first line that Java itself printed, apart from its warnings: later ones only say that it gave up."""
    lines = (line.strip() for line in output.splitlines())
    return next((line for line in lines if line and not line.startswith(("WARNING", "Picked up", "NOTE: "))), "")
