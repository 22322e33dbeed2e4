"""Common part of multiclass kernels: the best wrong class, and guarded steps of several weight vectors.

A score vector S has one entry per class; the margin of a row is S_y - S_s, with s the best wrong class. With two
classes the single score written is S_1 - S_0. docs/algorithms/multiclass.md#multiclass-learners.
"""

from driftway.learners.contract import Array, fragment


@fragment
def best_wrong(S: Array, label: int) -> int:
    """The class other than `label` with the largest score, the lowest index on ties. Shapes: S f8[K], K >= 2."""
    best = 1 if label == 0 else 0
    for r in range(best + 1, S.shape[0]):
        if r != label and S[r] > S[best]:
            best = r
    return best


@fragment
def mistaken(S: Array, label: int, rival: int) -> bool:
    """Whether another class has the first largest score; `rival` is the best wrong one. Shapes: S f8[K]."""
    return S[rival] > S[label] or (S[rival] == S[label] and rival < label)


@fragment
def step_apart(right: Array, towards: Array, wrong: Array, away: Array, step: float) -> bool:
    """Add step * towards to `right` and subtract step * away from `wrong` unless a coordinate would overflow.

    Shapes: right f8[d], towards f8[d], wrong f8[d], away f8[d]; `towards` and `away` may be the same. Returns whether
    the step was taken.
    """
    overflows = False
    for j in range(right.shape[0]):
        gained = right[j] + step * towards[j]
        lost = wrong[j] - step * away[j]
        # inf - inf and nan - nan are nan, see `driftway.learners.numeric.vectors`.
        overflows |= (gained - gained != 0.0) | (lost - lost != 0.0)
    if overflows:
        return False
    for j in range(right.shape[0]):
        right[j] += step * towards[j]
        wrong[j] -= step * away[j]
    return True


@fragment
def step_each(weight: Array, x: Array, step: Array) -> bool:
    """Add step_r * x to every class r unless a coordinate would overflow; return whether the steps were taken.

    Shapes: weight f8[K, d], x f8[d], step f8[K]; classes with step 0 are not touched.
    """
    overflows = False
    for r in range(weight.shape[0]):
        if step[r] != 0.0:
            for j in range(x.shape[0]):
                moved = weight[r, j] + step[r] * x[j]
                overflows |= moved - moved != 0.0
    if overflows:
        return False
    for r in range(weight.shape[0]):
        if step[r] != 0.0:
            for j in range(x.shape[0]):
                weight[r, j] += step[r] * x[j]
    return True
