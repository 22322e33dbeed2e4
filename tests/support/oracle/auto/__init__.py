"""`auto` on lists, from the docstrings of learners/auto: experts, the two mixtures, and what holds them together.

Nothing here is chaotic on rows of the suite: whatever is decided by an order (a rival, the nearest rows) is continuous
in what is ordered but for the labels of neighbours. Of these equally far ones are told apart by their slot, on both
sides, as the first two rows are, which have no scale yet and stand at 0 both. Distances that differ by rounding alone
have not come up in any row; if they did, `oracle_equal` would show scores that differ in the first digit.
"""
