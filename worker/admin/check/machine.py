"""Compiled kernels, disk, memory, open files, threads and the HTTP port of the machine on which the command runs."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from driftway.worker.admin.check.commands import Commands
from driftway.worker.admin.check.finding import ERROR, OK, SKIPPED, WARNING, Finding, failed
from driftway.worker.errors import Failure, UsageFailure, plural
from driftway.worker.settings import WorkerSettings
from driftway.worker.state.factory import allocating
from driftway.worker.state.model import Model
from driftway.worker.wire.events import Schema

GROUP = "machine"
MIB = 2**20
LEAST_DISK = 200 * MIB
"""Kernels of one set of options take some 20 MB; every version of the code adds its own."""
PROCESS_BYTES, PARTITION_BYTES = 250 * MIB, 4 * MIB
"""Memory of a worker that has no partition yet, and of a partition's clients and queues, about."""
COPIES = 3
"""Copies of a state in memory: the one that learns, the last committed one, and one being written to a snapshot."""
FILES, FILES_PER_PARTITION = 64, 12
"""Descriptors of a worker, and of a partition's producer and its reader in a cluster of three brokers."""
THREADS, THREADS_PER_PARTITION = 32, 12
"""Threads of a worker, and of a partition's producer and its reader during a restore, in a cluster of three brokers."""
WAITING_COLUMNS = 6
"""Bytes of a row that waits for its label, in addition to its features and scores: id, offset, times."""
CGROUPS, OWN_CGROUPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
MEMORY_LIMITS = "memory.max", "memory.limit_in_bytes"
"""Names of the files that hold a cgroup's limit in versions 2 and 1."""
THREAD_LIMITS = "pids.max", "pids.max"


class Machine(NamedTuple):
    """What there is."""

    memory: int | None
    """Bytes of memory that a worker can use; None: the system does not report it."""
    disk: int | None
    """Free bytes where kernels are kept; None: there is no such folder."""
    files: int
    """Largest number of open files."""
    threads: int | None = None
    """Largest number of threads, of all processes of this user or container; None: there is no limit."""


def this_machine(folder: Path) -> Machine:
    """Look at this machine; `folder` is where kernels are kept."""
    existing = next((one for one in (folder, *folder.parents) if one.is_dir()), None)
    disk = None if existing is None else shutil.disk_usage(existing).free
    return Machine(_memory(), disk, resource.getrlimit(resource.RLIMIT_NOFILE)[0], _threads())


def cgroup_limits(controller: str, files: tuple[str, str]) -> Iterator[int]:
    """Yield the limits of this process's cgroups and of all above them, as each of them holds.

    Parameters
    ----------
    controller : str
        ``memory`` or ``pids``.
    files : tuple of str
        Names of the files in versions 2 and 1 of cgroups.
    """
    folders = {CGROUPS: files[0], CGROUPS / controller: files[1]}
    with contextlib.suppress(OSError):
        for line in OWN_CGROUPS.read_text(encoding="utf-8").splitlines():
            _, controllers, path = line.split(":", 2)
            version_1 = controller in controllers.split(",")
            root = CGROUPS / controller if version_1 else CGROUPS
            if version_1 or not controllers:
                nested = [root / path.lstrip("/"), *(root / path.lstrip("/")).parents]
                folders |= {one: files[version_1] for one in nested if one.is_relative_to(root)}
    for folder, name in folders.items():
        with contextlib.suppress(OSError, ValueError):  # no such limit, or `max`
            yield int((folder / name).read_text(encoding="ascii"))


def _threads() -> int | None:
    """Limit of the user, which does not count for root, or that of a container if it is less."""
    known = list(cgroup_limits("pids", THREAD_LIMITS))
    own = resource.getrlimit(resource.RLIMIT_NPROC)[0]
    if own != resource.RLIM_INFINITY and os.geteuid() != 0:
        known.append(own)
    return min(known, default=None)


