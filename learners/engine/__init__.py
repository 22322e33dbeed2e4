"""What runs a learner: one compiled loop over rows, one buffer of state, and a cache of compiled kernels."""
