"""What learners that consist of trees have in common."""

from __future__ import annotations

from driftway.learners.contract import Array, Learner
from driftway.learners.trees.nominal import mask_of


class TreeLearner(Learner):
    """A learner of trees, with a parameter `nominal`; in its memory, `work.row` is the row as trees see it."""

    tasks = ("binary", "multiclass", "regression")
    standardizable = False
    link = "logistic"
    multiclass_link = "softmax"

    def initialise(self) -> None:
        """Check that a row has the nominal columns."""
        mask_of(self.parameters.nominal, self.n_features)

    def scratch_arrays(self, *axes: int) -> dict[str, Array]:
        """Add the mask of nominal columns."""
        mask = mask_of(self.parameters.nominal, self.n_features, *axes)
        return {**super().scratch_arrays(*axes), "work.row.nominal": mask}
