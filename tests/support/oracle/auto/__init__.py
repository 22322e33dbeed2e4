"""`auto` on lists, from the docstrings of learners/auto: experts, the two mixtures, and their combination.

Nothing here is chaotic on rows of the suite: results that depend on an order (a rival, the nearest rows) are continuous
in the ordered values, except for the labels of neighbours. Equally distant neighbours are ordered by slot on both
sides, such as the first two rows, which have no scale yet and are both 0. Distances that differ only by rounding have
not occurred in any row; if they did, `oracle_equal` would show scores that differ in the first digit.
"""
