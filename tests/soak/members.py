"""The group's members and their supervisor: faults are injected, and members that ended are restarted.

The supervisor acts like systemd with ``Restart=always``. One member is steady: no faults are injected into it, so that
its resources can be watched over hours. It still goes through every rebalance and every broker fault.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from driftway.worker.errors import Failure
from tests.soak import schedule
from tests.soak.exit_codes import UNREACHABLE
from tests.soak.member import Member
from tests.soak.resources import SampledProcess
from tests.soak.schedule import Fault

STEADY = "steady"
START_SECONDS = 240.0
"""Timeout until a worker runs: the first start on a machine compiles all kernels."""
AGAIN_SECONDS, AGAIN_LATER_SECONDS = 1.0, 5.0
"""Delays between an exit and the next start; the longer one if the broker was unreachable."""
AWAY_SECONDS = 120.0
"""How long after an outage a member may still exit as unable to reach the broker: its timeouts are up to a minute."""
END_SECONDS = 120.0
"""Time within which a member must end after SIGTERM, whatever the broker does."""
CALM_SECONDS, CALM_BROKER_SECONDS = 15.0, 75.0
"""Least age of every member, and time since the last outage, before the final SIGTERM: longer than any timeout."""
MAX_GUESTS = 2
FEWEST = 2
MAX_STORIES = 20
MAX_SENTENCES = 200
TICK_SECONDS = 0.1


@dataclass
class MemberPlace:
    """A place in the group: its current member, or when the next one is to be started."""

    name: str
    member: Member | None = None
    lives: int = 0
    start_at: float = 0.0
    leaving: bool = False


class MemberGroup:
    """Members of a consumer group; a context manager that ends all of them.

    Parameters
    ----------
    argv : callable
        The command line of a member, given its name.
    size : int
        Members at the start, including the steady one.
    away : callable
        Whether there was a broker outage within the last given number of seconds.
    logs : Path or None
        Folder in which every member's complete log is kept.
    """

    def __init__(
        self, argv: Callable[[str], list[str]], size: int, away: Callable[[float], bool], logs: Path | None = None
    ) -> None:
        self._argv, self._size, self._away, self._logs = argv, size, away, logs
        self.slots = [MemberPlace(STEADY), *(MemberPlace(f"member-{n}") for n in range(1, size))]
        self._guests = 0
        self.faults_injected: Counter[str] = Counter()
        """How often each fault was injected."""
        self.exits: Counter[int] = Counter()
        """Exit codes of the members that were restarted."""
        self.unexpected: list[str] = []
        """Reports on members that did not end as documented; the first MAX_STORIES include the output."""
        self.final_exits: Counter[int] = Counter()
        """Exit codes of the members after the final SIGTERM."""
        self.sentences: list[str] = []
        """Last lines of members that ended without being killed or terminated, the first MAX_SENTENCES."""
        self._parting = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for slot in self.slots:
            if slot.member is not None:
                slot.member.close()

    def start(self, over: Callable[[], bool]) -> None:
        """Start the steady member, which compiles the kernels for all, and wait until it runs.

        `supervise` then starts the others.

        Raises
        ------
        Failure
            The steady member does not run in time.
        """
        steady, deadline = self.slots[0], time.monotonic() + START_SECONDS
        self._start(steady)
        while steady.member is not None and not steady.member.running and not over():
            self._reap(steady, time.monotonic())
            if self.unexpected or time.monotonic() > deadline:
                reports = self.unexpected or [steady.member.summary() if steady.member else ""]
                raise Failure(f"the first member does not run within {START_SECONDS:.0f} s: {reports[0]}")
            time.sleep(TICK_SECONDS)

    def living(self) -> list[SampledProcess]:
        """Return all running members, for the resource monitor."""
        return [
            SampledProcess(slot.name, slot.lives, slot.member.pid) for slot in self.slots if slot.member is not None
        ]

    def inject(self, fault: Fault) -> None:
        """Inject a fault into one of the eligible members, if there is one."""
        eligible = [slot for slot in self.slots[1:] if slot.member is not None and slot.member.available]
        action = fault.action
        if action == schedule.JOIN and len(self.slots) >= self._size + MAX_GUESTS:
            action = schedule.LEAVE
        elif action == schedule.LEAVE and len(self.slots) <= FEWEST:
            action = schedule.JOIN
        if action == schedule.JOIN:
            self._guests += 1
            self.slots.append(MemberPlace(f"guest-{self._guests}"))
            self._start(self.slots[-1])
        elif not eligible:
            return
        else:
            slot = eligible[int(fault.choice * len(eligible))]
            self._hit(slot, action, fault.seconds)
        self.faults_injected[action] += 1

    def supervise(self) -> None:
        """Thaw, reap and restart the members that are due. Call it several times a second."""
        now = time.monotonic()
        for slot in list(self.slots):
            member = slot.member
            if member is not None:
                if member.thaw_at is not None and member.thaw_at <= now:
                    member.thaw()
                self._reap(slot, now)
            elif slot.leaving:
                self.slots.remove(slot)
            elif slot.start_at <= now:
                self._start(slot)

    def stop_faults(self) -> bool:
        """Return whether members and broker have run so long that no effect of any fault is left."""
        started = [slot.member.started_at if slot.member is not None else time.monotonic() for slot in self.slots]
        return time.monotonic() - max(started) > CALM_SECONDS and not self._away(CALM_BROKER_SECONDS)

    def settle(self) -> None:
        """Thaw all members."""
        for slot in self.slots:
            if slot.member is not None:
                slot.member.thaw()

    def terminate_all(self) -> None:
        """Send SIGTERM to all members and wait until all have ended; broker outages are no excuse any more."""
        self.settle()
        self._parting = True
        for slot in self.slots:
            slot.leaving = True
            if slot.member is not None and slot.member.terminated_at is None:
                slot.member.terminate()
        while self.slots:
            self.supervise()
            time.sleep(TICK_SECONDS)

    def _start(self, slot: MemberPlace) -> None:
        slot.lives += 1
        kept = None if self._logs is None else self._logs / f"{slot.name}-{slot.lives}.log"
        slot.member = Member(self._argv(slot.name), kept)

    def _hit(self, slot: MemberPlace, action: str, seconds: float) -> None:
        assert slot.member is not None
        if action == schedule.KILL:
            slot.member.kill()
        elif action == schedule.FREEZE:
            slot.member.freeze(seconds)
        else:
            slot.leaving = action == schedule.LEAVE
            slot.member.terminate()

    def _reap(self, slot: MemberPlace, now: float) -> None:
        """Check the exit of a member that has ended; report and kill one that does not end after SIGTERM."""
        member = slot.member
        if member is None:
            return
        ending = member.ended(broker_away=not self._parting and self._away(AWAY_SECONDS))
        if ending is None:
            if member.terminated_at is not None and now - member.terminated_at > END_SECONDS and not member.killed:
                self._complain(slot, f"still there {END_SECONDS:.0f} s after SIGTERM")
                member.kill()
            return
        if not ending.as_documented:
            self._complain(slot, f"{ending}")
        if not (member.killed or member.terminated_at) and len(self.sentences) < MAX_SENTENCES:
            since = f"{slot.name}, life {slot.lives}, {now - member.started_at:.0f} s after its start"
            self.sentences.append(f"{since}: exit code {ending.code}: {member.last_line()}")
        if self._parting:
            self.final_exits[ending.code] += 1
        elif not slot.leaving:
            self.exits[ending.code] += 1
        member.close()
        slot.member = None
        slot.start_at = now + (AGAIN_LATER_SECONDS if ending.code == UNREACHABLE else AGAIN_SECONDS)

    def _complain(self, slot: MemberPlace, what: str) -> None:
        assert slot.member is not None
        summary = slot.member.summary() if len(self.unexpected) < MAX_STORIES else ""
        self.unexpected.append(f"{slot.name}, life {slot.lives}: {what}\n{summary}")


def first_lines(stories: Sequence[str]) -> list[str]:
    """Return the first line of each report."""
    return [summary.partition("\n")[0] for summary in stories]
