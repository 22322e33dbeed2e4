"""Kernel learners on a budget: a sum of kernels at a bounded number of stored rows."""
