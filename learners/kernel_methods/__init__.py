"""Kernel learners on a budget: a sum of kernels at stored rows, of which there are never more than so many."""
