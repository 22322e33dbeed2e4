"""A cluster whose brokers reach one another through proxies, so that one of them can be cut off from the others.

Clients connect to the brokers directly, and still reach all of them.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from driftway.workbench.broker import LocalCluster
from driftway.worker.errors import Failure
from tests.support.proxy import close_socket

HOST = "127.0.0.1"
PIECE_BYTES = 1 << 16


class BrokerLinks:
    """Proxies in front of the ports through which brokers and controllers reach one another; Linux only.

    Cutting a link loses no bytes and closes no connection. As with packets that a network drops, what was sent arrives
    once the link is back, if sender and receiver still wait for it.

    Parameters
    ----------
    pids : callable
        Returns node -> process id of its broker, of those that run.

    Attributes
    ----------
    unknown_connections : int
        Number of connections refused so far because no broker seems to have opened them.
    """

    def __init__(self, pids: Callable[[], Mapping[int, int]]) -> None:
        self._pids = pids
        self._changed = threading.Condition()
        self._alone: int | None = None
        self._sockets: list[socket.socket] = []
        self.unknown_connections = 0

    def route(self, node: int, port: int) -> int:
        """Open a proxy in front of a port of a node, and return its port."""
        listener = socket.create_server((HOST, 0))
        self._sockets.append(listener)
        threading.Thread(target=self._accept, args=(listener, node, port), daemon=True, name="broker link").start()
        found: int = listener.getsockname()[1]
        return found

    @contextlib.contextmanager
    def cut_off(self, node: int) -> Iterator[None]:
        """Forward nothing between this node and the others during the block."""
        self._isolate(node)
        try:
            yield
        finally:
            self._isolate(None)

    def close(self) -> None:
        """Close all proxies."""
        self._isolate(None)
        sockets, self._sockets = self._sockets, []
        for one in sockets:
            close_socket(one)

    def _isolate(self, node: int | None) -> None:
        with self._changed:
            self._alone = node
            self._changed.notify_all()

    def _accept(self, listener: socket.socket, node: int, port: int) -> None:
        with contextlib.suppress(OSError):
            while True:
                source, _ = listener.accept()
                source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._sockets = [one for one in self._sockets if one.fileno() >= 0] + [source]
                threading.Thread(target=self._connect, args=(source, node, port), daemon=True).start()

    def _connect(self, source: socket.socket, node: int, port: int) -> None:
        """Forward both directions of a connection."""
        try:
            sender = self._opener(source)
            self._await_link(sender, node)
            target = socket.create_connection((HOST, port))
        except OSError:
            close_socket(source)
            return
        target.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._sockets.append(target)
        threading.Thread(target=self._forward, args=(target, source, sender, node), daemon=True).start()
        self._forward(source, target, sender, node)

    def _forward(self, source: socket.socket, target: socket.socket, sender: int, node: int) -> None:
        with contextlib.suppress(OSError):
            while piece := source.recv(PIECE_BYTES):
                self._await_link(sender, node)
                target.sendall(piece)
        close_socket(source), close_socket(target)

    def _await_link(self, sender: int, node: int) -> None:
        with self._changed:
            while self._alone in (sender, node) and sender != node:
                self._changed.wait()

    def _opener(self, source: socket.socket) -> int:
        """The node that has opened a connection, by the process that the operating system says has its other end.

        Not by the client id in its requests, which some of a broker's clients share with those of the other brokers.

        Raises
        ------
        OSError
            The connection is closed already.
        """
        ports = source.getpeername()[1], source.getsockname()[1]
        inode = _inode(*ports)
        for node, pid in self._pids().items():
            if inode in _sockets(pid):
                return node
        if _inode(*ports) == inode:  # not closed in the meantime
            self.unknown_connections += 1
        raise ConnectionError("no broker has opened it")


def _inode(port: int, peer: int) -> str:
    """The inode of the connected socket with this port and its peer's.

    Raises
    ------
    OSError
        No process has it, or no longer.
    """
    for table in ("tcp", "tcp6"):
        for line in Path("/proc/net", table).read_text().splitlines()[1:]:
            words = line.split()
            local, remote = (int(word.rpartition(":")[2], 16) for word in words[1:3])
            if (local, remote) == (port, peer) and words[9] != "0":  # no process has it any longer
                return words[9]
    raise ConnectionError("closed already")


def _sockets(pid: int) -> set[str]:
    """The inodes of a process's sockets; none if it has ended."""
    found = set()
    folder = Path("/proc", str(pid), "fd")
    for one in folder.iterdir() if folder.exists() else ():
        with contextlib.suppress(OSError):  # closed in the meantime
            found.add(os.readlink(one).removeprefix("socket:[").rstrip("]"))
    return found


class LinkedCluster(LocalCluster):
    """Three brokers behind `BrokerLinks`, each of which a test may cut off from the others.

    Parameters
    ----------
    heap : str
        As of `LocalCluster`.
    """

    def __init__(self, heap: str = "400m") -> None:
        self.links = BrokerLinks(self._pids)
        super().__init__(heap=heap, route=self.links.route)

    def stop(self) -> None:
        """End all brokers, close the proxies and remove temporary directories."""
        super().stop()
        self.links.close()

    def _pids(self) -> dict[int, int]:
        found = {}
        for number, node in enumerate(self.nodes, 1):
            with contextlib.suppress(Failure):  # not started yet
                found[number] = node.pid
        return found
