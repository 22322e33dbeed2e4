"""A learner's part in the talk between partitions: it takes in what others have told, and tells what it believes."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from driftway.learners.averaging.shared_model import Belief, faded
from driftway.learners.engine.shared_fields import Sharing
from driftway.learners.engine.state import State


class Sharer(Protocol):
    """What is needed of a learner; see `driftway.learners.learner.Learner`."""

    name: str

    @property
    def sharing(self) -> Sharing | None: ...

    def belief(self) -> Belief | None: ...

    def believe(self, belief: Belief) -> bool: ...


class Told(NamedTuple):
    """What a learner has told."""

    rows: int
    """Labelled rows that it has learned since it told something before; of several goes together."""
    belief: Belief
    """What it believes; where information adds up, what these rows have brought and no more."""


class Heard(NamedTuple):
    """What a learner is to take in."""

    rows: int
    """Labelled rows of others behind it, by which older information fades."""
    belief: Belief
    """What is to be added to its own."""


class Exchange:
    """What a learner tells, and how it takes in what others have told.

    Now and then `meet`: take in what was heard, tell. Whoever gives a copy the same rows, and at the same places what
    was heard there, gets the same bits.

    Averages (ALGORITHMS.md 15.1, 15.2) are of what all had told when it told last: what it has learned since then is
    kept as it is, instead of being averaged with what others have not heard of yet. Where information adds up it is as
    if the learner had learned the others' rows itself.

    Parameters
    ----------
    learner : Learner
        One that has `sharing`. It may be moved afterwards, see `Learner.attach`.
    gossip : bool
        Take in a fixed share of each neighbour's belief, instead of the average of all by their rows or, where
        information adds up, the sum.

    Raises
    ------
    ValueError
        The learner shares nothing.
    """

    def __init__(self, learner: Sharer, gossip: bool = False) -> None:
        sharing = learner.sharing
        begun = None if sharing is None else learner.belief()
        if sharing is None or begun is None:
            raise ValueError(f"{learner.name} shares nothing")
        self._learner, self._factor = learner, sharing.factor
        self._adds = sharing.adds and not gossip
        fields = {"told.weight": ("f8", begun.weight.shape)}
        if begun.R is not None:
            fields["told.R"] = ("f8", begun.R.shape)
        self.state = State(fields)
        """What it believed when it told last; at first what it begins with."""
        self._keep(begun)

    @property
    def _last(self) -> Belief:
        R = self.state["told.R"] if "told.R" in self.state.fields else None
        return Belief(self.state["told.weight"], R)

    @property
    def like(self) -> Belief:
        """Of the shapes that are told and heard."""
        return self._last

    def fold(self, before: Told | None, told: Told) -> Told:
        """What somebody has told in two goes, as one."""
        if before is None:
            return told
        if not self._adds:
            return Told(before.rows + told.rows, told.belief)
        earlier = before.belief.times(faded(self._factor, told.rows))
        return Told(before.rows + told.rows, earlier.plus(told.belief))

    def hear(self, rows: int, told: Sequence[Told], neighbour: float = 0.0) -> Heard | None:
        """What is to be taken in of what others have told; None: nothing.

        Parameters
        ----------
        rows : int
            Labelled rows since it told last.
        told : sequence of Told
            At most one of each other learner. Their order decides the last bits.
        neighbour : float
            The share of each one's belief in gossip, in (0, 1); 0: by their rows.
        """
        if not told:
            return None
        theirs = sum(one.rows for one in told)
        total = told[0].belief.times(0.0)
        for one in told:
            if self._adds:
                total = total.plus(one.belief)
            else:
                factor = neighbour or one.rows / (rows + theirs)
                total = total.plus(one.belief.plus(self._last.times(-1.0)).times(factor))
        return Heard(theirs, total)

    def meet(self, rows: int, heard: Heard | None) -> tuple[Told | None, bool]:
        """Take in what was heard, and tell.

        Parameters
        ----------
        rows : int
            Labelled rows since it told last.
        heard : Heard or None
            None: nothing.

        Returns
        -------
        Told or None
            None: it cannot tell, for its covariance is not positive definite any more.
        bool
            Whether it has taken in what was heard. It has not where that makes no sense together with its own.
        """
        now = self._learner.belief()
        if now is None or not now.finite:
            return None, False
        earlier = self._last.times(faded(self._factor, rows)) if self._adds else None
        brought, taken = None if earlier is None else now.plus(earlier.times(-1.0)), False
        if heard is not None:
            made = now.plus(heard.belief)
            if earlier is not None:
                made = made.plus(earlier.times(faded(self._factor, heard.rows) - 1.0))
            taken = self._learner.believe(made)
            now = (self._learner.belief() if taken else None) or now
        self._keep(now)
        return Told(rows, brought or now), taken

    def _keep(self, belief: Belief) -> None:
        self.state["told.weight"][:] = belief.weight
        if belief.R is not None:
            self.state["told.R"][:] = belief.R
