"""The runtime of learners: one compiled loop over rows, one state buffer, and a cache of compiled kernels."""
