"""A learner's part in the talk between partitions: it takes in what others have told, and tells its model."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from driftway.learners.averaging.shared_model import SharedModel, decay_power
from driftway.learners.engine.shared_fields import SharedFields
from driftway.learners.engine.state import State


class Sharer(Protocol):
    """What is needed of a learner; see `driftway.learners.learner.Learner`."""

    name: str

    @property
    def sharing(self) -> SharedFields | None: ...

    def shared_model(self) -> SharedModel | None: ...

    def set_shared_model(self, model: SharedModel) -> bool: ...


class ModelUpdate(NamedTuple):
    """What a learner has told."""

    rows: int
    """Labelled rows that it has learned since it told something before; of several goes together."""
    model: SharedModel
    """What it believes; where information adds up, what these rows have brought and no more."""


class Aggregate(NamedTuple):
    """What a learner is to take in."""

    rows: int
    """Labelled rows of others behind it, by which older information fades."""
    model: SharedModel
    """What is to be added to its own."""


class ModelAverager:
    """What a learner tells, and how it takes in what others have told.

    Now and then `exchange`: take in what was heard, tell. Whoever gives a copy the same rows, and at the same places
    what was heard there, gets the same bits.

    Averages (docs/algorithms/averaging.md#averaging-by-all and #gossip) are of what all had told when it told last:
    what it has learned since then is kept as it is, instead of being averaged with what others have not heard of yet.
    Where information adds up it is as if the learner had learned the others' rows itself.

    Parameters
    ----------
    learner : Learner
        One that has `sharing`. It may be moved afterwards, see `Learner.move_state_to`.
    gossip : bool
        Take in a fixed share of each neighbour's model, instead of the average of all by their rows or, where
        information adds up, the sum.

    Raises
    ------
    ValueError
        The learner shares nothing.
    """

    def __init__(self, learner: Sharer, gossip: bool = False) -> None:
        sharing = learner.sharing
        begun = None if sharing is None else learner.shared_model()
        if sharing is None or begun is None:
            raise ValueError(f"{learner.name} shares nothing")
        self._learner, self._factor = learner, sharing.factor
        self._adds = sharing.adds and not gossip
        fields = {"sent.weight": ("f8", begun.weight.shape)}
        if begun.R is not None:
            fields["sent.R"] = ("f8", begun.R.shape)
        self.state = State(fields)
        """Its model when it told last; at first what it begins with."""
        self._remember(begun)

    @property
    def _last(self) -> SharedModel:
        R = self.state["sent.R"] if "sent.R" in self.state.fields else None
        return SharedModel(self.state["sent.weight"], R)

    @property
    def template(self) -> SharedModel:
        """Of the shapes that are told and heard."""
        return self._last

    def combine(self, before: ModelUpdate | None, told: ModelUpdate) -> ModelUpdate:
        """What somebody has told in two goes, as one."""
        if before is None:
            return told
        if not self._adds:
            return ModelUpdate(before.rows + told.rows, told.model)
        earlier = before.model.times(decay_power(self._factor, told.rows))
        return ModelUpdate(before.rows + told.rows, earlier.plus(told.model))

    def aggregate(self, rows: int, told: Sequence[ModelUpdate], neighbour: float = 0.0) -> Aggregate | None:
        """What is to be taken in of what others have told; None: nothing.

        Parameters
        ----------
        rows : int
            Labelled rows since it told last.
        told : sequence of Told
            At most one of each other learner. Their order decides the last bits.
        neighbour : float
            The share of each one's model in gossip, in (0, 1); 0: by their rows.
        """
        if not told:
            return None
        theirs = sum(one.rows for one in told)
        total = told[0].model.times(0.0)
        for one in told:
            if self._adds:
                total = total.plus(one.model)
            else:
                factor = neighbour or one.rows / (rows + theirs)
                total = total.plus(one.model.plus(self._last.times(-1.0)).times(factor))
        return Aggregate(theirs, total)

    def exchange(self, rows: int, heard: Aggregate | None) -> tuple[ModelUpdate | None, bool]:
        """Take in what was heard, and tell.

        Parameters
        ----------
        rows : int
            Labelled rows since it told last.
        heard : Aggregate or None
            None: nothing.

        Returns
        -------
        Told or None
            None: it cannot tell, for its covariance is not positive definite any more.
        bool
            Whether it has taken in what was heard. It has not where that makes no sense together with its own.
        """
        now = self._learner.shared_model()
        if now is None or not now.finite:
            return None, False
        earlier = self._last.times(decay_power(self._factor, rows)) if self._adds else None
        brought, taken = None if earlier is None else now.plus(earlier.times(-1.0)), False
        if heard is not None:
            made = now.plus(heard.model)
            if earlier is not None:
                made = made.plus(earlier.times(decay_power(self._factor, heard.rows) - 1.0))
            taken = self._learner.set_shared_model(made)
            now = (self._learner.shared_model() if taken else None) or now
        self._remember(now)
        return ModelUpdate(rows, brought or now), taken

    def _remember(self, model: SharedModel) -> None:
        self.state["sent.weight"][:] = model.weight
        if model.R is not None:
            self.state["sent.R"][:] = model.R
