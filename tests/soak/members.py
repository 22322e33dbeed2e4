"""The group's members and their supervisor: faults happen to them, and whoever ended is started again.

The supervisor does what systemd with ``Restart=always`` does. One member is steady: it is spared kills and freezes, so
that what it holds can be watched over hours. It still lives through every rebalance and everything the broker does.
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
from tests.soak.resources import Living
from tests.soak.schedule import Fault

STEADY = "steady"
START_SECONDS = 240.0
"""Until a worker runs: a first start on a machine compiles all kernels."""
AGAIN_SECONDS, AGAIN_LATER_SECONDS = 1.0, 5.0
"""Between an end and the next start; the longer one where the broker was unreachable."""
AWAY_SECONDS = 120.0
"""How long after an outage a member may say that it could not reach the broker: its budgets are up to a minute each."""
END_SECONDS = 120.0
"""Within which a member ends after SIGTERM, whatever the broker does."""
CALM_SECONDS, CALM_BROKER_SECONDS = 15.0, 75.0
"""Of every member's life, and since the broker was away, before all are dismissed: longer than any budget of theirs."""
MOST_GUESTS = 2
FEWEST = 2
MOST_STORIES = 20
MOST_SENTENCES = 200
TICK_SECONDS = 0.1


@dataclass
class Slot:
    """A place in the herd: its member now, and when there will be one again."""

    name: str
    member: Member | None = None
    lives: int = 0
    start_at: float = 0.0
    leaving: bool = False


class MemberGroup:
    """Members of a group, for a ``with`` block that ends with none of them left.

    Parameters
    ----------
    argv : callable
        The command line of a member, given its name.
    size : int
        Members at the start, the steady one among them.
    away : callable
        Whether the broker was away in so many seconds before now.
    logs : Path or None
        Where every member leaves its whole log.
    """

    def __init__(
        self, argv: Callable[[str], list[str]], size: int, away: Callable[[float], bool], logs: Path | None = None
    ) -> None:
        self._argv, self._size, self._away, self._logs = argv, size, away, logs
        self.slots = [Slot(STEADY), *(Slot(f"member-{n}") for n in range(1, size))]
        self._guests = 0
        self.deeds: Counter[str] = Counter()
        """How often each fault has happened."""
        self.exits: Counter[int] = Counter()
        """Exit codes of the members that were started again."""
        self.unexpected: list[str] = []
        """The stories of members that did not end as documented, the first few of them whole."""
        self.farewells: Counter[int] = Counter()
        """Exit codes of those who were dismissed at the end."""
        self.sentences: list[str] = []
        """What members said that nobody had killed or ended, the first few."""
        self._parting = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for slot in self.slots:
            if slot.member is not None:
                slot.member.close()

    def start(self, over: Callable[[], bool]) -> None:
        """Start the steady member and, once it runs, the others; it compiles what they all load.

        Raises
        ------
        Failure
            It does not run in time.
        """
        steady, deadline = self.slots[0], time.monotonic() + START_SECONDS
        self._start(steady)
        while steady.member is not None and not steady.member.running and not over():
            self._reap(steady, time.monotonic())
            if self.unexpected or time.monotonic() > deadline:
                told = self.unexpected or [steady.member.story() if steady.member else ""]
                raise Failure(f"the first member does not run within {START_SECONDS:.0f} s: {told[0]}")
            time.sleep(TICK_SECONDS)

    def living(self) -> list[Living]:
        """Every process there is, for the gauge."""
        return [Living(slot.name, slot.lives, slot.member.pid) for slot in self.slots if slot.member is not None]

    def inject(self, fault: Fault) -> None:
        """Let a fault happen to one of the members that it may happen to, if there is one."""
        spared = [slot for slot in self.slots[1:] if slot.member is not None and slot.member.awake]
        deed = fault.deed
        if deed == schedule.JOIN and len(self.slots) >= self._size + MOST_GUESTS:
            deed = schedule.LEAVE
        elif deed == schedule.LEAVE and len(self.slots) <= FEWEST:
            deed = schedule.JOIN
        if deed == schedule.JOIN:
            self._guests += 1
            self.slots.append(Slot(f"guest-{self._guests}"))
            self._start(self.slots[-1])
        elif not spared:
            return
        else:
            slot = spared[int(fault.choice * len(spared))]
            self._hit(slot, deed, fault.seconds)
        self.deeds[deed] += 1

    def tend(self) -> None:
        """Thaw whose time has come, note who has ended, start whoever is due. Called several times a second."""
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
        """Whether everybody has been there for a while, and so has the broker: nothing is left of any fault."""
        begun = [slot.member.started_at if slot.member is not None else time.monotonic() for slot in self.slots]
        return time.monotonic() - max(begun) > CALM_SECONDS and not self._away(CALM_BROKER_SECONDS)

    def settle(self) -> None:
        """Thaw everybody."""
        for slot in self.slots:
            if slot.member is not None:
                slot.member.thaw()

    def terminate_all(self) -> None:
        """SIGTERM to everybody, and wait until the last one has ended; the broker excuses nobody any more."""
        self.settle()
        self._parting = True
        for slot in self.slots:
            slot.leaving = True
            if slot.member is not None and slot.member.terminated_at is None:
                slot.member.terminate()
        while self.slots:
            self.tend()
            time.sleep(TICK_SECONDS)

    def _start(self, slot: Slot) -> None:
        slot.lives += 1
        kept = None if self._logs is None else self._logs / f"{slot.name}-{slot.lives}.log"
        slot.member = Member(self._argv(slot.name), kept)

    def _hit(self, slot: Slot, deed: str, seconds: float) -> None:
        assert slot.member is not None
        if deed == schedule.KILL:
            slot.member.kill()
        elif deed == schedule.FREEZE:
            slot.member.freeze(seconds)
        else:
            slot.leaving = deed == schedule.LEAVE
            slot.member.terminate()

    def _reap(self, slot: Slot, now: float) -> None:
        """Judge a member that has ended; a member that does not end after SIGTERM is judged and killed."""
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
        if not (member.killed or member.terminated_at) and len(self.sentences) < MOST_SENTENCES:
            since = f"{slot.name}, life {slot.lives}, {now - member.started_at:.0f} s after its start"
            self.sentences.append(f"{since}: exit code {ending.code}: {member.last_line()}")
        if self._parting:
            self.farewells[ending.code] += 1
        elif not slot.leaving:
            self.exits[ending.code] += 1
        member.close()
        slot.member = None
        slot.start_at = now + (AGAIN_LATER_SECONDS if ending.code == UNREACHABLE else AGAIN_SECONDS)

    def _complain(self, slot: Slot, what: str) -> None:
        assert slot.member is not None
        story = slot.member.story() if len(self.unexpected) < MOST_STORIES else ""
        self.unexpected.append(f"{slot.name}, life {slot.lives}: {what}\n{story}")


def first_lines(stories: Sequence[str]) -> list[str]:
    """What each story is about."""
    return [story.partition("\n")[0] for story in stories]
