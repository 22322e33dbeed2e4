"""The run of a soak: load, faults, supervision and sampling, then the end of the faults, catching up and the audit."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from driftway.workbench.broker import LocalCluster, LocalKafka
from driftway.worker.admin.watch.topic_tail import LogEnds
from driftway.worker.errors import Failure
from driftway.worker.kafka.client_config import AUTO
from tests.soak import schedule
from tests.soak.broker_faults import BrokerFaults, ClusterFaults, NetworkFaults
from tests.soak.group import SESSION_MS, Group
from tests.soak.load import Load
from tests.soak.members import STEADY, MemberGroup, first_lines
from tests.soak.reader import Reader
from tests.soak.report import MEGABYTE, SAID_LINES, Audit, Figures
from tests.soak.resources import SAMPLE_SECONDS, ResourceMonitor, SampledProcess
from tests.support.process import Driftway
from tests.support.proxy import Proxy

TICK_SECONDS = 0.1
ITSELF = "soak"
STUCK_SECONDS = 120.0
"""Time without new outputs at the end after which missing rows count as lost: longer than any timeout of a worker."""
AUDIT_SECONDS = 3600.0
CLUSTER_SESSION_MS = 18_000
"""The worker's default in a cluster."""
CLUSTER_STANDSTILL = 60.0
"""Allowed in a cluster: a member that dies while the group waits for another one costs two of its sessions."""
OF_BROKER = (schedule.RESTART, schedule.OUTAGE, *schedule.OF_CLUSTER)
OF_NETWORK = (schedule.LOST, schedule.LATE)


@dataclass(frozen=True)
class Settings:
    """Settings of a soak.

    Parameters
    ----------
    minutes : float
        Duration of the load.
    rate : float
        Rows per second.
    seed : int
        Seed of faults and rows.
    partitions, members : int
        Partitions of the input topic; members of the group at the start.
    protocol : str
        Key of `tests.support.groups.PROTOCOLS`.
    client : str
        Kafka client of the members (`--client`).
    broker_seconds : float
        Mean time between broker faults.
    brokers : int
        Brokers: one, or a cluster of at least three.
    standstill : float
        Longest allowed time without new outputs of a partition, not counting broker outages, in seconds.
    """

    minutes: float = 60.0
    rate: float = 2000.0
    seed: int = 0
    partitions: int = 4
    members: int = 3
    protocol: str = "range"
    client: str = AUTO
    broker_seconds: float = schedule.BROKER_SECONDS
    brokers: int = 1
    standstill: float = 15.0


