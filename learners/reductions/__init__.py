"""Learners made from learners: what stands before, around or between them."""
