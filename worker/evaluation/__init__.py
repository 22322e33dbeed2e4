"""Evaluation without Kafka, with the same kernels and the same bits: protocols, grids, significance, training."""