def _memory() -> int | None:
    """Available memory, or a container's limit if that is less."""
    known = list(cgroup_limits("memory", MEMORY_LIMITS))
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        known += [1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
    except (OSError, ValueError, IndexError):
        known.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    return min(known, default=None)


def check_kernels(settings: WorkerSettings, commands: Commands) -> Finding:
    """Look whether every kernel of these options is compiled; loads them, but compiles none."""
    from driftway.learners.engine.kernel_cache import FOLDER, KEEP_CODE
    from driftway.worker.stream.warm_up import load_kernels

    check = "kernels"
    if not KEEP_CODE:
        sentence = f"compiled kernels cannot be kept in {FOLDER}: every start of a worker compiles them"
        return Finding(GROUP, check, WARNING, sentence, "export NUMBA_CACHE_DIR=/a/folder/of/this/user")
    try:
        compiled = load_kernels(settings.model, settings.client)
    except Failure as error:
        return failed(GROUP, check, error)
    if compiled:
        return Finding(GROUP, check, OK, f"all kernels that these options need are compiled, in {FOLDER}")
    sentence = "not all kernels that are needed are compiled: the first start compiles them, which takes some seconds"
    return Finding(GROUP, check, WARNING, sentence, commands.warm())


def check_disk(machine: Machine, folder: Path) -> Finding:
    """Judge the free space for kernels; a worker writes nothing else."""
    if machine.disk is None:
        return Finding(GROUP, "disk", SKIPPED, f"there is no folder above {folder}")
    free = f"{machine.disk / MIB:,.0f} MiB free for compiled kernels in {folder}, all that a worker writes"
    if machine.disk < LEAST_DISK:
        return Finding(GROUP, "disk", WARNING, free, f"export NUMBA_CACHE_DIR=/a/folder/with/{LEAST_DISK // MIB}/MiB")
    return Finding(GROUP, "disk", OK, free)


def check_memory(settings: WorkerSettings, schema: Schema | None, partitions: int, machine: Machine) -> Finding:
    """Judge the memory that one worker with all partitions needs for this number of features."""
    check = "memory"
    if schema is None:
        return Finding(
            GROUP, check, SKIPPED, "the number of features is not known: no event could be used, give --features"
        )
    try:
        nbytes = state_bytes(settings, schema)
    except Failure as error:
        return failed(GROUP, check, error)
    d = schema.n_features
    needed = PROCESS_BYTES + partitions * (PARTITION_BYTES + COPIES * nbytes)
    state = f"{plural(d, 'feature')}: states of {nbytes / MIB:,.1f} MiB a partition"
    whole = f"{state}, so a worker with all partitions ({partitions}) needs about {needed / MIB:,.0f} MiB"
    if machine.memory is None:
        return Finding(GROUP, check, SKIPPED, f"{whole}; the system does not report how much there is")
    there = f"{whole}, and can have {machine.memory / MIB:,.0f} MiB"
    one = PROCESS_BYTES + PARTITION_BYTES + COPIES * nbytes
    if one > machine.memory:
        sentence = f"{there}: not even one partition fits"
        return Finding(
            GROUP,
            check,
            ERROR,
            sentence,
            "driftway learners  # choose one with a smaller state",
        )
    if needed > machine.memory:
        workers = -(-needed // machine.memory)
        sentence = f"{there}: share the partitions among at least {workers} workers on separate machines"
        return Finding(
            GROUP, check, WARNING, sentence, f"docker compose up -d --scale worker={workers}  # or start more by hand"
        )
    return Finding(GROUP, check, OK, there)


def state_bytes(settings: WorkerSettings, schema: Schema) -> int:
    """Return the bytes of the learners' states of one partition, with rows that wait for labels.

    Raises
    ------
    Failure
        A learner does not suit so many features, or its state cannot be allocated.
    """
    model, d = settings.model, schema.n_features
    if model.shape is None:
        model = replace(model, n_features=d, feature_names=schema.names or None)
    with allocating(", ".join(model.names), d):
        states = Model(model, 0).save().nbytes
    return states + (0 if model.wait is None else model.wait.rows * 8 * (d + len(model.specs) + WAITING_COLUMNS))


def check_files(machine: Machine, partitions: int) -> Finding:
    """Judge the limit of open files."""
    needed = FILES + FILES_PER_PARTITION * partitions
    sentence = (
        f"{machine.files:,} files may be open, a worker with all partitions ({partitions}) needs about {needed:,}"
    )
    if machine.files < needed:
        return Finding(GROUP, "open files", WARNING, sentence, f"ulimit -n {max(2 * needed, 4096)}")
    return Finding(GROUP, "open files", OK, sentence)


def check_threads(machine: Machine, partitions: int) -> Finding:
    """Judge the limit of threads: without them the Kafka client ends the whole process, or never returns."""
    check, needed = "threads", THREADS + THREADS_PER_PARTITION * partitions
    if machine.threads is None:
        return Finding(GROUP, check, OK, "the number of threads has no limit")
    sentence = (
        f"all processes of this user or container may have {machine.threads:,} threads, a worker with all partitions "
        f"({partitions}) needs about {needed:,}"
    )
    if machine.threads < needed:
        command = f"ulimit -u {max(2 * needed, 4096)}  # or TasksMax= of a systemd unit, or the limit of a container"
        return Finding(GROUP, check, WARNING, sentence, command)
    return Finding(GROUP, check, OK, sentence)


def check_port(host: str, port: int, commands: Commands) -> Finding:
    """Try whether a worker on this machine could listen on the port of ``--http-port``."""
    from driftway.worker.stream.endpoint.server import listen

    check, other = "HTTP port", commands.worker("--http-port", "PORT")
    try:
        listen(host, port).close()
    except UsageFailure as error:
        cause = error.__cause__
        if isinstance(cause, OSError) and cause.errno == errno.EADDRINUSE:
            sentence = f"{error}: no worker can start while the program that listens there is running"
            return Finding(GROUP, check, WARNING, sentence, other)
        return failed(GROUP, check, error, commands.worker("--http-host", "ADDRESS", "--http-port", "PORT"))
    return Finding(GROUP, check, OK, f"a worker can listen on {host}:{port}")
