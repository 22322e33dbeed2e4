"""Evaluation without Kafka: the same kernels, the same bits; protocols, grids, significance, training."""
