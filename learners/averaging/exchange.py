"""A learner's part in model averaging between partitions: it merges the others' updates and sends its own."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from driftway.learners.averaging.shared_model import SharedModel, decay_power
from driftway.learners.engine.shared_fields import SharedFields
from driftway.learners.engine.state import State


class Sharer(Protocol):
    """The part of `driftway.learners.learner.Learner` that averaging needs."""

    name: str

    @property
    def sharing(self) -> SharedFields | None: ...

    def shared_model(self) -> SharedModel | None: ...

    def set_shared_model(self, model: SharedModel) -> bool: ...


class ModelUpdate(NamedTuple):
    """An update that a learner sends."""

    rows: int
    """Labelled rows learned since its previous update; combined updates add them up."""
    model: SharedModel
    """Its model; where information adds up, only what these rows contributed."""


class Aggregate(NamedTuple):
    """Updates of other learners, combined for one learner to merge."""

    rows: int
    """Number of the others' labelled rows in it, over which older information fades."""
    model: SharedModel
    """What to add to the learner's own model."""


class ModelAverager:
    """Merges the updates of other learners into one learner, and makes its own.

    A copy of the learner that is given the same rows, and the same aggregates at the same places, ends up with the same
    bits.

    Averages (docs/algorithms/averaging.md#averaging-by-all and #gossip) are taken against the learner's model at its
    last update: what it has learned since is kept in full, since the others have not seen it yet.
    Where information adds up, the result is as if the learner had learned the others' rows itself.

    Parameters
    ----------
    learner : Learner
        One that has `sharing`. Its state may be moved later, see `Learner.move_state_to`.
    gossip : bool
        Merge a fixed share of each neighbour's model, instead of the average of all weighted by rows or, where
        information adds up, the sum.

    Raises
    ------
    ValueError
        The learner cannot be shared.
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
        """Its model after its last update; at first the initial one."""
        self._remember(begun)

    def begin(self) -> None:
        """Take its present model as that of its last update."""
        model = self._learner.shared_model()
        if model is not None:
            self._remember(model)

    @property
    def _last(self) -> SharedModel:
        R = self.state["sent.R"] if "sent.R" in self.state.fields else None
        return SharedModel(self.state["sent.weight"], R)

    @property
    def template(self) -> SharedModel:
        """A model of the shapes that are sent and received."""
        return self._last

    def combine(self, before: ModelUpdate | None, update: ModelUpdate) -> ModelUpdate:
        """Combine two consecutive updates of one learner."""
        if before is None:
            return update
        if not self._adds:
            return ModelUpdate(before.rows + update.rows, update.model)
        earlier = before.model.times(decay_power(self._factor, update.rows))
        return ModelUpdate(before.rows + update.rows, earlier.plus(update.model))

    def aggregate(self, rows: int, updates: Sequence[ModelUpdate], neighbour: float = 0.0) -> Aggregate | None:
        """Combine the updates of other learners for merging; None if there are none.

        Parameters
        ----------
        rows : int
            Labelled rows since its last update.
        updates : sequence of ModelUpdate
            At most one of each other learner. Their order affects the last bits.
        neighbour : float
            The weight of each one's model in gossip, in (0, 1); 0: weighted by rows.
        """
        if not updates:
            return None
        theirs = sum(one.rows for one in updates)
        total = updates[0].model.times(0.0)
        for one in updates:
            if self._adds:
                total = total.plus(one.model)
            else:
                factor = neighbour or one.rows / (rows + theirs)
                total = total.plus(one.model.plus(self._last.times(-1.0)).times(factor))
        return Aggregate(theirs, total)

    def exchange(self, rows: int, received: Aggregate | None) -> tuple[ModelUpdate | None, bool]:
        """Merge an aggregate, and make an update.

        Parameters
        ----------
        rows : int
            Labelled rows since its last update.
        received : Aggregate or None
            What to merge; None: nothing.

        Returns
        -------
        ModelUpdate or None
            None: its model is not finite, or its covariance is no longer positive definite.
        bool
            Whether `received` was merged. It is not if the result would not be a valid model.
        """
        now = self._learner.shared_model()
        if now is None or not now.finite:
            return None, False
        earlier = self._last.times(decay_power(self._factor, rows)) if self._adds else None
        contribution, merged = None if earlier is None else now.plus(earlier.times(-1.0)), False
        if received is not None:
            total = now.plus(received.model)
            if earlier is not None:
                total = total.plus(earlier.times(decay_power(self._factor, received.rows) - 1.0))
            merged = self._learner.set_shared_model(total)
            now = (self._learner.shared_model() if merged else None) or now
        self._remember(now)
        return ModelUpdate(rows, contribution or now), merged

    def _remember(self, model: SharedModel) -> None:
        self.state["sent.weight"][:] = model.weight
        if model.R is not None:
            self.state["sent.R"][:] = model.R