class Soak:
    """One soak, on a broker or a cluster of its own.

    Parameters
    ----------
    kafka : LocalKafka or LocalCluster
        A running, empty broker or cluster.
    settings : Settings
        Settings of the soak.
    tell : callable
        Called with a line of progress, several times a second.
    logs : Path
        Empty folder for the members' logs.
    """

    def __init__(
        self, kafka: LocalKafka | LocalCluster, settings: Settings, tell: Callable[[str], None], logs: Path
    ) -> None:
        self.settings, self._tell = settings, tell
        cluster = kafka if isinstance(kafka, LocalCluster) else None
        # Members of a cluster connect directly: the proxy stands in front of one broker.
        self.proxy = Proxy(kafka.bootstrap if cluster is None else cluster.nodes[0].bootstrap)
        self.network = NetworkFaults(self.proxy)
        member_bootstrap, session = (self.proxy.bootstrap, SESSION_MS) if cluster is None else (kafka.bootstrap, None)
        self.group = Group(
            kafka.bootstrap, member_bootstrap, settings.partitions, settings.protocol, settings.client, session
        )
        self.broker_faults: BrokerFaults
        if isinstance(kafka, LocalCluster):
            self.broker_faults = ClusterFaults(kafka, self.group.answers)
        else:
            self.broker_faults = BrokerFaults(kafka, self.group.answers)
        self.faults = schedule.faults(
            settings.seed,
            (session or CLUSTER_SESSION_MS) / 1000,
            settings.broker_seconds,
            cluster is not None,
        )
        self.resources = ResourceMonitor((STEADY, ITSELF))
        self.members = MemberGroup(self.group.worker, settings.members, self.broker_faults.outage_within, logs)
        self.over = threading.Event()
        """Set from outside to end the load early; catching up and audit still follow."""
        self.complaints: list[str] = []
        self._ends = dict.fromkeys(range(settings.partitions), 0)
        self._minutes = self._catch_up = 0.0

    def run(self) -> Figures:
        """Run the soak and return its figures.

        Raises
        ------
        Failure
            The broker does not come back, the load fails, or no member runs, so that there is no result.
        """
        given, group = self.settings, self.group
        group.create()
        load = Load(group.bootstrap, group.topics.input, given.partitions, given.rate, given.seed)
        reader = Reader(group.bootstrap, group.topics, given.partitions, self.broker_faults.outage_between)
        with self.proxy, reader, self.members as members:
            members.start(self.over.is_set)
            with load:
                self._inject_faults(load, reader)
                self._settle(load)
            self._catch_up_with(reader)
            members.terminate_all()
        audit = self._audit()
        return self._figures(load, reader, audit)

    def _inject_faults(self, load: Load, reader: Reader) -> None:
        """Inject faults under load for the requested time."""
        started = time.monotonic()
        reader.begin()
        fault, sample_at = next(self.faults), 0.0
        while not self.over.wait(TICK_SECONDS):
            elapsed = time.monotonic() - started
            if elapsed >= 60 * self.settings.minutes:
                break
            while fault.at <= elapsed:
                self._inject(fault)
                fault = next(self.faults)
            self.members.supervise()
            self.network.release_due()
            self.broker_faults.require_running()
            load.require_running()
            if elapsed >= sample_at:
                sample_at = elapsed + SAMPLE_SECONDS
                self._sample()
            self._tell(self._progress(elapsed, load, reader))
        self._minutes = (time.monotonic() - started) / 60

    def _inject(self, fault: schedule.Fault) -> None:
        if fault.action in OF_BROKER:
            self.members.faults_injected[fault.action] += self.broker_faults.inject(fault)
        elif fault.action == schedule.LOST:
            self.network.lose(fault.choice)
            self.members.faults_injected[fault.action] += 1
        elif fault.action == schedule.LATE:
            self.network.delay(fault.seconds)
            self.members.faults_injected[fault.action] += 1
        else:
            self.members.inject(fault)

    def _settle(self, load: Load) -> None:
        """End the faults and the load; record the end offsets of the input."""
        self.broker_faults.settle()
        self.network.settle()
        self.members.settle()
        produced = load.finish()
        topic = self.group.topics.input
        ends = LogEnds(self.group.bootstrap, {}).of({topic: self.settings.partitions})
        self._ends = {partition: end for (_, partition), end in ends.items()}
        if produced != sum(self._ends.values()):
            self.complaints.append(f"the load sent {produced} rows, the input has {sum(self._ends.values())}")

    def _catch_up_with(self, reader: Reader) -> None:
        """Wait until all rows are out and the members are calm, or until no new outputs arrive any more."""
        started = changed = time.monotonic()
        seen, expected = -1, sum(self._ends.values())
        while (
            (seen < expected or not self.members.stop_faults())
            and time.monotonic() - changed < STUCK_SECONDS
            and reader.failure is None
        ):
            self.members.supervise()
            if reader.accounted != seen:
                seen, changed = reader.accounted, time.monotonic()
            self._tell(f"catching up: {seen:,} of {expected:,} rows are out")
            time.sleep(TICK_SECONDS)
        self._catch_up = changed - started

    def _audit(self) -> Audit:
        """Run `driftway audit` on the topics."""
        started = time.monotonic()
        with Driftway(*self.group.audit()) as child:
            while child.process.poll() is None:
                self._tell(f"audit: {time.monotonic() - started:.0f} s")
                if time.monotonic() - started > AUDIT_SECONDS:
                    raise Failure(f"the audit is not done after {AUDIT_SECONDS:.0f} s: {child.summary()}")
                time.sleep(TICK_SECONDS)
            output = [line.rstrip() for line in (child.stdout + child.stderr).splitlines() if line.strip()]
            return Audit(child.process.poll() or 0, time.monotonic() - started, output[-SAID_LINES:])

    def _sample(self) -> None:
        self.resources.sample([*self.members.living(), SampledProcess(ITSELF, 1, os.getpid())], time.monotonic())

    def _actions(self) -> tuple[str, ...]:
        if self.settings.brokers > 1:
            return (*schedule.WEIGHTS, *schedule.OF_CLUSTER)
        return (*schedule.WEIGHTS, schedule.RESTART, schedule.OUTAGE, *OF_NETWORK)

    def _progress(self, elapsed: float, load: Load, reader: Reader) -> str:
        newest, faults_injected = self.resources.newest(STEADY), self.members.faults_injected
        resources = f"{newest.rss / MEGABYTE:.0f} MB, {newest.descriptors:.0f} descriptors" if newest else "not there"
        return (
            f"minute {elapsed / 60:.1f} of {self.settings.minutes:g}: {load.sent:,} rows, "
            f"{load.sent - reader.accounted:,} not out yet, {faults_injected.total()} faults, "
            f"{self.members.exits.total()} restarts, {len(self.members.unexpected)} unexpected ends, "
            f"{reader.own_silence.seconds:.1f} s still at most; steady member: {resources}"
        )

    def _figures(self, load: Load, reader: Reader, audit: Audit) -> Figures:
        partitions, members, away = reader.partitions, self.members, self.broker_faults.away
        gaps = {p: partitions[p].gaps(end) for p, end in self._ends.items()}
        complaints = [*self.complaints, *first_lines(members.unexpected)]
        complaints += [f"partition {p}: {text}" for p, one in enumerate(partitions) for text in one.complaints]
        complaints += [
            f"partition {p}: {n} offsets missing, first {partitions[p].first_gap(self._ends[p])}"
            for p, n in gaps.items()
            if n
        ]
        silence = reader.own_silence
        allowed = self.settings.standstill if self.settings.brokers == 1 else CLUSTER_STANDSTILL
        if silence.seconds > allowed:
            since = time.localtime(time.time() - (time.monotonic() - silence.since))
            complaints.append(
                f"partition {silence.partition} stood still for {silence.seconds:.1f} s without the broker's absence, "
                f"from {time.strftime('%H:%M:%S', since)} on; {allowed:.0f} are allowed"
            )
        complaints += [f"the reader cannot go on: {reader.failure}"] * (reader.failure is not None)
        life = self.resources.longest(STEADY)
        outages = [until - since for since, until in away]
        return Figures(
            settings={**asdict(self.settings), "processors": os.cpu_count()},
            minutes=self._minutes,
            produced=load.sent,
            predicted=sum(one.predicted for one in partitions),
            rejected=sum(one.rejected for one in partitions),
            faults={action: members.faults_injected[action] for action in self._actions()},
            restarts=_by_code(members.exits),
            final_exits=_by_code(members.final_exits),
            duplicates=sum(one.duplicates for one in partitions),
            gaps=sum(abs(n) for n in gaps.values()),
            disordered=sum(one.disordered for one in partitions),
            away_seconds=sum(outages),
            longest_away_seconds=max(outages, default=0.0),
            silence_seconds=reader.silence.seconds,
            own_silence_seconds=reader.own_silence.seconds,
            catch_up_seconds=self._catch_up,
            steady=self.resources.trends(STEADY),
            soak=self.resources.trends(ITSELF),
            steady_lives=self.resources.lives(STEADY),
            steady_seconds=life[-1].at - life[0].at if life else 0.0,
            others_most={
                "MB": self.resources.peak.rss / MEGABYTE,
                "descriptors": self.resources.peak.descriptors,
                "threads": self.resources.peak.threads,
            },
            complaints=complaints,
            notes=[*(f"reader: {note}" for note in reader.notes), *members.sentences],
            first_differences={p: partitions[p].first_difference(end) for p, end in self._ends.items()},
            audit=audit,
        )


def _by_code(exits: Counter[int]) -> dict[str, int]:
    return {str(code): n for code, n in sorted(exits.items(), reverse=True)}
