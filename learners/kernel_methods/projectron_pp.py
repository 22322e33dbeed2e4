"""The projectron++: a projectron that also learns rows of small margin if they can be projected."""

import math

from driftway.learners.contract import Array, Learner, UpdateRule, fragment
from driftway.learners.kernel_methods.expansion import kernel_of
from driftway.learners.kernel_methods.projectron import (
    ProjectronNumbers,
    ProjectronParameters,
    ProjectronState,
    invert,
    project,
    residual,
    take_in,
)
from driftway.learners.kernel_methods.rule import expanding

LEAST_ETA = 1e-3
"""Replaces an eta of 0, since the update divides by eta."""
OUTSIDE = 1e-12
"""A projection of smaller squared length is too small to say anything about the margin."""


class ProjectronPP(Learner):
    """Projectron that also adds the projection of correct rows of margin below 1, as far as that provably helps.

    On y s <= 0 as `projectron`. On 0 < y s < 1, with l = 1 - y s, P k the projection and delta the distance from it: if
    l >= delta / eta, a <- a + y tau d with tau = min(l / |P k|^2, 2 (l - delta / eta) / |P k|^2, 1). No row is stored
    for a small margin, so that the budget lasts, and margins are larger than the perceptron's.

    Cost
    ----
    O(B d) per row, O(B^2) for each row below the margin; 8 B (d + B + 2) + 80 bytes.

    Source
    ------
    Orabona, Keshet and Caputo, JMLR 10, 2009, figure 2; Huang, Online Learning, "SV projection".
    docs/algorithms/kernel_methods.md#projectron-projectron_pp. Differs: the budget.
    """

    name = "projectron_pp"
    tasks = ("binary",)

    class Params(ProjectronParameters):
        pass

    def rule(self) -> UpdateRule:
        p = self.parameters
        given = ProjectronNumbers(kernel_of(p, self.n_features), p.eta or LEAST_ETA)
        return expanding(update, given, ProjectronState, p.budget, renew=invert)


@fragment
def update(x: Array, y: float, s: float, p: ProjectronNumbers, memory: ProjectronState) -> None:
    """Store or project a misclassified row, project a row of small margin. Shapes: x f8[d]."""
    if y * s >= 1.0:
        return
    squared = residual(memory)
    if y * s <= 0.0:
        take_in(x, y, squared, p, memory)
        return
    inside = 0.0
    for i in range(memory.expansion.used[0]):
        inside += memory.expansion.near[i] * memory.made_of[i]
    loss, cost = 1.0 - y * s, math.sqrt(squared) / p.eta
    if loss >= cost and inside > OUTSIDE:
        project(y * min(loss / inside, 2.0 * (loss - cost) / inside, 1.0), memory)
